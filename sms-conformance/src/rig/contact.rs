//! Contacts and lists.

use std::collections::{BTreeMap, BTreeSet};

use sms_core::account::Account;
use sms_core::contact::book::{BookRefused, CreatePlan, RemovePlan, UpdatePlan};
use sms_core::contact::custom::CustomInput;
use sms_core::contact::import::{ImportPlan, ImportRow, Imported};
use sms_core::contact::store::CustomNamesWanted;
use sms_core::contact::{Contact, ContactFilter, ContactInput, ContactPatch, CustomValue};
use sms_core::ids::{AccountId, ContactId, ListId};
use sms_core::list::join::{JoinPlan, Joined};
use sms_core::list::{ContactList, ListInput};
use sms_core::store::CommitError;
use sms_core::version::IfVersion::Any;

use super::{Rig, person, read_all};

/// A person as a contact of this first name.
pub fn named(n: u16, first_name: &str) -> ContactInput {
    ContactInput::new(person(n).to_string()).first_name(first_name)
}

/// A person as a contact with a value under each of these custom names.
pub fn with_fields(n: u16, names: &[&str]) -> ContactInput {
    let field = |name: &&str| ((*name).to_owned(), Some(CustomValue::Boolean(true)));
    let custom: CustomInput = names.iter().map(field).collect();
    ContactInput::new(person(n).to_string()).custom(custom)
}

impl Rig {
    /// A plan to make a contact.
    pub fn create_plan(&self, account: &Account, input: &ContactInput) -> CreatePlan {
        let checked = input.checked().expect("the contact is right");
        let (phone, details) = (checked.phone, checked.details);
        CreatePlan { account: account.id, id: self.id(), phone, details, at: self.now() }
    }

    /// Creates a contact from a valid input.
    pub async fn contact(&self, account: &Account, input: &ContactInput) -> Contact {
        let plan = self.create_plan(account, input);
        crate::rig::done(self.store().contact_create(plan, None).await)
            .expect("the contact is made")
    }

    /// A plan to change a contact.
    pub fn update_plan(&self, contact: &Contact, patch: ContactPatch) -> UpdatePlan {
        let change = patch.checked().expect("the change is right");
        UpdatePlan { account: contact.account, id: contact.id, change, at: self.now() }
    }

    /// Commits a change of a contact, and returns the store's answer.
    pub async fn update_contact(
        &self,
        contact: &Contact,
        patch: ContactPatch,
    ) -> Result<Contact, CommitError<BookRefused>> {
        self.store().contact_update(self.update_plan(contact, patch)).await
    }

    /// Removes a contact, whatever its version.
    pub async fn remove_contact(&self, contact: &Contact) {
        let (account, id, if_version) = (contact.account, contact.id, Any);
        let plan = RemovePlan { account, id, if_version };
        self.store().contact_delete(plan).await.expect("the contact is removed");
    }

    /// A contact as it is now, with its lists.
    pub async fn contact_now(&self, contact: &Contact) -> Option<(Contact, Vec<ListId>)> {
        self.store().contact_get(contact.account, contact.id).await.expect("the contact is read")
    }

    /// All contacts that the filter wants, newest first.
    pub async fn contacts(&self, account: AccountId, filter: &ContactFilter) -> Vec<Contact> {
        read_all(100, async |page| {
            let page = self.store().contact_list(account, filter, page).await;
            page.expect("the contacts are read")
        })
        .await
    }

    /// An import of these rows.
    pub fn import_plan(
        &self,
        account: &Account,
        rows: Vec<ContactInput>,
        list: Option<ListId>,
    ) -> ImportPlan {
        let rows = rows.into_iter().map(ImportRow::of).collect();
        ImportPlan { account: account.id, rows, list, ids: self.ids(), at: self.now() }
    }

    /// Imports these rows, without an idempotency key.
    pub async fn import(
        &self,
        account: &Account,
        rows: Vec<ContactInput>,
        list: Option<ListId>,
    ) -> Imported {
        let plan = self.import_plan(account, rows, list);
        crate::rig::done(self.store().contacts_import(plan, None).await)
            .expect("the rows are imported")
    }

    /// The custom names in use.
    pub async fn custom_names(&self, account: &Account) -> Vec<String> {
        let names = self.store().custom_names(account.id, CustomNamesWanted::All).await;
        names.expect("the names are read").into_iter().collect()
    }

    /// Creates a list named "Regulars".
    pub async fn list(&self, account: &Account) -> ContactList {
        let input = ListInput::new("Regulars");
        let list = input.into_list(self.id(), account.id, self.now());
        crate::rig::done(self.store().list_create(list.clone(), None).await)
            .expect("the list is made");
        list
    }

    /// A list as it is now.
    pub async fn list_now(&self, list: &ContactList) -> Option<ContactList> {
        self.store().list_get(list.account, list.id).await.expect("the list is read")
    }

    /// A plan to put contacts and people on a list.
    pub fn join_plan(
        &self,
        list: &ContactList,
        contacts: &[ContactId],
        people: &[u16],
    ) -> JoinPlan {
        JoinPlan {
            account: list.account,
            list: list.id,
            contacts: contacts.to_vec(),
            phones: people.iter().map(|n| person(*n)).collect(),
            ids: self.ids(),
            at: self.now(),
        }
    }

    /// Puts contacts and people on a list.
    pub async fn join(&self, list: &ContactList, contacts: &[ContactId], people: &[u16]) -> Joined {
        let plan = self.join_plan(list, contacts, people);
        self.store().list_join(plan).await.expect("the contacts are put on the list")
    }

    /// The contacts on a list, newest first; as many as it says.
    pub async fn members(&self, list: &ContactList) -> Vec<Contact> {
        let filter = ContactFilter { list_id: Some(list.id), search: None };
        let members = self.contacts(list.account, &filter).await;
        let count = self.list_now(list).await.map_or(0, |list| list.contact_count);
        assert_eq!(members.len() as u64, count, "the count of a list is exact");
        members
    }

    /// Checks what is kept beside contacts: counts of lists, who is on which, names in use.
    pub(crate) async fn audit_address_book(&self, account: AccountId) {
        let contacts = self.contacts(account, &ContactFilter::default()).await;
        assert!(contacts.is_sorted_by(|newer, older| newer.id > older.id), "newest first");
        let mut used = BTreeSet::new();
        let mut lists_of: BTreeMap<ContactId, Vec<ListId>> = BTreeMap::new();
        let lists = read_all(100, async |page| {
            self.store().list_list(account, page).await.expect("the lists are read")
        });
        for list in lists.await {
            for contact in self.members(&list).await {
                lists_of.entry(contact.id).or_default().push(list.id);
            }
        }
        for contact in contacts {
            used.extend(contact.details.custom.keys().cloned());
            let lists = lists_of.remove(&contact.id).unwrap_or_default();
            assert_eq!(self.contact_now(&contact).await, Some((contact, lists)));
        }
        assert_eq!(lists_of, BTreeMap::new(), "only contacts are on lists");
        let names = self.store().custom_names(account, CustomNamesWanted::All).await;
        assert_eq!(
            used,
            names.expect("the names are read"),
            "the names in use are those of the contacts"
        );
    }
}
