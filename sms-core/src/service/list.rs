//! An account's lists of contacts.

use super::account::AccountHandle;
use super::keyed::{Keyed, made};
use super::reading::Read;
use crate::contact::filter::ContactFilter;
use crate::contact::saved::Contact;
use crate::error::Error;
use crate::field_error::FieldError;
use crate::idempotency::{Born, Made};
use crate::ids::{ContactId, ListId};
use crate::list::join::{JoinInput, JoinPlan};
use crate::list::{ContactList, ListChange, ListInput};
use crate::page::{Page, PageRequest};
use crate::phone::parse_uk_mobile;
use crate::version::IfVersion;

/// The result of [`list_add`](AccountHandle::list_add).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListJoined {
    /// How many contacts were added that were not on the list before.
    pub added: usize,
    /// Entries that could not be added, as given: unknown contact ids, then invalid numbers.
    pub invalid: Vec<String>,
}

impl AccountHandle {
    /// Creates a list.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] with every bad field.
    pub async fn list_create(&self, input: ListInput) -> Result<ContactList, Error> {
        Ok(self.keyed(None).list_create(input).await?.value)
    }

    /// One list of the account; [`Error::NotFound`] if there is none.
    pub async fn list_get(&self, id: ListId) -> Result<ContactList, Error> {
        let found = self.sms.store().list_get(self.id, id).await?;
        found.ok_or(Error::NotFound("list"))
    }

    /// A page of lists, newest first.
    pub async fn list_list(&self, page: PageRequest) -> Result<Page<ContactList>, Error> {
        let _turn = self.read_turn(Read::Page).await;
        Ok(self.sms.store().list_list(self.id, page).await?)
    }

    /// Changes the name or the description of a list.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] with every bad field.
    pub async fn list_update(&self, id: ListId, change: ListChange) -> Result<ContactList, Error> {
        valid(change.check())?;
        let updated = self.sms.store().list_update(self.id, id, change, self.sms.now()).await?;
        updated.ok_or(Error::NotFound("list"))
    }

    /// Deletes a list; its contacts stay.
    pub async fn list_delete(&self, id: ListId) -> Result<(), Error> {
        self.list_delete_if(id, IfVersion::Any).await
    }

    /// Deletes a list if it has this version, or one of these.
    ///
    /// # Errors
    ///
    /// [`Error::PreconditionFailed`] if it has another version.
    pub async fn list_delete_if(
        &self,
        id: ListId,
        version: impl Into<IfVersion>,
    ) -> Result<(), Error> {
        let deleted = self.sms.store().list_delete(self.id, id, version.into()).await?;
        if deleted { Ok(()) } else { Err(Error::NotFound("list")) }
    }

    /// A page of the contacts on a list, newest first.
    pub async fn list_contacts(
        &self,
        id: ListId,
        page: PageRequest,
    ) -> Result<Page<Contact>, Error> {
        self.list_get(id).await?;
        let filter = ContactFilter { list_id: Some(id), search: None };
        let _turn = self.read_turn(Read::Page).await;
        Ok(self.sms.store().contact_list(self.id, &filter, page).await?)
    }

    /// Adds contacts to a list. A number that is not a contact yet becomes one.
    pub async fn list_add(&self, id: ListId, input: JoinInput) -> Result<ListJoined, Error> {
        self.list_get(id).await?;
        let at = self.sms.now();
        let plan = JoinPlan {
            account: self.id,
            list: id,
            contacts: input.contact_ids.iter().filter_map(|text| text.parse().ok()).collect(),
            phones: input.phones.iter().filter_map(|text| parse_uk_mobile(text).ok()).collect(),
            ids: self.sms.ids(at),
            at,
        };
        let joined = self.sms.store().list_join(plan).await?;
        let is_unknown =
            |text: &String| text.parse().map_or(true, |id| joined.unknown.contains(&id));
        let contacts = input.contact_ids.into_iter().filter(is_unknown);
        let phones = input.phones.into_iter().filter(|text| parse_uk_mobile(text).is_err());
        Ok(ListJoined { added: joined.added, invalid: contacts.chain(phones).collect() })
    }

    /// Removes a contact from a list. A contact that is not on the list changes nothing.
    pub async fn list_remove(&self, id: ListId, contact: ContactId) -> Result<(), Error> {
        self.list_get(id).await?;
        self.contact_get(contact).await?;
        self.sms.store().list_leave(self.id, id, contact).await?;
        Ok(())
    }
}

impl Keyed<AccountHandle> {
    /// [`AccountHandle::list_create`], once for the key.
    pub async fn list_create(&self, input: ListInput) -> Result<Made<ContactList>, Error> {
        valid(input.check())?;
        let claim = self.claim("list_create", |fields| input.meaning(fields));
        let claim = claim.as_ref();
        let AccountHandle { sms, id: account, mode: _ } = &self.handle;
        let again = |born: Born<_>| input.clone().into_list(born.id, *account, born.at);
        if let Some(born) = self.earlier::<ContactList>(claim).await? {
            return Ok(Made::again(again(born)));
        }
        let at = sms.now();
        let list = again(Born { id: sms.ids(at).next(), at });
        made(sms.store().list_create(list, claim).await?, claim, again)
    }
}

fn valid(errors: Vec<FieldError>) -> Result<(), Error> {
    if errors.is_empty() { Ok(()) } else { Err(Error::Invalid(errors)) }
}
