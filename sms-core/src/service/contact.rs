//! An account's contacts.

use super::account::AccountHandle;
use super::keyed::{Keyed, made};
use super::reading::Read;
use crate::contact::book::{CreatePlan, KeptContact, RemovePlan, UpdatePlan};
use crate::contact::filter::ContactFilter;
use crate::contact::import::{ImportPlan, ImportRow, Imported, MAX_ROWS};
use crate::contact::import_kept;
use crate::contact::input::{CheckedContact, ContactInput, ContactPatch};
use crate::contact::saved::Contact;
use crate::contact::store::{ContactsWanted, CustomNamesWanted};
use crate::error::Error;
use crate::idempotency::Made;
use crate::ids::{ContactId, ListId};
use crate::page::{Page, PageRequest};
use crate::phone::E164;
use crate::version::IfVersion;

/// A contact and its lists.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ContactWithLists {
    /// The contact as it is now.
    pub contact: Contact,
    /// The ids of its lists, newest first.
    pub lists: Vec<ListId>,
}

impl AccountHandle {
    /// Creates a contact.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] with every bad field; [`Error::ContactExists`] if a contact already has
    /// the number.
    pub async fn contact_create(&self, input: ContactInput) -> Result<Contact, Error> {
        Ok(self.keyed(None).contact_create(input).await?.value)
    }

    /// One contact, with the lists that it is on, newest list first.
    pub async fn contact_get(&self, id: ContactId) -> Result<ContactWithLists, Error> {
        let found = self.sms.store().contact_get(self.id, id).await?;
        let (contact, lists) = found.ok_or(Error::NotFound("contact"))?;
        Ok(ContactWithLists { contact, lists })
    }

    /// The contacts with these numbers, in any order. Numbers that are no contact's are left out.
    pub async fn contacts_by_phone(&self, numbers: &[E164]) -> Result<Vec<Contact>, Error> {
        if numbers.is_empty() {
            return Ok(Vec::new());
        }
        Ok(self.sms.store().contacts_among(self.id, ContactsWanted::Phones(numbers)).await?)
    }

    /// A page of contacts, newest first.
    pub async fn contact_list(
        &self,
        filter: &ContactFilter,
        page: PageRequest,
    ) -> Result<Page<Contact>, Error> {
        let store = self.sms.store();
        let list = |page| store.contact_list(self.id, filter, page);
        self.read_page(Read::that(filter.looks_through()), page, list).await
    }

    /// Changes a contact.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] with every bad field; [`Error::ContactExists`] if another contact has the
    /// new number.
    pub async fn contact_update(
        &self,
        id: ContactId,
        patch: ContactPatch,
    ) -> Result<Contact, Error> {
        let change = patch.checked().map_err(Error::Invalid)?;
        let plan = UpdatePlan { account: self.id, id, change, at: self.sms.now() };
        Ok(self.sms.store().contact_update(plan).await?)
    }

    /// Deletes a contact, also from every list.
    pub async fn contact_delete(&self, id: ContactId) -> Result<(), Error> {
        self.contact_delete_if(id, IfVersion::Any).await
    }

    /// Deletes a contact if it has this version, or one of these.
    ///
    /// # Errors
    ///
    /// [`Error::PreconditionFailed`] if it has another version.
    pub async fn contact_delete_if(
        &self,
        id: ContactId,
        version: impl Into<IfVersion>,
    ) -> Result<(), Error> {
        let plan = RemovePlan { account: self.id, id, if_version: version.into() };
        Ok(self.sms.store().contact_delete(plan).await?)
    }

    /// Creates and changes many contacts, and adds them to a list if one is named. A row that
    /// breaks a rule is reported by its position and does not affect the others.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] for more than [`MAX_ROWS`] rows; [`Error::UnknownReference`] for the
    /// list.
    pub async fn contacts_import(
        &self,
        rows: Vec<ContactInput>,
        list: Option<ListId>,
    ) -> Result<Imported, Error> {
        Ok(self.keyed(None).contacts_import(rows, list).await?.value)
    }

    /// The names of custom fields that contacts use, sorted.
    pub async fn contact_fields(&self) -> Result<Vec<String>, Error> {
        let _turn = self.read_turn(Read::Page).await;
        let names = self.sms.store().custom_names(self.id, CustomNamesWanted::All).await?;
        Ok(names.into_iter().collect())
    }
}

impl Keyed<AccountHandle> {
    /// [`AccountHandle::contact_create`], once for the key.
    pub async fn contact_create(&self, input: ContactInput) -> Result<Made<Contact>, Error> {
        let CheckedContact { phone, details } = input.checked().map_err(Error::Invalid)?;
        let claim = self.claim("contact_create", |fields| {
            fields.add("phone", [phone.to_string()]);
            fields.add("details", [details.meaning()]);
        });
        let claim = claim.as_ref();
        let AccountHandle { sms, id: account, mode: _ } = &self.handle;
        let again = |kept: KeptContact| kept.contact(*account, phone, details.clone());
        if let Some(kept) = self.earlier::<Contact>(claim).await? {
            return Ok(Made::again(again(kept)));
        }
        let at = sms.now();
        let id = sms.ids(at).next();
        let plan = CreatePlan { account: *account, id, phone, details: details.clone(), at };
        made(sms.store().contact_create(plan, claim).await?, claim, again)
    }

    /// [`AccountHandle::contacts_import`], once for the key.
    pub async fn contacts_import(
        &self,
        rows: Vec<ContactInput>,
        list: Option<ListId>,
    ) -> Result<Made<Imported>, Error> {
        if rows.len() > MAX_ROWS {
            let message = format!("rows must have at most {MAX_ROWS} contacts");
            return Err(Error::invalid("rows", "too_many", message));
        }
        let rows: Vec<ImportRow> = rows.into_iter().map(ImportRow::of).collect();
        let claim = self.claim("contact_import", |fields| {
            import_kept::meaning(&rows, fields);
            fields.add("list", list.map(|id| id.to_string()));
        });
        let claim = claim.as_ref();
        if let Some(kept) = self.earlier::<Imported>(claim).await? {
            return Ok(Made::again(kept.imported(&rows)));
        }
        let AccountHandle { sms, id: account, mode: _ } = &self.handle;
        let at = sms.now();
        // Only a request with a key may need its rows again.
        let again = claim.map(|_| rows.clone()).unwrap_or_default();
        let plan = ImportPlan { account: *account, rows, list, ids: sms.ids(at), at };
        made(sms.store().contacts_import(plan, claim).await?, claim, |kept| kept.imported(&again))
    }
}
