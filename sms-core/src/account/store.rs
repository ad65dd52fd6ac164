//! What a store does with accounts and their keys.

use async_trait::async_trait;

use super::api_key::{KeyHash, KeyRecord};
use super::{Account, AccountChange, Settings};
use crate::credits::ledger::Entry;
use crate::ids::{AccountId, ApiKeyId};
use crate::page::{Page, PageRequest};
use crate::store::StoreError;
use crate::time::Timestamp;

/// A new account and, where it starts with credits, the entry that says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAccount {
    /// The account, its balance included.
    pub account: Account,
    /// The first entry of its ledger.
    pub opening: Option<Entry>,
}

/// Keeps accounts.
#[async_trait]
pub trait AccountStore: Send + Sync {
    /// Writes a new account with its opening entry.
    async fn account_create(&self, new: NewAccount) -> Result<(), StoreError>;

    /// One account.
    async fn account_get(&self, id: AccountId) -> Result<Option<Account>, StoreError>;

    /// The settings of one account, for planning its sends. What another program wrote within the
    /// last 5 s may be missing; what was written through this value never is.
    async fn account_settings(&self, id: AccountId) -> Result<Option<Settings>, StoreError>;

    /// A page of all accounts, newest first.
    async fn account_list(&self, page: PageRequest) -> Result<Page<Account>, StoreError>;

    /// Applies [`AccountChange::apply`] to the account as it is, with no other change of it in
    /// between, and returns it as it is then. Its balance is never touched.
    async fn account_update(
        &self,
        id: AccountId,
        change: AccountChange,
        at: Timestamp,
    ) -> Result<Option<Account>, StoreError>;
}

/// Keeps the hashes of keys.
#[async_trait]
pub trait ApiKeyStore: Send + Sync {
    /// Writes a new key, unless its account does not exist.
    async fn api_key_create(&self, key: KeyRecord) -> Result<KeyCreated, StoreError>;

    /// All of an account's keys, newest first, revoked ones included.
    async fn api_key_list(&self, account: AccountId) -> Result<Vec<KeyRecord>, StoreError>;

    /// Finds a key by its hash in one step, revoked ones included. What another program wrote
    /// within the last 5 s may be missing; what was written through this value never is.
    async fn api_key_find(&self, hash: KeyHash) -> Result<Option<KeyRecord>, StoreError>;

    /// Marks a key as revoked at `at` if it is not yet, and returns it.
    async fn api_key_revoke(
        &self,
        account: AccountId,
        id: ApiKeyId,
        at: Timestamp,
    ) -> Result<Option<KeyRecord>, StoreError>;

    /// Remembers when a key was last used.
    async fn api_key_used(
        &self,
        account: AccountId,
        id: ApiKeyId,
        at: Timestamp,
    ) -> Result<(), StoreError>;
}

/// What became of a new key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyCreated {
    /// It is kept.
    Created,
    /// Its account does not exist; nothing was kept.
    NoSuchAccount,
}
