//! Contacts.

use std::collections::BTreeSet;

use async_trait::async_trait;
use sms_core::contact::book::{BookPlan, BookRefused, CreatePlan, RemovePlan, UpdatePlan};
use sms_core::contact::import::{ImportPlan, Imported};
use sms_core::contact::store::{ContactStore, ContactsWanted, CustomNamesWanted, ReadsContacts};
use sms_core::contact::{Contact, ContactFields, ContactFilter};
use sms_core::idempotency::{Answer, Claim, Once};
use sms_core::ids::{AccountId, ContactId, ListId};
use sms_core::page::{Page, PageRequest};
use sms_core::phone::E164;
use sms_core::store::{CommitError, StoreError};

use crate::MemoryStore;
use crate::address_book::{AddressBook, no_account, read};
use crate::search::{portion, search};
use crate::state::State;

#[async_trait]
impl ReadsContacts for MemoryStore {
    async fn contact_get(
        &self,
        account: AccountId,
        id: ContactId,
    ) -> Result<Option<(Contact, Vec<ListId>)>, StoreError> {
        let state = self.state();
        let Some(room) = state.accounts.get(&account) else { return Ok(None) };
        let found = room.book.contacts.get(&id);
        Ok(found.map(|contact| (read(contact, &room.opt_outs), room.book.lists_of(id))))
    }

    async fn contact_list(
        &self,
        account: AccountId,
        filter: &ContactFilter,
        page: PageRequest,
    ) -> Result<Page<Contact>, StoreError> {
        let found = search(
            page,
            |contact: &Contact| contact.id,
            |before, most| {
                let state = self.state();
                let room = state.accounts.get(&account);
                let rows = room.into_iter().flat_map(|room| {
                    let contacts = room.book.newest_first(filter, before);
                    contacts.map(move |contact| (contact.id, (contact, &room.opt_outs)))
                });
                portion(rows, most, |(contact, opt_outs)| {
                    filter.finds(contact).then(|| read(contact, opt_outs))
                })
            },
        );
        Ok(found.await)
    }

    async fn custom_names(
        &self,
        account: AccountId,
        wanted: CustomNamesWanted<'_>,
    ) -> Result<BTreeSet<String>, StoreError> {
        Ok(match wanted {
            CustomNamesWanted::All => self.all_custom_names(account),
            CustomNamesWanted::Among(names) => self.custom_names_among(account, names),
        })
    }

    async fn contacts_among(
        &self,
        account: AccountId,
        wanted: ContactsWanted<'_>,
    ) -> Result<Vec<Contact>, StoreError> {
        Ok(match wanted {
            ContactsWanted::Ids(ids) => self.contacts_by_id(account, ids),
            ContactsWanted::Phones(phones) => self.contacts_by_phone(account, phones),
        })
    }

    async fn address_book_is_empty(&self, account: AccountId) -> Result<bool, StoreError> {
        let state = self.state();
        Ok(state.accounts.get(&account).is_none_or(|room| room.book.contacts.is_empty()))
    }
}

#[async_trait]
impl ContactStore for MemoryStore {
    async fn contact_create(
        &self,
        plan: CreatePlan,
        claim: Option<&Claim>,
    ) -> Result<Once<Contact>, CommitError<BookRefused>> {
        self.state().change_book_once(&plan, claim)
    }

    async fn contact_update(&self, plan: UpdatePlan) -> Result<Contact, CommitError<BookRefused>> {
        self.state().change_book(&plan)
    }

    async fn contact_delete(&self, plan: RemovePlan) -> Result<(), CommitError<BookRefused>> {
        self.state().change_book(&plan)
    }

    async fn contacts_import(
        &self,
        plan: ImportPlan,
        claim: Option<&Claim>,
    ) -> Result<Once<Imported>, CommitError<BookRefused>> {
        self.state().change_book_once(&plan, claim)
    }
}

impl MemoryStore {
    fn contacts_by_id(&self, account: AccountId, ids: &[ContactId]) -> Vec<Contact> {
        let ids: BTreeSet<&ContactId> = ids.iter().collect();
        self.state()
            .read_book(account, |book| ids.into_iter().filter_map(|id| book.contacts.get(id)))
    }

    fn contacts_by_phone(&self, account: AccountId, phones: &[E164]) -> Vec<Contact> {
        let phones: BTreeSet<&E164> = phones.iter().collect();
        self.state().read_book(account, |book| {
            let ids = phones.into_iter().filter_map(|phone| book.by_phone.get(phone));
            ids.filter_map(|id| book.contacts.get(id))
        })
    }

    fn all_custom_names(&self, account: AccountId) -> BTreeSet<String> {
        let state = self.state();
        let names = state.accounts.get(&account).map(|room| room.book.uses.keys().cloned());
        names.into_iter().flatten().collect()
    }

    fn custom_names_among(&self, account: AccountId, names: &[String]) -> BTreeSet<String> {
        let state = self.state();
        let Some(room) = state.accounts.get(&account) else { return BTreeSet::new() };
        names.iter().filter(|name| room.book.uses.contains_key(*name)).cloned().collect()
    }
}

impl State {
    /// Settles a plan and writes its change.
    pub(crate) fn change_book<P: BookPlan>(
        &mut self,
        plan: &P,
    ) -> Result<P::Answer, CommitError<BookRefused>> {
        let room = self.accounts.get_mut(&plan.account()).ok_or_else(no_account)?;
        let facts = room.book.facts(&plan.asks(), &room.opt_outs);
        let (change, answer) = plan.settle(&facts).map_err(CommitError::Refused)?;
        room.book.write(change);
        Ok(answer)
    }

    fn change_book_once<P: BookPlan<Answer: Answer>>(
        &mut self,
        plan: &P,
        claim: Option<&Claim>,
    ) -> Result<Once<P::Answer>, CommitError<BookRefused>> {
        if let Some(earlier) = self.earlier(claim) {
            return Ok(Once::Earlier(earlier));
        }
        let answer = self.change_book(plan)?;
        self.remember(claim, &answer);
        Ok(Once::Done(answer))
    }

    /// The contacts that `pick` selects from an account's address book, with `opted_out` filled in.
    pub(crate) fn read_book<'a, I: Iterator<Item = &'a Contact>>(
        &'a self,
        account: AccountId,
        pick: impl FnOnce(&'a AddressBook) -> I,
    ) -> Vec<Contact> {
        let Some(room) = self.accounts.get(&account) else { return Vec::new() };
        pick(&room.book).map(|contact| read(contact, &room.opt_outs)).collect()
    }

    /// The same, with these details only.
    pub(crate) fn read_named<'a, I: Iterator<Item = &'a Contact>>(
        &'a self,
        account: AccountId,
        fields: &ContactFields,
        pick: impl FnOnce(&'a AddressBook) -> I,
    ) -> Vec<Contact> {
        let Some(room) = self.accounts.get(&account) else { return Vec::new() };
        let narrow = |contact: &Contact| read(&fields.of(contact), &room.opt_outs);
        pick(&room.book).map(narrow).collect()
    }
}
