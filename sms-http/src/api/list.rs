//! `/lists`: groups of contacts.

use poem::web::Data;
use poem_openapi::param::Path;
use poem_openapi::{Object, OpenApi};
use sms_core::Sms;
use sms_core::list::join::JoinInput;
use sms_core::list::{ContactList, ListChange, ListInput, MAX_DESCRIPTION, MAX_NAME};
use sms_core::service::{AccountHandle, Caller};

use super::Tag;
use super::contact_shape::ContactShape;
use super::page::{CursorText, page_answer, page_request};
use super::path_id::path_id;
use crate::request_body;
use crate::web::body::Body;
use crate::web::envelope::{Answer, Created, NoContent, PageMeta};
use crate::web::error::ApiError;
use crate::web::field_error::{FieldErrors, checked};
use crate::web::moment::Moment;
use crate::web::param::{Limit, QueryParam};

request_body! {
/// A new list.
struct ListBody as "ListInput" {
    /// What you call it.
    required name: String = text().min(1).max(MAX_NAME);
    /// What it is for.
    optional description: String = text().max(MAX_DESCRIPTION);
}
}

request_body! {
/// Changes to a list; what is absent stays.
struct ListPatch as "ListPatch" {
    /// Another name.
    given name: String = text().min(1).max(MAX_NAME);
    /// Another description; null clears it.
    patch description: String = text().max(MAX_DESCRIPTION);
}
}

/// A list of contacts.
#[derive(Debug, Object)]
#[oai(rename = "List")]
struct ListShape {
    /// `lst_` and 26 characters.
    id: String,
    /// What you call it.
    name: String,
    /// What it is for.
    description: Option<String>,
    /// How many contacts are on it.
    contact_count: u64,
    /// When it was made.
    created_at: Moment,
    /// When you last changed its name or description.
    updated_at: Moment,
}

impl From<ContactList> for ListShape {
    fn from(list: ContactList) -> Self {
        let ContactList { id, account: _, name, description, contact_count, .. } = list;
        Self {
            id: id.to_string(),
            name,
            description,
            contact_count,
            created_at: list.created_at.into(),
            updated_at: list.updated_at.into(),
        }
    }
}

request_body! {
/// Who shall be on a list.
struct ListContacts as "ListContacts" {
    /// Contacts.
    optional contact_ids: Vec<String> = list(text());
    /// UK mobile numbers in any common format; those that are no contacts become some.
    optional phones: Vec<String> = list(text());
}
}

/// What became of it.
#[derive(Debug, Object)]
struct ListContactsAdded {
    /// How many contacts are on the list now that were not.
    added: u64,
    /// Ids of no contact, and numbers that are no UK mobile's, as given.
    invalid: Vec<String>,
}

/// The handlers of `/lists`.
#[derive(Debug)]
pub struct ListApi {
    sms: Sms,
}

impl ListApi {
    pub(super) fn new(sms: Sms) -> Self {
        Self { sms }
    }

    fn account(&self, caller: &Caller) -> AccountHandle {
        self.sms.account(caller.account, caller.mode)
    }
}

#[OpenApi(prefix_path = "/lists", tag = "Tag::Lists")]
impl ListApi {
    /// List lists
    ///
    /// Newest first.
    #[oai(path = "/", method = "get", operation_id = "list_list")]
    async fn list(
        &self,
        caller: Data<&Caller>,
        /// How many lists a page holds.
        limit: QueryParam<Limit>,
        /// The previous page's `meta.next_cursor`.
        cursor: QueryParam<Option<CursorText>>,
    ) -> Result<Answer<Vec<ListShape>, PageMeta>, ApiError> {
        let mut errors = FieldErrors::new();
        let page = page_request(limit, cursor, &mut errors);
        errors.finish()?;
        Ok(page_answer(self.account(&caller).list_list(page).await?))
    }

    /// Make a list
    ///
    /// Without contacts.
    #[oai(path = "/", method = "post", operation_id = "list_create")]
    async fn create(
        &self,
        caller: Data<&Caller>,
        body: Body<ListBody>,
    ) -> Result<Created<ListShape>, ApiError> {
        let mut errors = FieldErrors::new();
        let ListBody { name, description } = errors.take(body);
        let input = ListInput { name, description };
        errors.finish_with(|| input.check())?;
        Ok(Created::new(self.account(&caller).list_create(input).await?.into()))
    }

    /// Read a list
    ///
    /// Who is on it is read at `/lists/{id}/contacts`.
    #[oai(path = "/:id", method = "get", operation_id = "list_get")]
    async fn get(
        &self,
        caller: Data<&Caller>,
        /// The list's id.
        id: Path<String>,
    ) -> Result<Answer<ListShape>, ApiError> {
        Ok(Answer::new(self.account(&caller).list_get(path_id(&id)?).await?.into()))
    }

    /// Change a list
    ///
    /// What is absent stays.
    #[oai(path = "/:id", method = "patch", operation_id = "list_update")]
    async fn update(
        &self,
        caller: Data<&Caller>,
        /// The list's id.
        id: Path<String>,
        body: Body<ListPatch>,
    ) -> Result<Answer<ListShape>, ApiError> {
        let id = path_id(&id)?;
        let mut errors = FieldErrors::new();
        let ListPatch { name, description } = errors.take(body);
        let change = ListChange { name, description };
        errors.finish_with(|| change.check())?;
        Ok(Answer::new(self.account(&caller).list_update(id, change).await?.into()))
    }

    /// Delete a list
    ///
    /// Its contacts stay.
    #[oai(path = "/:id", method = "delete", operation_id = "list_delete")]
    async fn delete(
        &self,
        caller: Data<&Caller>,
        /// The list's id.
        id: Path<String>,
    ) -> Result<NoContent, ApiError> {
        self.account(&caller).list_delete(path_id(&id)?).await?;
        Ok(NoContent)
    }

    /// List the contacts of a list
    ///
    /// The newest contact first.
    #[oai(path = "/:id/contacts", method = "get", operation_id = "list_contacts")]
    async fn contacts(
        &self,
        caller: Data<&Caller>,
        /// The list's id.
        id: Path<String>,
        /// How many contacts a page holds.
        limit: QueryParam<Limit>,
        /// The previous page's `meta.next_cursor`.
        cursor: QueryParam<Option<CursorText>>,
    ) -> Result<Answer<Vec<ContactShape>, PageMeta>, ApiError> {
        let id = path_id(&id)?;
        let mut errors = FieldErrors::new();
        let page = page_request(limit, cursor, &mut errors);
        errors.finish()?;
        Ok(page_answer(self.account(&caller).list_contacts(id, page).await?))
    }

    /// Add contacts to a list
    ///
    /// By id or by number. What cannot be added is told in `invalid`.
    #[oai(path = "/:id/contacts", method = "post", operation_id = "list_add")]
    async fn add(
        &self,
        caller: Data<&Caller>,
        /// The list's id.
        id: Path<String>,
        body: Body<ListContacts>,
    ) -> Result<Answer<ListContactsAdded>, ApiError> {
        let id = path_id(&id)?;
        let ListContacts { contact_ids, phones } = checked(body)?;
        let input = JoinInput {
            contact_ids: contact_ids.unwrap_or_default(),
            phones: phones.unwrap_or_default(),
        };
        let joined = self.account(&caller).list_add(id, input).await?;
        let (added, invalid) = (joined.added as u64, joined.invalid);
        Ok(Answer::new(ListContactsAdded { added, invalid }))
    }

    /// Take a contact off a list
    ///
    /// The contact stays. One that is not on the list stays so.
    #[oai(path = "/:id/contacts/:contact_id", method = "delete", operation_id = "list_remove")]
    async fn remove(
        &self,
        caller: Data<&Caller>,
        /// The list's id.
        id: Path<String>,
        /// The contact's id.
        contact_id: Path<String>,
    ) -> Result<NoContent, ApiError> {
        let (list, contact) = (path_id(&id)?, path_id(&contact_id)?);
        self.account(&caller).list_remove(list, contact).await?;
        Ok(NoContent)
    }
}
