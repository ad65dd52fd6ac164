//! Contacts.

use std::collections::BTreeSet;

use async_trait::async_trait;
use sms_core::contact::book::{BookPlan, BookRefused, CreatePlan, RemovePlan, UpdatePlan};
use sms_core::contact::import::{ImportPlan, Imported};
use sms_core::contact::store::ContactStore;
use sms_core::contact::{Contact, ContactFields, ContactFilter};
use sms_core::idempotency::{Answer, Claim, Once};
use sms_core::ids::{AccountId, ContactId, ListId};
use sms_core::page::{Cursor, Page, PageRequest};
use sms_core::phone::E164;
use sms_core::store::{CommitError, StoreError};

use crate::MemoryStore;
use crate::address_book::{AddressBook, no_account, read};
use crate::state::State;

#[async_trait]
impl ContactStore for MemoryStore {
    async fn contact_create(
        &self,
        plan: CreatePlan,
        claim: Option<&Claim>,
    ) -> Result<Once<Contact>, CommitError<BookRefused>> {
        self.state().change_book_once(&plan, claim)
    }

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
        let before = page.after.map(Cursor::id);
        let rows = self.state().read_book(account, |book| {
            book.newest_first(filter, before).take(page.limit.get() + 1)
        });
        Ok(Page::of(rows, page.limit, |contact: &Contact| contact.id))
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

    async fn custom_names(&self, account: AccountId) -> Result<Vec<String>, StoreError> {
        let state = self.state();
        let names = state.accounts.get(&account).map(|room| room.book.uses.keys().cloned());
        Ok(names.into_iter().flatten().collect())
    }

    async fn custom_names_among(
        &self,
        account: AccountId,
        names: &[String],
    ) -> Result<BTreeSet<String>, StoreError> {
        let state = self.state();
        let Some(room) = state.accounts.get(&account) else { return Ok(BTreeSet::new()) };
        Ok(names.iter().filter(|name| room.book.uses.contains_key(*name)).cloned().collect())
    }

    async fn contacts_by_id(
        &self,
        account: AccountId,
        ids: &[ContactId],
    ) -> Result<Vec<Contact>, StoreError> {
        let ids: BTreeSet<&ContactId> = ids.iter().collect();
        Ok(self
            .state()
            .read_book(account, |book| ids.into_iter().filter_map(|id| book.contacts.get(id))))
    }

    async fn contacts_by_phone(
        &self,
        account: AccountId,
        phones: &[E164],
    ) -> Result<Vec<Contact>, StoreError> {
        let phones: BTreeSet<&E164> = phones.iter().collect();
        Ok(self.state().read_book(account, |book| {
            let ids = phones.into_iter().filter_map(|phone| book.by_phone.get(phone));
            ids.filter_map(|id| book.contacts.get(id))
        }))
    }

    async fn address_book_is_empty(&self, account: AccountId) -> Result<bool, StoreError> {
        let state = self.state();
        Ok(state.accounts.get(&account).is_none_or(|room| room.book.contacts.is_empty()))
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
