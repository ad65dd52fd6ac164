//! Lists of contacts.

use async_trait::async_trait;
use sms_core::contact::book::BookRefused;
use sms_core::contact::{Contact, ContactFields};
use sms_core::idempotency::{Claim, Once};
use sms_core::ids::{AccountId, ContactId, ListId};
use sms_core::list::join::{JoinPlan, Joined};
use sms_core::list::store::{ListStore, ReadsLists};
use sms_core::list::{ContactList, ListChange};
use sms_core::page::{Cursor, Page, PageRequest};
use sms_core::store::{CommitError, StoreError};
use sms_core::time::Timestamp;
use sms_core::version::{Changed, IfVersion};

use crate::MemoryStore;
use crate::address_book::no_account;

#[async_trait]
impl ReadsLists for MemoryStore {
    async fn list_get(
        &self,
        account: AccountId,
        id: ListId,
    ) -> Result<Option<ContactList>, StoreError> {
        let state = self.state();
        Ok(state.accounts.get(&account).and_then(|room| room.book.lists.get(&id)).cloned())
    }

    async fn list_list(
        &self,
        account: AccountId,
        page: PageRequest,
    ) -> Result<Page<ContactList>, StoreError> {
        let state = self.state();
        let end = page.after.map_or(ListId::from_u128(u128::MAX), Cursor::id);
        let lists = state.accounts.get(&account).map(|room| room.book.lists.range(..end).rev());
        let lists = lists.into_iter().flatten().map(|(_, list)| list.clone());
        let rows = lists.take(page.limit.get() + 1).collect();
        Ok(Page::of(rows, page.limit, |list: &ContactList| list.id))
    }

    async fn list_portion(
        &self,
        account: AccountId,
        list: ListId,
        after: Option<ContactId>,
        limit: usize,
        fields: &ContactFields,
    ) -> Result<Vec<Contact>, StoreError> {
        let state = self.state();
        Ok(state.read_named(account, fields, |book| book.on_list_after(list, after).take(limit)))
    }
}

#[async_trait]
impl ListStore for MemoryStore {
    async fn list_create(
        &self,
        list: ContactList,
        claim: Option<&Claim>,
    ) -> Result<Once<ContactList>, StoreError> {
        let mut state = self.state();
        if let Some(earlier) = state.earlier(claim) {
            return Ok(Once::Earlier(earlier));
        }
        let room = state.accounts.get_mut(&list.account).ok_or_else(no_account)?;
        room.book.lists.insert(list.id, list.clone());
        state.remember(claim, &list);
        Ok(Once::Done(list))
    }

    async fn list_update(
        &self,
        account: AccountId,
        id: ListId,
        change: ListChange,
        at: Timestamp,
    ) -> Result<Option<ContactList>, CommitError<Changed>> {
        let mut state = self.state();
        let room = state.accounts.get_mut(&account);
        let Some(list) = room.and_then(|room| room.book.lists.get_mut(&id)) else {
            return Ok(None);
        };
        *list = change.apply(list.clone(), at).map_err(CommitError::Refused)?;
        Ok(Some(list.clone()))
    }

    async fn list_delete(
        &self,
        account: AccountId,
        id: ListId,
        if_version: IfVersion,
    ) -> Result<bool, CommitError<Changed>> {
        let mut state = self.state();
        let Some(room) = state.accounts.get_mut(&account) else { return Ok(false) };
        let Some(list) = room.book.lists.get(&id) else { return Ok(false) };
        if_version.check(list).map_err(CommitError::Refused)?;
        room.keywords.clear_list(id);
        Ok(room.book.remove_list(id))
    }

    async fn list_join(&self, plan: JoinPlan) -> Result<Joined, CommitError<BookRefused>> {
        self.state().change_book(&plan)
    }

    async fn list_leave(
        &self,
        account: AccountId,
        list: ListId,
        contact: ContactId,
    ) -> Result<bool, StoreError> {
        let mut state = self.state();
        let room = state.accounts.get_mut(&account);
        Ok(room.is_some_and(|room| room.book.leave(list, contact)))
    }
}
