//! `/contacts`: the address book. Importing is in [`super::contact_import`].

use poem::web::Data;
use poem_openapi::OpenApi;
use sms_core::Sms;
use sms_core::contact::filter::ContactSearch;
use sms_core::contact::{ContactFilter, ContactInput, ContactPatch};
use sms_core::service::{AccountHandle, Caller};
use sms_core::version::Versioned;

use super::contact_shape::{ContactBody, ContactPatchBody, ContactShape, ContactWithLists};
use super::page::{CursorText, page_answer, page_request};
use super::path_id::path_id;
use super::tag::Tag;
use crate::api::idempotency::KeyHeader;
use crate::api::version::{created, if_version, shown};
use crate::failure::{Changed, Conflict, ConflictOrChanged};
use crate::web::body::Body;
use crate::web::entity_tag::{IfMatch, Tagged};
use crate::web::envelope::{Answer, CreatedOrNot, NoContent, PageMeta, ReplayMeta};
use crate::web::error::ApiError;
use crate::web::failing::Failing;
use crate::web::field_error::{FieldErrors, checked};
use crate::web::param::{HeaderParam, Limit, QueryParam, Text};
use crate::web::path_param::PathParam;

/// The handlers of `/contacts`, except the import.
#[derive(Debug)]
pub struct ContactApi {
    sms: Sms,
}

impl ContactApi {
    pub(super) fn new(sms: Sms) -> Self {
        Self { sms }
    }

    fn account(&self, caller: &Caller) -> AccountHandle {
        self.sms.account(caller.account, caller.mode)
    }
}

#[OpenApi(prefix_path = "/contacts", tag = "Tag::Contacts")]
impl ContactApi {
    /// List contacts
    ///
    /// Newest first.
    #[oai(path = "/", method = "get", operation_id = "contact_list")]
    async fn list(
        &self,
        caller: Data<&Caller>,
        /// The most contacts per page.
        limit: QueryParam<Limit>,
        /// `meta.next_cursor` of the previous page.
        cursor: QueryParam<Option<CursorText>>,
        /// A phone number or part of one in any format, or text to find in names and email
        /// addresses. A search among many may end a page early, even without items: go on while
        /// `next_cursor` is not null.
        q: QueryParam<Option<Text<200>>>,
        /// Only contacts on this list.
        list_id: QueryParam<Option<Text<200>>>,
    ) -> Result<Answer<Vec<ContactShape>, PageMeta>, ApiError> {
        let mut errors = FieldErrors::new();
        let page = page_request(limit, cursor, &mut errors);
        let q = errors.take(q);
        let list_id = errors.take(list_id);
        errors.finish()?;
        let Ok(list_id) = list_id.map(|text| text.0.parse()).transpose() else {
            // A malformed id names no list, so no contact matches.
            return Ok(Answer::page(Vec::new(), None));
        };
        let search = q.and_then(|text| ContactSearch::parse(&text.0));
        let filter = ContactFilter { list_id, search };
        Ok(page_answer(self.account(&caller).contact_list(&filter, page).await?))
    }

    /// Create a contact
    ///
    /// 409 `contact_exists` if a contact has the number.
    #[oai(path = "/", method = "post", operation_id = "contact_create")]
    async fn create(
        &self,
        caller: Data<&Caller>,
        /// Identifies retries of the same request, for 7 days.
        #[oai(name = "Idempotency-Key")]
        key: HeaderParam<KeyHeader>,
        body: Body<ContactBody>,
    ) -> Result<Tagged<CreatedOrNot<ContactShape, Option<ReplayMeta>>>, Failing<Conflict>> {
        let mut errors = FieldErrors::new();
        let KeyHeader(key) = errors.take(key);
        let input = ContactInput::from(errors.take(body));
        errors.extend(input.checked().err().unwrap_or_default());
        errors.finish()?;
        Ok(created(self.account(&caller).keyed(key).contact_create(input).await?))
    }

    /// List custom fields
    ///
    /// The names in use, sorted: at most 1,000. Each is a merge field in messages.
    #[oai(path = "/fields", method = "get", operation_id = "contact_fields")]
    async fn fields(&self, caller: Data<&Caller>) -> Result<Answer<Vec<String>>, ApiError> {
        Ok(Answer::new(self.account(&caller).contact_fields().await?))
    }

    /// Read a contact
    ///
    /// With the ids of its lists.
    #[oai(path = "/:id", method = "get", operation_id = "contact_get")]
    async fn get(
        &self,
        caller: Data<&Caller>,
        /// The contact's id.
        id: PathParam,
    ) -> Result<Tagged<Answer<ContactWithLists>>, ApiError> {
        let found = self.account(&caller).contact_get(path_id(&id)?).await?;
        let tag = found.contact.version().to_string();
        Ok(Tagged::new(tag, Answer::new((found.contact, found.lists).into())))
    }

    /// Change a contact
    ///
    /// Absent fields stay as they are. 409 `contact_exists` if another contact has the new number.
    #[oai(path = "/:id", method = "patch", operation_id = "contact_update")]
    async fn update(
        &self,
        caller: Data<&Caller>,
        /// The contact's id.
        id: PathParam,
        /// Changes only the version of the contact with this `ETag`, or one of these; else 412.
        #[oai(name = "If-Match")]
        if_match: HeaderParam<IfMatch>,
        body: Body<ContactPatchBody>,
    ) -> Result<Tagged<Answer<ContactShape>>, Failing<ConflictOrChanged>> {
        let id = path_id(&id)?;
        let mut errors = FieldErrors::new();
        let if_version = if_version(errors.take(if_match));
        let patch = ContactPatch::from(errors.take(body)).if_version(if_version);
        errors.extend(patch.clone().checked().err().unwrap_or_default());
        errors.finish()?;
        Ok(shown(self.account(&caller).contact_update(id, patch).await?))
    }

    /// Delete a contact
    ///
    /// Removes the contact from every list. Its messages stay.
    #[oai(path = "/:id", method = "delete", operation_id = "contact_delete")]
    async fn delete(
        &self,
        caller: Data<&Caller>,
        /// The contact's id.
        id: PathParam,
        /// Deletes only the version of the contact with this `ETag`, or one of these; else 412.
        #[oai(name = "If-Match")]
        if_match: HeaderParam<IfMatch>,
    ) -> Result<NoContent, Failing<Changed>> {
        let id = path_id(&id)?;
        let version = if_version(checked(if_match)?);
        self.account(&caller).contact_delete_if(id, version).await?;
        Ok(NoContent)
    }
}
