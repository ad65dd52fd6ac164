//! What a store does with accounts and API keys.

use async_trait::async_trait;

use super::api_key::{KeyHash, KeyRecord};
use super::settings::Settings;
use super::{Account, AccountChange};
use crate::credits::ledger::Entry;
use crate::idempotency::{Answer, Born, Claim, Once};
use crate::ids::{AccountId, ApiKeyId};
use crate::page::{Page, PageRequest};
use crate::store_error::{CommitError, StoreError};
use crate::time::Timestamp;
use crate::version::Changed;

/// A new account and, if it starts with credits, its opening entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAccount {
    /// The account, with its opening balance.
    pub account: Account,
    /// The first entry of its ledger; `None` if it starts without credits.
    pub opening: Option<Entry>,
}

/// Reads accounts with their settings and balances.
#[async_trait]
pub trait ReadsAccounts: Send + Sync {
    /// The account with this id; `None` if there is none.
    async fn account_get(&self, id: AccountId) -> Result<Option<Account>, StoreError>;

    /// Those of these accounts that exist, in the order of their ids.
    async fn accounts_among(&self, ids: &[AccountId]) -> Result<Vec<Account>, StoreError>;

    /// The settings of an account, for planning its sends; `None` if there is no such account.
    /// Changes that another program made within the last 5 s may be missing; changes made through
    /// this store value never are.
    async fn account_settings(&self, id: AccountId) -> Result<Option<Settings>, StoreError>;

    /// A page of all accounts, newest first.
    async fn account_list(&self, page: PageRequest) -> Result<Page<Account>, StoreError>;
}

/// Keeps accounts with their settings and balances, and API keys by the hash of the key.
#[async_trait]
pub trait AccountStore: ReadsAccounts {
    /// Writes a new account and its opening entry. If the id is taken, that is an
    /// [`Internal`](StoreError::Internal) error, and nothing is written.
    /// A creation with a claim takes effect [once](crate::idempotency::store::IdempotencyStore).
    async fn account_create(
        &self,
        new: NewAccount,
        claim: Option<&Claim>,
    ) -> Result<Once<Account>, StoreError>;

    /// Applies [`AccountChange::apply`] to the current account, with no other change of it in
    /// between, and returns the account after the change; `None` if there is no such account. Never
    /// changes the balance.
    async fn account_update(
        &self,
        id: AccountId,
        change: AccountChange,
        at: Timestamp,
    ) -> Result<Option<Account>, CommitError<Changed>>;
}

/// Reads the records of API keys, which have the hash of the key.
#[async_trait]
pub trait ReadsApiKeys: Send + Sync {
    /// All keys of an account, newest first, including revoked ones.
    async fn api_key_list(&self, account: AccountId) -> Result<Vec<KeyRecord>, StoreError>;

    /// Finds a key by its hash in one step, including revoked keys. Changes that another program
    /// made within the last 5 s may be missing; changes made through this store value never are.
    async fn api_key_find(&self, hash: KeyHash) -> Result<Option<KeyRecord>, StoreError>;
}

/// Keeps the hashes of API keys.
#[async_trait]
pub trait ApiKeyStore: ReadsApiKeys {
    /// Writes a new key, unless its account does not exist.
    /// A creation with a claim takes effect [once](crate::idempotency::store::IdempotencyStore);
    /// what is remembered does not hold the key.
    async fn api_key_create(
        &self,
        key: KeyRecord,
        claim: Option<&Claim>,
    ) -> Result<Once<KeyCreated>, StoreError>;

    /// Marks a key as revoked at `at`, unless it is revoked already, and returns it; `None` if the
    /// account has no such key.
    async fn api_key_revoke(
        &self,
        account: AccountId,
        id: ApiKeyId,
        at: Timestamp,
    ) -> Result<Option<KeyRecord>, StoreError>;

    /// Records when a key was last used.
    async fn api_key_used(
        &self,
        account: AccountId,
        id: ApiKeyId,
        at: Timestamp,
    ) -> Result<(), StoreError>;
}

/// A repetition returns the account as it was created.
impl Answer for Account {
    type Kept = Born<AccountId>;

    fn kept(&self) -> Self::Kept {
        Born { id: self.id, at: self.created_at }
    }
}

/// A repetition returns the record without the key, which is not stored.
impl Answer for KeyRecord {
    type Kept = Born<ApiKeyId>;

    fn kept(&self) -> Self::Kept {
        Born { id: self.id, at: self.created_at }
    }
}

/// The result of creating a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyCreated {
    /// The key was written.
    Created,
    /// The account does not exist; nothing was written.
    NoSuchAccount,
}
