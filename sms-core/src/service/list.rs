//! An account's lists of contacts.

use super::AccountHandle;
use crate::contact::{Contact, ContactFilter};
use crate::error::{Error, FieldError};
use crate::ids::{ContactId, ListId};
use crate::list::join::{JoinInput, JoinPlan};
use crate::list::{ContactList, ListChange, ListInput, MAX_DESCRIPTION, MAX_NAME};
use crate::page::{Page, PageRequest};
use crate::phone::parse_uk_mobile;
use crate::text::is_blank;

/// What came of [`list_add`](AccountHandle::list_add).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListJoined {
    /// How many contacts are on the list now that were not.
    pub added: usize,
    /// What could not be added, as given: ids of no contact, then numbers that cannot be texted.
    pub invalid: Vec<String>,
}

impl AccountHandle {
    /// Makes a list.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] with every bad field.
    pub async fn list_create(&self, input: ListInput) -> Result<ContactList, Error> {
        check(Some(&input.name), input.description.as_deref())?;
        let at = self.sms.now();
        let list = input.into_list(self.sms.ids(at).next(), self.id, at);
        self.sms.store().list_create(list.clone()).await?;
        Ok(list)
    }

    /// One list.
    pub async fn list_get(&self, id: ListId) -> Result<ContactList, Error> {
        let found = self.sms.store().list_get(self.id, id).await?;
        found.ok_or(Error::NotFound("list"))
    }

    /// A page of lists, newest first.
    pub async fn list_list(&self, page: PageRequest) -> Result<Page<ContactList>, Error> {
        Ok(self.sms.store().list_list(self.id, page).await?)
    }

    /// Changes the name or the description of a list.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] with every bad field.
    pub async fn list_update(&self, id: ListId, change: ListChange) -> Result<ContactList, Error> {
        let description = change.description.as_ref().and_then(Option::as_deref);
        check(change.name.as_deref(), description)?;
        let updated = self.sms.store().list_update(self.id, id, change, self.sms.now()).await?;
        updated.ok_or(Error::NotFound("list"))
    }

    /// Removes a list; its contacts stay.
    pub async fn list_delete(&self, id: ListId) -> Result<(), Error> {
        let deleted = self.sms.store().list_delete(self.id, id).await?;
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
        Ok(self.sms.store().contact_list(self.id, &filter, page).await?)
    }

    /// Puts contacts on a list; a number that is no contact yet becomes one.
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

    /// Takes a contact off a list. One that is not on it stays so.
    pub async fn list_remove(&self, id: ListId, contact: ContactId) -> Result<(), Error> {
        self.list_get(id).await?;
        self.contact_get(contact).await?;
        self.sms.store().list_leave(self.id, id, contact).await?;
        Ok(())
    }
}

/// The rules of a list's texts, of those that are given.
fn check(name: Option<&str>, description: Option<&str>) -> Result<(), Error> {
    let mut errors = Vec::new();
    if name.is_some_and(is_blank) {
        errors.push(FieldError::new("name", "empty", "name must not be empty"));
    }
    for (field, most, text) in
        [("name", MAX_NAME, name), ("description", MAX_DESCRIPTION, description)]
    {
        let Some(text) = text else { continue };
        if text.contains('\0') {
            let message = format!("{field} must not hold the character U+0000");
            errors.push(FieldError::new(field, "invalid_character", message));
        } else if text.chars().count() > most {
            let message = format!("{field} holds at most {most} characters");
            errors.push(FieldError::new(field, "too_long", message));
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(Error::Invalid(errors)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lists_texts_have_limits() {
        let codes = |name: &str, description: &str| match check(Some(name), Some(description)) {
            Err(Error::Invalid(errors)) => errors.into_iter().map(|error| error.code).collect(),
            other => {
                assert!(other.is_ok());
                Vec::new()
            }
        };
        assert_eq!(codes(&"é".repeat(100), &"é".repeat(500)), [""; 0]);
        assert_eq!(codes(&"é".repeat(101), &"é".repeat(501)), ["too_long", "too_long"]);
        assert_eq!(codes(" ", ""), ["empty"]);
        assert_eq!(codes("a\0b", "a\0b"), ["invalid_character", "invalid_character"]);
    }
}
