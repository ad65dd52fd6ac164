//! `/templates`: message bodies saved under a name.

use poem::web::Data;
use poem_openapi::{Object, OpenApi};
use sms_core::Sms;
use sms_core::message::Body as Words;
use sms_core::service::{AccountHandle, Caller};
use sms_core::template::{
    BODY_CHARACTERS, NAME_CHARACTERS, Template, TemplateChange, TemplateInput as CoreInput,
};

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
use crate::web::fields;
use crate::web::moment::Moment;
use crate::web::param::{HeaderParam, Limit, QueryParam, Text};
use crate::web::path_param::PathParam;

fn name() -> fields::text::Text {
    fields::text().min(*NAME_CHARACTERS.start()).max(*NAME_CHARACTERS.end())
}

fn body() -> fields::text::Text {
    fields::text().min(*BODY_CHARACTERS.start()).max(*BODY_CHARACTERS.end())
}

request_body! {
    /// A new template.
    struct TemplateInput as "TemplateInput" {
        /// The name you give it.
        required name: String = name(), example "Table ready";
        /// The text, with merge fields as in `POST /messages`.
        required body: String = body(), example "Hello {first_name}, your table is ready";
    }
}

request_body! {
    /// Changes to a template. Absent fields stay as they are.
    struct TemplatePatch as "TemplatePatch" {
        /// The new name.
        given name: String = name();
        /// The new text.
        given body: String = body();
    }
}

/// A saved text.
#[derive(Debug, Object)]
#[oai(rename = "Template")]
struct TemplateShape {
    /// `tpl_` and 26 characters.
    id: String,
    /// The name you give it.
    name: String,
    /// The text.
    body: String,
    /// When it was created.
    created_at: Moment,
    /// When you last changed it.
    updated_at: Moment,
}

impl From<Template> for TemplateShape {
    fn from(template: Template) -> Self {
        Self {
            id: template.id.to_string(),
            name: template.name,
            body: template.body.as_str().to_owned(),
            created_at: template.created_at.into(),
            updated_at: template.updated_at.into(),
        }
    }
}

/// The handlers of `/templates`.
#[derive(Debug)]
pub struct TemplateApi {
    sms: Sms,
}

impl TemplateApi {
    pub(super) fn new(sms: Sms) -> Self {
        Self { sms }
    }

    fn account(&self, caller: &Caller) -> AccountHandle {
        self.sms.account(caller.account, caller.mode)
    }
}

#[OpenApi(prefix_path = "/templates", tag = "Tag::Templates")]
impl TemplateApi {
    /// List templates
    ///
    /// Newest first; with `q`, only templates that contain its words in name or body.
    #[oai(path = "/", method = "get", operation_id = "template_list")]
    async fn list(
        &self,
        caller: Data<&Caller>,
        /// The most templates per page.
        limit: QueryParam<Limit>,
        /// `meta.next_cursor` of the previous page.
        cursor: QueryParam<Option<CursorText>>,
        /// Words to find in name or body, in any case. A search among many may end a page early,
        /// even without items: go on while `next_cursor` is not null.
        q: QueryParam<Option<Text<200>>>,
    ) -> Result<Answer<Vec<TemplateShape>, PageMeta>, ApiError> {
        let mut errors = FieldErrors::new();
        let page = page_request(limit, cursor, &mut errors);
        let q = errors.take(q).map(|text| text.0);
        errors.finish()?;
        Ok(page_answer(self.account(&caller).template_list(q.as_deref(), page).await?))
    }

    /// Create a template
    ///
    /// Name it in `template_id` to send its body.
    #[oai(path = "/", method = "post", operation_id = "template_create")]
    async fn create(
        &self,
        caller: Data<&Caller>,
        /// Identifies retries of the same request, for 7 days.
        #[oai(name = "Idempotency-Key")]
        key: HeaderParam<KeyHeader>,
        body: Body<TemplateInput>,
    ) -> Result<Tagged<CreatedOrNot<TemplateShape, Option<ReplayMeta>>>, Failing<Conflict>> {
        let (KeyHeader(key), TemplateInput { name, body }) = checked((key, body))?;
        let input = CoreInput::new(name, body);
        Ok(created(self.account(&caller).keyed(key).template_create(input).await?))
    }

    /// Read a template
    ///
    /// Its name and its body.
    #[oai(path = "/:id", method = "get", operation_id = "template_get")]
    async fn get(
        &self,
        caller: Data<&Caller>,
        /// The template's id.
        id: PathParam,
    ) -> Result<Tagged<Answer<TemplateShape>>, ApiError> {
        Ok(shown(self.account(&caller).template_get(path_id(&id)?).await?))
    }

    /// Change a template
    ///
    /// Absent fields stay as they are, and so do messages already created from the template.
    #[oai(path = "/:id", method = "patch", operation_id = "template_update")]
    async fn update(
        &self,
        caller: Data<&Caller>,
        /// The template's id.
        id: PathParam,
        /// Changes only the version of the template with this `ETag`, or one of these; else 412.
        #[oai(name = "If-Match")]
        if_match: HeaderParam<IfMatch>,
        body: Body<TemplatePatch>,
    ) -> Result<Tagged<Answer<TemplateShape>>, Failing<Changed>> {
        let id = path_id(&id)?;
        let (if_match, TemplatePatch { name, body }) = checked((if_match, body))?;
        let (body, if_version) = (body.map(Words::new), if_version(if_match));
        let change = TemplateChange { name, body, if_version };
        Ok(shown(self.account(&caller).template_update(id, change).await?))
    }

    /// Delete a template
    ///
    /// Messages that were sent with it stay as they are.
    #[oai(path = "/:id", method = "delete", operation_id = "template_delete")]
    async fn delete(
        &self,
        caller: Data<&Caller>,
        /// The template's id.
        id: PathParam,
        /// Deletes only the version of the template with this `ETag`, or one of these; else 412.
        #[oai(name = "If-Match")]
        if_match: HeaderParam<IfMatch>,
    ) -> Result<NoContent, Failing<Changed>> {
        let id = path_id(&id)?;
        let version = if_version(checked(if_match)?);
        self.account(&caller).template_delete_if(id, version).await?;
        Ok(NoContent)
    }
}
