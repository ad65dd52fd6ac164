//! Accounts and their API keys.

use std::collections::BTreeSet;

use async_trait::async_trait;
use sms_core::account::api_key::{KeyHash, KeyRecord};
use sms_core::account::store::{
    AccountStore, ApiKeyStore, KeyCreated, NewAccount, ReadsAccounts, ReadsApiKeys,
};
use sms_core::account::{Account, AccountChange, Settings};
use sms_core::idempotency::{Claim, Once};
use sms_core::ids::{AccountId, ApiKeyId};
use sms_core::page::{Cursor, Page, PageRequest};
use sms_core::store::{CommitError, StoreError};
use sms_core::time::Timestamp;
use sms_core::version::Changed;

use crate::MemoryStore;
use crate::state::AccountState;

#[async_trait]
impl ReadsAccounts for MemoryStore {
    async fn account_get(&self, id: AccountId) -> Result<Option<Account>, StoreError> {
        Ok(self.state().accounts.get(&id).map(|room| room.account.clone()))
    }

    async fn accounts_among(&self, ids: &[AccountId]) -> Result<Vec<Account>, StoreError> {
        let state = self.state();
        let ids: BTreeSet<&AccountId> = ids.iter().collect();
        let rooms = ids.into_iter().filter_map(|id| state.accounts.get(id));
        Ok(rooms.map(|room| room.account.clone()).collect())
    }

    async fn account_settings(&self, id: AccountId) -> Result<Option<Settings>, StoreError> {
        Ok(self.state().accounts.get(&id).map(|room| room.account.settings.clone()))
    }

    async fn account_list(&self, page: PageRequest) -> Result<Page<Account>, StoreError> {
        let state = self.state();
        let end = page.after.map_or(AccountId::from_u128(u128::MAX), Cursor::id);
        let rows = state.accounts.range(..end).rev().take(page.limit.get() + 1);
        let rows = rows.map(|(_, room)| room.account.clone()).collect();
        Ok(Page::of(rows, page.limit, |account: &Account| account.id))
    }
}

#[async_trait]
impl AccountStore for MemoryStore {
    async fn account_create(
        &self,
        new: NewAccount,
        claim: Option<&Claim>,
    ) -> Result<Once<Account>, StoreError> {
        let NewAccount { account, opening } = new;
        let mut state = self.state();
        if let Some(earlier) = state.earlier(claim) {
            return Ok(Once::Earlier(earlier));
        }
        if state.accounts.contains_key(&account.id) {
            return Err(StoreError::Internal { doing: "creating an account", source: None });
        }
        let mut room = AccountState::new(account.clone());
        room.ledger.extend(opening);
        state.accounts.insert(account.id, room);
        state.remember(claim, &account);
        Ok(Once::Done(account))
    }

    async fn account_update(
        &self,
        id: AccountId,
        change: AccountChange,
        at: Timestamp,
    ) -> Result<Option<Account>, CommitError<Changed>> {
        let mut state = self.state();
        let Some(room) = state.accounts.get_mut(&id) else { return Ok(None) };
        room.account = change.apply(room.account.clone(), at).map_err(CommitError::Refused)?;
        Ok(Some(room.account.clone()))
    }
}

#[async_trait]
impl ReadsApiKeys for MemoryStore {
    async fn api_key_list(&self, account: AccountId) -> Result<Vec<KeyRecord>, StoreError> {
        let state = self.state();
        let first = (account, ApiKeyId::from_u128(0));
        let last = (account, ApiKeyId::from_u128(u128::MAX));
        let hashes = state.key_hashes.range(first..=last).rev();
        Ok(hashes.filter_map(|(_, hash)| state.keys.get(hash).cloned()).collect())
    }

    async fn api_key_find(&self, hash: KeyHash) -> Result<Option<KeyRecord>, StoreError> {
        Ok(self.state().keys.get(&hash).cloned())
    }
}

#[async_trait]
impl ApiKeyStore for MemoryStore {
    async fn api_key_create(
        &self,
        key: KeyRecord,
        claim: Option<&Claim>,
    ) -> Result<Once<KeyCreated>, StoreError> {
        let mut state = self.state();
        if let Some(earlier) = state.earlier(claim) {
            return Ok(Once::Earlier(earlier));
        }
        if !state.accounts.contains_key(&key.account) {
            return Ok(Once::Done(KeyCreated::NoSuchAccount));
        }
        state.remember(claim, &key);
        state.key_hashes.insert((key.account, key.id), key.hash);
        state.keys.insert(key.hash, key);
        Ok(Once::Done(KeyCreated::Created))
    }

    async fn api_key_revoke(
        &self,
        account: AccountId,
        id: ApiKeyId,
        at: Timestamp,
    ) -> Result<Option<KeyRecord>, StoreError> {
        let mut state = self.state();
        let Some(hash) = state.key_hashes.get(&(account, id)).copied() else { return Ok(None) };
        let key = state.keys.get_mut(&hash).map(|key| {
            key.revoked_at.get_or_insert(at);
            key.clone()
        });
        Ok(key)
    }

    async fn api_key_used(
        &self,
        account: AccountId,
        id: ApiKeyId,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let mut state = self.state();
        let hash = state.key_hashes.get(&(account, id)).copied();
        if let Some(key) = hash.and_then(|hash| state.keys.get_mut(&hash)) {
            key.last_used_at = Some(at);
        }
        Ok(())
    }
}
