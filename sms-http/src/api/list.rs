//! `/lists`: groups of contacts.

use poem::web::Data;
use poem_openapi::{Object, OpenApi};
use sms_core::Sms;
use sms_core::list::join::JoinInput;
use sms_core::list::{ContactList, ListChange, ListInput, MAX_DESCRIPTION, MAX_NAME};
use sms_core::service::{AccountHandle, Caller};

use super::contact_shape::ContactShape;
use super::page::{CursorText, page_answer, page_request};
use super::path_id::path_id;
use super::tag::Tag;
use crate::api::idempotency::KeyHeader;
use crate::api::version::{created, if_version, shown};
use crate::failure::{Changed, Conflict};
use crate::request_body;
use crate::web::body::Body;
use crate::web::entity_tag::{IfMatch, Tagged};
use crate::web::envelope::{Answer, CreatedOrNot, NoContent, PageMeta, ReplayMeta};
use crate::web::error::ApiError;
use crate::web::failing::Failing;
use crate::web::field_error::{FieldErrors, checked};
use crate::web::moment::Moment;
use crate::web::param::{HeaderParam, Limit, QueryParam};
use crate::web::path_param::PathParam;

request_body! {
    /// A new list.
    struct ListBody as "ListInput" {
        /// The name you give it.
        required name: String = text().min(1).max(MAX_NAME);
        /// The purpose.
        optional description: String = text().max(MAX_DESCRIPTION);
    }
}

request_body! {
    /// Changes to a list. Absent fields stay as they are.
    struct ListPatch as "ListPatch" {
        /// A new name.
        given name: String = text().min(1).max(MAX_NAME);
        /// A new description; null clears it.
        patch description: String = text().max(MAX_DESCRIPTION);
    }
}

/// A list of contacts.
#[derive(Debug, Object)]
#[oai(rename = "ContactList")]
struct ListShape {
    /// `lst_` and 26 characters.
    id: String,
    /// The name you give it.
    name: String,
    /// What the list is for; null if there is no description.
    description: Option<String>,
    /// How many contacts are on the list.
    contact_count: u64,
    /// When it was created.
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
    /// Contacts to add to a list.
    struct ListContacts as "ListContactsInput" {
        /// Ids of contacts.
        optional contact_ids: Vec<String> = list(text());
        /// UK mobile numbers in any common format. A number without a contact gets one.
        optional phones: Vec<String> = list(text());
    }
}

/// The result.
#[derive(Debug, Object)]
struct ListContactsAdded {
    /// How many contacts were added to the list.
    added: u64,
    /// Unknown contact ids and invalid numbers, as given.
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
        /// The most lists per page.
        limit: QueryParam<Limit>,
        /// `meta.next_cursor` of the previous page.
        cursor: QueryParam<Option<CursorText>>,
    ) -> Result<Answer<Vec<ListShape>, PageMeta>, ApiError> {
        let mut errors = FieldErrors::new();
        let page = page_request(limit, cursor, &mut errors);
        errors.finish()?;
        Ok(page_answer(self.account(&caller).list_list(page).await?))
    }

    /// Create a list
    ///
    /// The list is empty at first.
    #[oai(path = "/", method = "post", operation_id = "list_create")]
    async fn create(
        &self,
        caller: Data<&Caller>,
        /// Identifies retries of the same request, for 7 days.
        #[oai(name = "Idempotency-Key")]
        key: HeaderParam<KeyHeader>,
        body: Body<ListBody>,
    ) -> Result<Tagged<CreatedOrNot<ListShape, Option<ReplayMeta>>>, Failing<Conflict>> {
        let mut errors = FieldErrors::new();
        let KeyHeader(key) = errors.take(key);
        let ListBody { name, description } = errors.take(body);
        let mut input = ListInput::new(name);
        input.description = description;
        errors.finish_with(|| input.check())?;
        Ok(created(self.account(&caller).keyed(key).list_create(input).await?))
    }

    /// Read a list
    ///
    /// Its contacts are at `/lists/{id}/contacts`.
    #[oai(path = "/:id", method = "get", operation_id = "list_get")]
    async fn get(
        &self,
        caller: Data<&Caller>,
        /// The list's id.
        id: PathParam,
    ) -> Result<Tagged<Answer<ListShape>>, ApiError> {
        Ok(shown(self.account(&caller).list_get(path_id(&id)?).await?))
    }

    /// Change a list
    ///
    /// Absent fields stay as they are.
    #[oai(path = "/:id", method = "patch", operation_id = "list_update")]
    async fn update(
        &self,
        caller: Data<&Caller>,
        /// The list's id.
        id: PathParam,
        /// Changes only the version of the list with this `ETag`, or one of these; else 412.
        #[oai(name = "If-Match")]
        if_match: HeaderParam<IfMatch>,
        body: Body<ListPatch>,
    ) -> Result<Tagged<Answer<ListShape>>, Failing<Changed>> {
        let id = path_id(&id)?;
        let mut errors = FieldErrors::new();
        let if_version = if_version(errors.take(if_match));
        let ListPatch { name, description } = errors.take(body);
        let change = ListChange { name, description, if_version };
        errors.finish_with(|| change.check())?;
        Ok(shown(self.account(&caller).list_update(id, change).await?))
    }

    /// Delete a list
    ///
    /// Its contacts stay.
    #[oai(path = "/:id", method = "delete", operation_id = "list_delete")]
    async fn delete(
        &self,
        caller: Data<&Caller>,
        /// The list's id.
        id: PathParam,
        /// Deletes only the version of the list with this `ETag`, or one of these; else 412.
        #[oai(name = "If-Match")]
        if_match: HeaderParam<IfMatch>,
    ) -> Result<NoContent, Failing<Changed>> {
        let id = path_id(&id)?;
        let version = if_version(checked(if_match)?);
        self.account(&caller).list_delete_if(id, version).await?;
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
        id: PathParam,
        /// The most contacts per page.
        limit: QueryParam<Limit>,
        /// `meta.next_cursor` of the previous page.
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
    /// By id or by number. `invalid` lists what could not be added.
    #[oai(path = "/:id/contacts", method = "post", operation_id = "list_add")]
    async fn add(
        &self,
        caller: Data<&Caller>,
        /// The list's id.
        id: PathParam,
        body: Body<ListContacts>,
    ) -> Result<Answer<ListContactsAdded>, ApiError> {
        let id = path_id(&id)?;
        let ListContacts { contact_ids, phones } = checked(body)?;
        let input = JoinInput::default()
            .contact_ids(contact_ids.unwrap_or_default())
            .phones(phones.unwrap_or_default());
        let joined = self.account(&caller).list_add(id, input).await?;
        let (added, invalid) = (joined.added as u64, joined.invalid);
        Ok(Answer::new(ListContactsAdded { added, invalid }))
    }

    /// Remove a contact from a list
    ///
    /// The contact itself stays. Removing one that is not on the list changes nothing.
    #[oai(path = "/:id/contacts/:contact_id", method = "delete", operation_id = "list_remove")]
    async fn remove(
        &self,
        caller: Data<&Caller>,
        /// The list's id.
        id: PathParam,
        /// The contact's id.
        contact_id: PathParam,
    ) -> Result<NoContent, ApiError> {
        let (list, contact) = (path_id(&id)?, path_id(&contact_id)?);
        self.account(&caller).list_remove(list, contact).await?;
        Ok(NoContent)
    }
}
