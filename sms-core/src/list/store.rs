//! What a store does with lists.

use async_trait::async_trait;

use super::join::{JoinPlan, Joined};
use super::{ContactList, ListChange};
use crate::contact::Contact;
use crate::contact::book::BookRefused;
use crate::ids::{AccountId, ContactId, ListId};
use crate::page::{Page, PageRequest};
use crate::store::{CommitError, StoreError};
use crate::time::Timestamp;

/// Keeps lists, and who is on them.
#[async_trait]
pub trait ListStore: Send + Sync {
    /// Writes a new list, without contacts.
    async fn list_create(&self, list: ContactList) -> Result<(), StoreError>;

    /// One list.
    async fn list_get(
        &self,
        account: AccountId,
        id: ListId,
    ) -> Result<Option<ContactList>, StoreError>;

    /// A page of the account's lists, newest first.
    async fn list_list(
        &self,
        account: AccountId,
        page: PageRequest,
    ) -> Result<Page<ContactList>, StoreError>;

    /// Applies [`ListChange::apply`] to the list as it is, with no other change in between.
    async fn list_update(
        &self,
        account: AccountId,
        id: ListId,
        change: ListChange,
        at: Timestamp,
    ) -> Result<Option<ContactList>, StoreError>;

    /// Removes a list; its contacts stay. False when there is none of this id.
    async fn list_delete(&self, account: AccountId, id: ListId) -> Result<bool, StoreError>;

    /// Puts contacts on a list, as [`JoinPlan`] decides, in the way of
    /// [`ContactStore`](crate::contact::store::ContactStore).
    async fn list_join(&self, plan: JoinPlan) -> Result<Joined, CommitError<BookRefused>>;

    /// Takes a contact off a list; false when it was not on it.
    async fn list_leave(
        &self,
        account: AccountId,
        list: ListId,
        contact: ContactId,
    ) -> Result<bool, StoreError>;

    /// Up to `limit` contacts of a list, the oldest first, made after the one named.
    async fn list_portion(
        &self,
        account: AccountId,
        list: ListId,
        after: Option<ContactId>,
        limit: usize,
    ) -> Result<Vec<Contact>, StoreError>;
}
