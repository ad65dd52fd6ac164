//! `/keywords`: words that trigger a reply and add the sender to a list.

use poem::web::Data;
use poem_openapi::{Object, OpenApi};
use sms_core::Sms;
use sms_core::keyword::save::{KeywordInput as CoreInput, KeywordPatch as CorePatch};
use sms_core::keyword::{Keyword, Listening, MAX_REPLY, MAX_WORD, Word};
use sms_core::message::Body as Words;
use sms_core::service::{AccountHandle, Caller};

use super::page::{CursorText, page_answer, page_request};
use super::path_id::path_id;
use super::tag::Tag;
use crate::api::idempotency::KeyHeader;
use crate::api::version::{created, if_version, shown};
use crate::failure::{Changed, Conflict, ConflictOrChanged};
use crate::request_body;
use crate::web::body::Body;
use crate::web::entity_tag::{IfMatch, Tagged};
use crate::web::envelope::{Answer, CreatedOrNot, NoContent, PageMeta, ReplayMeta};
use crate::web::error::ApiError;
use crate::web::failing::Failing;
use crate::web::field_error::{FieldCode, FieldErrors, checked};
use crate::web::fields::text::{Mistake, Text, text};
use crate::web::moment::Moment;
use crate::web::param::{HeaderParam, Limit, QueryParam};
use crate::web::path_param::PathParam;

fn word() -> Text {
    text().min(1).max(MAX_WORD).pattern("^[A-Za-z0-9]*$").checked(check_word)
}

fn check_word(word: &str) -> Result<(), Mistake> {
    let parsed = word.parse::<Word>();
    parsed.map(|_| ()).map_err(|reason| (FieldCode::InvalidFormat.as_str(), reason.to_string()))
}

fn listening(enabled: bool) -> Listening {
    if enabled { Listening::On } else { Listening::Off }
}

request_body! {
    /// A new keyword.
    struct KeywordInput as "KeywordInput" {
        /// The word: letters and digits in any case. Words that opt out or in are reserved.
        required keyword: String = word(), example "PIZZA";
        /// The reply, with merge fields as in `POST /messages`; blank or null for no reply.
        optional reply: String = text().max(MAX_REPLY), example "Your code for half price: YUM";
        /// The list that senders are added to.
        optional add_to_list_id: String = text();
        /// Whether the keyword is active; true by default.
        optional enabled: bool = boolean(), example true;
    }
}

request_body! {
    /// Changes to a keyword. Absent fields stay as they are.
    struct KeywordPatch as "KeywordPatch" {
        /// A new word.
        given keyword: String = word();
        /// A new reply; blank or null for no reply.
        patch reply: String = text().max(MAX_REPLY);
        /// A different list; null for none.
        patch add_to_list_id: String = text();
        /// Whether the keyword is active.
        given enabled: bool = boolean();
    }
}

/// A keyword that people send to the account.
#[derive(Debug, Object)]
#[oai(rename = "Keyword")]
struct KeywordShape {
    /// `kw_` and 26 characters.
    id: String,
    /// The word, in upper case.
    keyword: String,
    /// The automatic reply; null if none is sent.
    reply: Option<String>,
    /// The list to which senders are added; null if there is none.
    add_to_list_id: Option<String>,
    /// Whether the keyword is active.
    enabled: bool,
    /// How many messages have matched.
    match_count: u64,
    /// When a message last matched; null if none has.
    last_matched_at: Option<Moment>,
    /// When it was created.
    created_at: Moment,
    /// When you last changed it.
    updated_at: Moment,
}

impl From<Keyword> for KeywordShape {
    fn from(keyword: Keyword) -> Self {
        Self {
            id: keyword.id.to_string(),
            keyword: keyword.word.to_string(),
            reply: keyword.reply.as_ref().map(Words::as_str).map(str::to_owned),
            add_to_list_id: keyword.add_to_list_id.map(|id| id.to_string()),
            enabled: keyword.listening == Listening::On,
            match_count: keyword.match_count,
            last_matched_at: keyword.last_matched_at.map(Into::into),
            created_at: keyword.created_at.into(),
            updated_at: keyword.updated_at.into(),
        }
    }
}

/// The handlers of `/keywords`.
#[derive(Debug)]
pub struct KeywordApi {
    sms: Sms,
}

impl KeywordApi {
    pub(super) fn new(sms: Sms) -> Self {
        Self { sms }
    }

    fn account(&self, caller: &Caller) -> AccountHandle {
        self.sms.account(caller.account, caller.mode)
    }
}

#[OpenApi(prefix_path = "/keywords", tag = "Tag::Keywords")]
impl KeywordApi {
    /// List keywords
    ///
    /// Newest first.
    #[oai(path = "/", method = "get", operation_id = "keyword_list")]
    async fn list(
        &self,
        caller: Data<&Caller>,
        /// The most keywords per page.
        limit: QueryParam<Limit>,
        /// `meta.next_cursor` of the previous page.
        cursor: QueryParam<Option<CursorText>>,
    ) -> Result<Answer<Vec<KeywordShape>, PageMeta>, ApiError> {
        let mut errors = FieldErrors::new();
        let page = page_request(limit, cursor, &mut errors);
        errors.finish()?;
        Ok(page_answer(self.account(&caller).keyword_list(page).await?))
    }

    /// Create a keyword
    ///
    /// An inbound message matches if its first word is the keyword, whatever its case and
    /// punctuation. Its sender becomes a contact, is added to the list, and gets the reply from the
    /// number that received the message.
    #[oai(path = "/", method = "post", operation_id = "keyword_create")]
    async fn create(
        &self,
        caller: Data<&Caller>,
        /// Identifies retries of the same request, for 7 days.
        #[oai(name = "Idempotency-Key")]
        key: HeaderParam<KeyHeader>,
        body: Body<KeywordInput>,
    ) -> Result<Tagged<CreatedOrNot<KeywordShape, Option<ReplayMeta>>>, Failing<Conflict>> {
        let (KeyHeader(key), body) = checked((key, body))?;
        let KeywordInput { keyword, reply, add_to_list_id, enabled } = body;
        let listening = enabled.map_or(Listening::On, listening);
        let mut input = CoreInput::new(keyword).listening(listening);
        (input.reply, input.add_to_list_id) = (reply, add_to_list_id);
        Ok(created(self.account(&caller).keyed(key).keyword_create(input).await?))
    }

    /// Read a keyword
    ///
    /// Its reply, and how often people have sent it.
    #[oai(path = "/:id", method = "get", operation_id = "keyword_get")]
    async fn get(
        &self,
        caller: Data<&Caller>,
        /// The keyword's id.
        id: PathParam,
    ) -> Result<Tagged<Answer<KeywordShape>>, ApiError> {
        Ok(shown(self.account(&caller).keyword_get(path_id(&id)?).await?))
    }

    /// Change a keyword
    ///
    /// Absent fields stay as they are, and so does the count of matches.
    #[oai(path = "/:id", method = "patch", operation_id = "keyword_update")]
    async fn update(
        &self,
        caller: Data<&Caller>,
        /// The keyword's id.
        id: PathParam,
        /// Changes only the version of the keyword with this `ETag`, or one of these; else 412.
        #[oai(name = "If-Match")]
        if_match: HeaderParam<IfMatch>,
        body: Body<KeywordPatch>,
    ) -> Result<Tagged<Answer<KeywordShape>>, Failing<ConflictOrChanged>> {
        let id = path_id(&id)?;
        let (if_match, body) = checked((if_match, body))?;
        let KeywordPatch { keyword, reply, add_to_list_id, enabled } = body;
        let mut patch = CorePatch::default().if_version(if_version(if_match));
        (patch.keyword, patch.reply) = (keyword, reply);
        (patch.add_to_list_id, patch.listening) = (add_to_list_id, enabled.map(listening));
        Ok(shown(self.account(&caller).keyword_update(id, patch).await?))
    }

    /// Delete a keyword
    ///
    /// Contacts that it created, and its replies, stay.
    #[oai(path = "/:id", method = "delete", operation_id = "keyword_delete")]
    async fn delete(
        &self,
        caller: Data<&Caller>,
        /// The keyword's id.
        id: PathParam,
        /// Deletes only the version of the keyword with this `ETag`, or one of these; else 412.
        #[oai(name = "If-Match")]
        if_match: HeaderParam<IfMatch>,
    ) -> Result<NoContent, Failing<Changed>> {
        let id = path_id(&id)?;
        let version = if_version(checked(if_match)?);
        self.account(&caller).keyword_delete_if(id, version).await?;
        Ok(NoContent)
    }
}
