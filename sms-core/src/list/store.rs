//! What a store does with lists.

use async_trait::async_trait;

use super::join::{JoinPlan, Joined};
use super::{ContactList, ListChange};
use crate::contact::book::BookRefused;
use crate::contact::fields::ContactFields;
use crate::contact::saved::Contact;
use crate::idempotency::{Claim, Once};
use crate::ids::{AccountId, ContactId, ListId};
use crate::page::{Page, PageRequest};
use crate::store_error::{CommitError, StoreError};
use crate::time::Timestamp;
use crate::version::{Changed, IfVersion};

/// Reads lists and their members.
#[async_trait]
pub trait ReadsLists: Send + Sync {
    /// The list with this id; `None` if the account has none.
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

    /// Up to `limit` contacts of a list, oldest first, that were created after the contact `after`;
    /// from the start if `after` is `None`. Reads only these details of each.
    async fn list_portion(
        &self,
        account: AccountId,
        list: ListId,
        after: Option<ContactId>,
        limit: usize,
        fields: &ContactFields,
    ) -> Result<Vec<Contact>, StoreError>;
}

/// Keeps lists and their members.
#[async_trait]
pub trait ListStore: ReadsLists {
    /// Writes a new list, without contacts.
    /// A creation with a claim takes effect [once](crate::idempotency::store::IdempotencyStore).
    async fn list_create(
        &self,
        list: ContactList,
        claim: Option<&Claim>,
    ) -> Result<Once<ContactList>, StoreError>;

    /// Applies [`ListChange::apply`] to the current list, with no other change in between, and
    /// returns the list after the change; `None` if the account has no such list.
    async fn list_update(
        &self,
        account: AccountId,
        id: ListId,
        change: ListChange,
        at: Timestamp,
    ) -> Result<Option<ContactList>, CommitError<Changed>>;

    /// Removes a list and keeps its contacts; false if the account has no list with this id. A
    /// removal of some versions only [checks](IfVersion::check) the current list, with no change of
    /// it in between.
    async fn list_delete(
        &self,
        account: AccountId,
        id: ListId,
        if_version: IfVersion,
    ) -> Result<bool, CommitError<Changed>>;

    /// Puts contacts on a list as [`JoinPlan`] decides, under the contract of
    /// [`ContactStore`](crate::contact::store::ContactStore).
    async fn list_join(&self, plan: JoinPlan) -> Result<Joined, CommitError<BookRefused>>;

    /// Takes a contact off a list; false if it was not on the list.
    async fn list_leave(
        &self,
        account: AccountId,
        list: ListId,
        contact: ContactId,
    ) -> Result<bool, StoreError>;
}
