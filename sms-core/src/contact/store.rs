//! What a store does with contacts.

use std::collections::BTreeSet;

use async_trait::async_trait;

use super::book::{BookRefused, CreatePlan, RemovePlan, UpdatePlan};
use super::filter::ContactFilter;
use super::import::{ImportPlan, Imported};
use super::saved::Contact;
use crate::idempotency::{Claim, Once};
use crate::ids::{AccountId, ContactId, ListId};
use crate::page::{Page, PageRequest};
use crate::phone::E164;
use crate::store_error::{CommitError, StoreError};

/// Which of the custom names that contacts use are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CustomNamesWanted<'a> {
    /// All. They are found without reading every contact.
    All,
    /// Those among these.
    Among(&'a [String]),
}

/// Which contacts are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContactsWanted<'a> {
    /// Those with these ids.
    Ids(&'a [ContactId]),
    /// Those with these numbers.
    Phones(&'a [E164]),
}

/// Reads contacts, their lists, and the names of the custom fields that they use.
#[async_trait]
pub trait ReadsContacts: Send + Sync {
    /// One contact with the lists that it is on, newest list first; `None` if the account has no
    /// such contact.
    async fn contact_get(
        &self,
        account: AccountId,
        id: ContactId,
    ) -> Result<Option<(Contact, Vec<ListId>)>, StoreError>;

    /// A page of the contacts that the filter accepts, newest first. A list that the account does
    /// not have yields no contacts.
    async fn contact_list(
        &self,
        account: AccountId,
        filter: &ContactFilter,
        page: PageRequest,
    ) -> Result<Page<Contact>, StoreError>;

    /// The custom names that contacts of the account use, of those that are wanted.
    async fn custom_names(
        &self,
        account: AccountId,
        wanted: CustomNamesWanted<'_>,
    ) -> Result<BTreeSet<String>, StoreError>;

    /// Those of the account's contacts that are wanted, in any order.
    async fn contacts_among(
        &self,
        account: AccountId,
        wanted: ContactsWanted<'_>,
    ) -> Result<Vec<Contact>, StoreError>;

    /// Whether the account has no contacts. The answer may be a few seconds old. It saves accounts
    /// that only send to numbers a look-up, and nothing relies on it being current.
    async fn address_book_is_empty(&self, account: AccountId) -> Result<bool, StoreError>;
}

/// Keeps contacts. A store commits every plan by its [`settle`](super::book::BookPlan::settle), as
/// a whole or not at all, with no other change of the account's address book in between. In the
/// same commit it keeps exact counts of the contacts on each list and of those that use each custom
/// name.
#[async_trait]
pub trait ContactStore: ReadsContacts {
    /// Creates a contact.
    /// A creation with a claim takes effect [once](crate::idempotency::store::IdempotencyStore).
    async fn contact_create(
        &self,
        plan: CreatePlan,
        claim: Option<&Claim>,
    ) -> Result<Once<Contact>, CommitError<BookRefused>>;

    /// Changes a contact.
    async fn contact_update(&self, plan: UpdatePlan) -> Result<Contact, CommitError<BookRefused>>;

    /// Removes a contact, also from every list.
    async fn contact_delete(&self, plan: RemovePlan) -> Result<(), CommitError<BookRefused>>;

    /// Creates and changes many contacts.
    /// An import with a claim takes effect [once](crate::idempotency::store::IdempotencyStore).
    async fn contacts_import(
        &self,
        plan: ImportPlan,
        claim: Option<&Claim>,
    ) -> Result<Once<Imported>, CommitError<BookRefused>>;
}
