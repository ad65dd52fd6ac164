//! Looks up the numbers, contacts and lists that a send request names, page by page.

use std::collections::BTreeMap;

use super::account::AccountHandle;
use super::reading::Read;
use crate::contact::fields::ContactFields;
use crate::contact::saved::Contact;
use crate::contact::store::ContactsWanted;
use crate::error::Error;
use crate::ids::{ContactId, ListId};
use crate::list::ContactList;
use crate::phone::E164;
use crate::sending::recipients::Recipients;
use crate::sending::request::{MAX_LIST, SendRequest};
use crate::sending::settle::TEST_NUMBERS_PER_REQUEST;
use crate::sending::writer::page_size;
use crate::text::merge::Template;

/// How many contacts are read at a time, at most.
const PAGE: usize = 1_000;

/// The contacts that a request names, by id and by list, that are not read yet.
pub(super) struct Addressees<'r> {
    ids: &'r [ContactId],
    list: Result<Option<Members>, Error>,
    page_size: usize,
    fields: ContactFields,
}

/// The contacts of a list.
struct Members {
    list: ContactList,
    after: Option<ContactId>,
}

impl AccountHandle {
    /// The contacts that a request names. An unknown list is reported once the contacts before it
    /// are read.
    pub(super) async fn addressees<'r>(
        &self,
        request: &'r SendRequest,
        words: &str,
    ) -> Addressees<'r> {
        let list = match request.list_id {
            Some(id) => self.members(id).await.map(Some),
            None => Ok(None),
        };
        let page_size = page_size(words, request.track_links, PAGE);
        let fields = ContactFields::named_in(words);
        Addressees { ids: &request.contact_ids, list, page_size, fields }
    }

    async fn members(&self, id: ListId) -> Result<Members, Error> {
        let list = self.sms.store().list_get(self.id, id).await?;
        let unknown = || Error::UnknownReference { resource: "list", id: id.to_string() };
        let list = list.ok_or_else(unknown)?;
        let most = if self.mode.is_test() { TEST_NUMBERS_PER_REQUEST } else { MAX_LIST };
        if list.contact_count > most as u64 {
            return Err(if self.mode.is_test() {
                Error::TestLimitExceeded
            } else {
                let message = format!(
                    "a send can go to a list of up to {MAX_LIST} contacts; \
                     use a campaign for a longer list"
                );
                Error::invalid("list_id", "too_many", message)
            });
        }
        Ok(Members { list, after: None })
    }

    /// Treats a number in `to` that belongs to a saved contact as that contact.
    pub(super) async fn know_numbers(
        &self,
        request: &SendRequest,
        addressees: &Addressees<'_>,
        recipients: &mut Recipients,
    ) -> Result<(), Error> {
        let numbers: Vec<E164> = recipients.numbers().collect();
        let store = self.sms.store();
        // A new answer is needed if the text reads differently for a contact.
        let may_differ =
            request.template_id.is_some() || Template::parse(&request.body, |_| true).has_fields();
        if numbers.is_empty() || (!may_differ && store.address_book_is_empty(self.id).await?) {
            return Ok(());
        }
        for page in numbers.chunks(addressees.page_size) {
            for contact in store.contacts_among(self.id, ContactsWanted::Phones(page)).await? {
                recipients.know(addressees.fields.of(&contact));
            }
        }
        Ok(())
    }
}

impl Addressees<'_> {
    /// How many contacts there are to read.
    pub(super) fn count(&self) -> usize {
        let listed = match &self.list {
            Ok(Some(members)) => members.list.contact_count,
            Ok(None) | Err(_) => 0,
        };
        self.ids.len().saturating_add(usize::try_from(listed).unwrap_or(usize::MAX))
    }

    /// Whether every contact is read.
    pub(super) fn are_all_read(&self) -> bool {
        self.ids.is_empty() && matches!(self.list, Ok(None))
    }

    /// Reads the next contacts and adds them to the recipients.
    pub(super) async fn read_page(
        &mut self,
        account: &AccountHandle,
        recipients: &mut Recipients,
    ) -> Result<(), Error> {
        if !self.ids.is_empty() {
            let (page, rest) = self.ids.split_at(self.ids.len().min(self.page_size));
            self.ids = rest;
            add_contacts(account, page, &self.fields, recipients).await?;
        }
        if !self.ids.is_empty() {
            return Ok(());
        }
        let Some(mut members) = std::mem::replace(&mut self.list, Ok(None))? else {
            return Ok(());
        };
        let turn = account.read_turn(Read::Page).await;
        let (store, list) = (account.sms.store(), members.list.id);
        let page =
            store.list_portion(account.id, list, members.after, self.page_size, &self.fields);
        let page = page.await?;
        drop(turn);
        if page.len() == self.page_size {
            members.after = page.last().map(|contact| contact.id);
            self.list = Ok(Some(members));
        }
        for contact in page {
            recipients.add(contact);
        }
        Ok(())
    }
}

async fn add_contacts(
    account: &AccountHandle,
    ids: &[ContactId],
    fields: &ContactFields,
    recipients: &mut Recipients,
) -> Result<(), Error> {
    let turn = account.read_turn(Read::Page).await;
    let wanted = ContactsWanted::Ids(ids);
    let found = account.sms.store().contacts_among(account.id, wanted).await?;
    drop(turn);
    let found: BTreeMap<ContactId, Contact> =
        found.into_iter().map(|contact| (contact.id, contact)).collect();
    for id in ids {
        let contact = found
            .get(id)
            .ok_or_else(|| Error::UnknownReference { resource: "contact", id: id.to_string() })?;
        recipients.add(fields.of(contact));
    }
    Ok(())
}
