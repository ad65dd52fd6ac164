//! Looks up the numbers, contacts and lists that a send request names.

use std::collections::{BTreeMap, BTreeSet};

use super::AccountHandle;
use crate::contact::Contact;
use crate::error::Error;
use crate::ids::{ContactId, ListId};
use crate::phone::E164;
use crate::sending::recipients::Recipients;
use crate::sending::request::{MAX_LIST, SendRequest};
use crate::sending::settle::TEST_NUMBERS_PER_REQUEST;
use crate::text::{Template, custom_names};

/// How many contacts of a list are read at a time.
const PORTION: usize = 1_000;

impl AccountHandle {
    /// The union of a request's recipients, with the contacts among them.
    pub(super) async fn addressees(&self, request: &SendRequest) -> Result<Recipients, Error> {
        let mut recipients = Recipients::of(request);
        self.know_numbers(request, &mut recipients).await?;
        self.add_contacts(&request.contact_ids, &mut recipients).await?;
        if let Some(list) = request.list_id {
            self.add_list(list, &mut recipients).await?;
        }
        if self.mode.is_test() && recipients.distinct() > TEST_NUMBERS_PER_REQUEST {
            return Err(Error::TestLimitExceeded);
        }
        Ok(recipients)
    }

    /// The custom fields in a body that contacts of the account use.
    pub(super) async fn custom_names_in(&self, body: &str) -> Result<BTreeSet<String>, Error> {
        let names: Vec<String> = custom_names(body).into_iter().map(str::to_owned).collect();
        if names.is_empty() {
            return Ok(BTreeSet::new());
        }
        Ok(self.sms.store().custom_names_among(self.id, &names).await?)
    }

    /// Treats a number in `to` that belongs to a saved contact as that contact.
    async fn know_numbers(
        &self,
        request: &SendRequest,
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
        for contact in store.contacts_by_phone(self.id, &numbers).await? {
            recipients.know(contact);
        }
        Ok(())
    }

    async fn add_contacts(
        &self,
        ids: &[ContactId],
        recipients: &mut Recipients,
    ) -> Result<(), Error> {
        if ids.is_empty() {
            return Ok(());
        }
        let found = self.sms.store().contacts_by_id(self.id, ids).await?;
        let found: BTreeMap<ContactId, Contact> =
            found.into_iter().map(|contact| (contact.id, contact)).collect();
        for id in ids {
            let contact = found.get(id).ok_or_else(|| Error::UnknownReference {
                resource: "contact",
                id: id.to_string(),
            })?;
            recipients.add(contact.clone());
        }
        Ok(())
    }

    async fn add_list(&self, id: ListId, recipients: &mut Recipients) -> Result<(), Error> {
        let store = self.sms.store();
        let list = store
            .list_get(self.id, id)
            .await?
            .ok_or_else(|| Error::UnknownReference { resource: "list", id: id.to_string() })?;
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
        let mut after = None;
        loop {
            let portion = store.list_portion(self.id, id, after, PORTION).await?;
            let is_last = portion.len() < PORTION;
            after = portion.last().map(|contact| contact.id);
            for contact in portion {
                recipients.add(contact);
            }
            if is_last {
                return Ok(());
            }
        }
    }
}
