//! What a store does with contacts.

use std::collections::BTreeSet;

use async_trait::async_trait;

use super::Contact;
use super::book::{BookRefused, CreatePlan, RemovePlan, UpdatePlan};
use super::filter::ContactFilter;
use super::import::{ImportPlan, Imported};
use crate::idempotency::{Claim, Once};
use crate::ids::{AccountId, ContactId, ListId};
use crate::page::{Page, PageRequest};
use crate::phone::E164;
use crate::store::{CommitError, StoreError};

/// Keeps contacts. A store commits every plan by its [`settle`](super::book::BookPlan::settle), as
/// a whole or not at all, with no other change of the account's address book in between. In the
/// same commit it keeps exact counts of the contacts on each list and of those that use each custom
/// name.
#[async_trait]
pub trait ContactStore: Send + Sync {
    /// Creates a contact.
    /// A creation with a claim takes effect [once](crate::idempotency::store::IdempotencyStore).
    async fn contact_create(
        &self,
        plan: CreatePlan,
        claim: Option<&Claim>,
    ) -> Result<Once<Contact>, CommitError<BookRefused>>;

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

    /// The custom names that contacts of the account use, sorted, without reading every contact.
    async fn custom_names(&self, account: AccountId) -> Result<Vec<String>, StoreError>;

    /// Those of `names` that contacts of the account use.
    async fn custom_names_among(
        &self,
        account: AccountId,
        names: &[String],
    ) -> Result<BTreeSet<String>, StoreError>;

    /// The account's contacts with these ids, in any order.
    async fn contacts_by_id(
        &self,
        account: AccountId,
        ids: &[ContactId],
    ) -> Result<Vec<Contact>, StoreError>;

    /// The account's contacts with these numbers, in any order.
    async fn contacts_by_phone(
        &self,
        account: AccountId,
        phones: &[E164],
    ) -> Result<Vec<Contact>, StoreError>;

    /// Whether the account has no contacts. The answer may be a few seconds old. It saves accounts
    /// that only send to numbers a look-up, and nothing relies on it being current.
    async fn address_book_is_empty(&self, account: AccountId) -> Result<bool, StoreError>;
}
