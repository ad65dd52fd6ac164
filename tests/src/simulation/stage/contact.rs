//! Contacts and lists on the stage: plain calls in turn.

use std::collections::BTreeSet;

use sms_core::contact::book::{BookRefused, CreatePlan, RemovePlan, UpdatePlan};
use sms_core::contact::import::{ImportPlan, Imported};
use sms_core::contact::store::ContactStore;
use sms_core::contact::{Contact, ContactFilter};
use sms_core::ids::{AccountId, ContactId, ListId};
use sms_core::list::join::{JoinPlan, Joined};
use sms_core::list::store::ListStore;
use sms_core::list::{ContactList, ListChange};
use sms_core::page::{Page, PageRequest};
use sms_core::phone::E164;
use sms_core::store::{CommitError, StoreError};
use sms_core::time::Timestamp;

use super::Stage;
use crate::simulation::forward::forward;

forward! {
    impl ContactStore for Stage {
        contact_create(plan: CreatePlan) -> Result<Contact, CommitError<BookRefused>>;
        contact_get(account: AccountId, id: ContactId)
            -> Result<Option<(Contact, Vec<ListId>)>, StoreError>;
        contact_list(account: AccountId, filter: &ContactFilter, page: PageRequest)
            -> Result<Page<Contact>, StoreError>;
        contact_update(plan: UpdatePlan) -> Result<Contact, CommitError<BookRefused>>;
        contact_delete(plan: RemovePlan) -> Result<(), CommitError<BookRefused>>;
        contacts_import(plan: ImportPlan) -> Result<Imported, CommitError<BookRefused>>;
        custom_names(account: AccountId) -> Result<Vec<String>, StoreError>;
        custom_names_among(account: AccountId, names: &[String])
            -> Result<BTreeSet<String>, StoreError>;
        contacts_by_id(account: AccountId, ids: &[ContactId]) -> Result<Vec<Contact>, StoreError>;
        contacts_by_phone(account: AccountId, phones: &[E164]) -> Result<Vec<Contact>, StoreError>;
        address_book_is_empty(account: AccountId) -> Result<bool, StoreError>;
    }
}

forward! {
    impl ListStore for Stage {
        list_create(list: ContactList) -> Result<(), StoreError>;
        list_get(account: AccountId, id: ListId) -> Result<Option<ContactList>, StoreError>;
        list_list(account: AccountId, page: PageRequest) -> Result<Page<ContactList>, StoreError>;
        list_update(account: AccountId, id: ListId, change: ListChange, at: Timestamp)
            -> Result<Option<ContactList>, StoreError>;
        list_delete(account: AccountId, id: ListId) -> Result<bool, StoreError>;
        list_join(plan: JoinPlan) -> Result<Joined, CommitError<BookRefused>>;
        list_leave(account: AccountId, list: ListId, contact: ContactId)
            -> Result<bool, StoreError>;
        list_portion(account: AccountId, list: ListId, after: Option<ContactId>, limit: usize)
            -> Result<Vec<Contact>, StoreError>;
    }
}
