//! What a store does with contacts.

use std::collections::BTreeSet;

use async_trait::async_trait;

use super::Contact;
use super::book::{BookRefused, CreatePlan, RemovePlan, UpdatePlan};
use super::filter::ContactFilter;
use super::import::{ImportPlan, Imported};
use crate::ids::{AccountId, ContactId, ListId};
use crate::page::{Page, PageRequest};
use crate::phone::E164;
use crate::store::{CommitError, StoreError};

/// Keeps contacts. Every plan is committed by its
/// [`settle`](super::book::BookPlan::settle), whole or not at all, with no other change of the
/// account's address book in between; with it are kept, exactly, how many contacts each list has
/// and how many use each custom name.
#[async_trait]
pub trait ContactStore: Send + Sync {
    /// Makes a contact.
    async fn contact_create(&self, plan: CreatePlan) -> Result<Contact, CommitError<BookRefused>>;

    /// One contact, with the lists that it is on, newest list first.
    async fn contact_get(
        &self,
        account: AccountId,
        id: ContactId,
    ) -> Result<Option<(Contact, Vec<ListId>)>, StoreError>;

    /// A page of the contacts that the filter wants, newest first. A list that the account does
    /// not have has no contacts.
    async fn contact_list(
        &self,
        account: AccountId,
        filter: &ContactFilter,
        page: PageRequest,
    ) -> Result<Page<Contact>, StoreError>;

    /// Changes a contact.
    async fn contact_update(&self, plan: UpdatePlan) -> Result<Contact, CommitError<BookRefused>>;

    /// Removes a contact, and from every list.
    async fn contact_delete(&self, plan: RemovePlan) -> Result<(), CommitError<BookRefused>>;

    /// Makes and changes many contacts.
    async fn contacts_import(&self, plan: ImportPlan)
    -> Result<Imported, CommitError<BookRefused>>;

    /// The custom names that contacts of the account use, sorted, without a look at every contact.
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

    /// Whether the account has no contacts. The answer may be a few seconds old: it saves those who
    /// only send to numbers a look-up, and nothing depends on it that must be right.
    async fn address_book_is_empty(&self, account: AccountId) -> Result<bool, StoreError>;
}
