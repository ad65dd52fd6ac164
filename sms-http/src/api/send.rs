//! `POST /messages` and `POST /messages/quote`: the same plan, committed or only shown.

use std::borrow::Cow;

use chrono::{DateTime, Utc};
use poem::web::Data;
use poem_openapi::registry::{MetaSchemaRef, Registry};
use poem_openapi::types::{ParseError, ParseFromJSON, ParseResult, ToJSON, Type};
use poem_openapi::{Object, OpenApi};
use serde::Serialize;
use serde_json::Value;
use sms_core::Sms;
use sms_core::credits::Credits;
use sms_core::dispatch::Lane;
use sms_core::ids::{BatchId, Id, Kind};
use sms_core::message::Message;
use sms_core::sending::request::MAX_CLIENT_REF;
use sms_core::sending::settle::Replay;
use sms_core::sending::{
    BlankField, FieldGaps, Quote, Rejection, RejectionReason, SendRequest, Sent,
};
use sms_core::service::Caller;
use sms_core::text::Encoding;
use sms_core::text::MAX_CHARACTERS;

use super::idempotency::KeyHeader;
use super::message_shape::{MessageShape, shown_as};
use super::tag::Tag;
use crate::failure::{Conflict, Refused};
use crate::request_body;
use crate::web::body::Body;
use crate::web::choice::Named;
use crate::web::envelope::{Answer, CreatedOrNot, Meta, Ready};
use crate::web::error::ApiError;
use crate::web::failing::Failing;
use crate::web::field_error::FieldErrors;
use crate::web::param::HeaderParam;

/// The most characters that an id may have.
const MAX_ID: usize = 100;

request_body! {
    /// A message to send, and its recipients.
    struct SendBody as "SendRequest" {
        /// UK numbers in any common format. A string may hold several, separated by commas or line
        /// breaks. At most 1,000 in all.
        optional to: Vec<String> = one_or_many(1_000).named("Recipients"),
            example ["07700 900123"];
        /// Ids of saved contacts.
        optional contact_ids: Vec<String> = list(text().undocumented_max(MAX_ID));
        /// The id of a list.
        optional list_id: String = text().undocumented_max(MAX_ID);
        /// The text. Merge fields: `{first_name}`, `{last_name}`, `{full_name}`, `{phone}`,
        /// `{email}` and custom fields. `{first_name|there}` has a fallback for people without a
        /// value.
        optional body: String = text().documented_max(MAX_CHARACTERS),
            example "Your table is ready";
        /// The template to use when `body` is empty.
        optional template_id: String = text().undocumented_max(MAX_ID);
        /// An approved sender name; omit it to send from a number that people can reply to.
        optional sender: String = text();
        /// When to send, up to a year ahead.
        optional schedule_at: DateTime<Utc> = date_time();
        /// Your reference, repeated in webhooks.
        optional client_ref: String = text().documented_max(MAX_CLIENT_REF), example "booking-42";
        /// Whether to add the account's opt-out line to each message; false by default. Use it for
        /// marketing messages.
        optional append_opt_out: bool = boolean(), example false;
        /// Whether to replace each URL with a short tracked link, one per recipient; false by
        /// default. Ignored with a test key.
        optional track_links: bool = boolean(), example false;
        /// `normal` messages go before `bulk` ones, which keep a fifth of the rate. By default a
        /// send to a list or to more than 10 recipients is `bulk`. A quote ignores it.
        optional priority: Lane = choice(), example "normal";
    }
}

/// An id in the body that names nothing.
type Unknown = Option<sms_core::Error>;

impl SendBody {
    /// Converts to the core's request. A malformed id counts as unknown, and is reported once the
    /// fields are valid, just like a well-formed unknown id.
    fn into_request(self) -> (SendRequest, Unknown) {
        let mut unknown = None;
        let contact_ids = self.contact_ids.unwrap_or_default();
        let mut request = SendRequest::new(self.body.unwrap_or_default());
        request.to = self.to.unwrap_or_default();
        request.contact_ids =
            contact_ids.iter().map(|id| read_id("contact", id, &mut unknown)).collect();
        request.list_id = self.list_id.map(|id| read_id("list", &id, &mut unknown));
        request.template_id = self.template_id.map(|id| read_id("template", &id, &mut unknown));
        request.sender = self.sender;
        request.schedule_at = self.schedule_at.map(Into::into);
        request.client_ref = self.client_ref;
        request.append_opt_out = self.append_opt_out.unwrap_or_default();
        request.track_links = self.track_links.unwrap_or_default();
        request.priority = self.priority;
        (request, unknown)
    }
}

fn read_id<K: Kind>(resource: &'static str, text: &str, unknown: &mut Unknown) -> Id<K> {
    text.parse().unwrap_or_else(|_| {
        let error = sms_core::Error::UnknownReference { resource, id: text.to_owned() };
        unknown.get_or_insert(error);
        Id::from_u128(0)
    })
}

/// A recipient who gets no message.
#[derive(Debug, Object)]
#[oai(rename = "Rejection")]
struct RejectionShape {
    /// In E.164 if the number is valid, else as given, cut to its first 100 characters.
    to: String,
    /// The reason.
    reason: Named<RejectionReason>,
}

impl From<Rejection> for RejectionShape {
    fn from(rejection: Rejection) -> Self {
        Self { to: rejection.to, reason: Named(rejection.reason) }
    }
}

/// A merge field that is blank in some messages.
#[derive(Debug, Serialize, Object)]
#[oai(rename = "BlankField")]
struct BlankFieldShape {
    /// The name of the field.
    field: String,
    /// How many recipients have no value for it.
    recipients: u64,
}

impl From<BlankField> for BlankFieldShape {
    fn from(BlankField { field, recipients }: BlankField) -> Self {
        Self { field, recipients }
    }
}

/// The result of a send.
#[derive(Debug, Object)]
#[oai(rename = "Batch")]
struct BatchSchema {
    /// The id of this request; its messages share it.
    #[oai(rename = "batch_id")]
    id: String,
    /// The messages, in the order of the recipients.
    messages: Vec<MessageShape>,
    /// Recipients who get no message, with the reason. Not charged.
    rejected: Vec<RejectionShape>,
    /// Words in braces that are neither a built-in field nor a custom field of any contact. Without
    /// a fallback, they stay as typed.
    unknown_fields: Vec<String>,
    /// Fields without a fallback for which some recipients have no value: they are left out.
    blank_fields: Vec<BlankFieldShape>,
}

/// The result of a send, as the API shows it.
#[derive(Debug)]
struct Batch {
    id: BatchId,
    messages: Vec<Message>,
    rejected: Vec<Rejection>,
    gaps: FieldGaps,
}

#[derive(Serialize)]
struct BatchContent<'a> {
    batch_id: BatchId,
    messages: &'a [Message],
    rejected: Vec<RejectionContent<'a>>,
    unknown_fields: &'a [String],
    blank_fields: Vec<BlankFieldShape>,
}

#[derive(Serialize)]
struct RejectionContent<'a> {
    to: &'a str,
    reason: &'static str,
}

fn content(batch: &Batch) -> BatchContent<'_> {
    let rejected = batch.rejected.iter();
    BatchContent {
        batch_id: batch.id,
        messages: &batch.messages,
        rejected: rejected
            .map(|one| RejectionContent { to: &one.to, reason: one.reason.as_str() })
            .collect(),
        unknown_fields: &batch.gaps.unknown,
        blank_fields: batch.gaps.blank.iter().cloned().map(Into::into).collect(),
    }
}

shown_as!(Batch, BatchSchema, content);

/// The cost of a send.
#[derive(Debug, Object)]
#[oai(rename = "BatchMeta")]
struct BatchMetaSchema {
    /// Credits charged.
    credits: u64,
    /// The balance after the change.
    balance: u64,
    /// Whether this answer repeats the first one for the same `Idempotency-Key`.
    replayed: bool,
    /// Whether a test key sent it.
    test: bool,
}

/// The cost of a send, as the API shows it.
#[derive(Debug, Serialize)]
struct BatchMeta {
    credits: Credits,
    balance: Credits,
    replayed: bool,
    test: bool,
}

fn meta(meta: &BatchMeta) -> &BatchMeta {
    meta
}

shown_as!(BatchMeta, BatchMetaSchema, meta);

impl Meta for BatchMeta {
    const NAME_END: &'static str = "Envelope";
}

/// The expected result and cost of a send.
#[derive(Debug, Object)]
#[oai(rename = "Quote")]
struct QuoteShape {
    /// How many recipients would get a message.
    recipients: u64,
    /// Recipients who would get none, with the reason.
    rejected: Vec<RejectionShape>,
    /// Words in braces that are neither a built-in field nor a custom field of any contact. Without
    /// a fallback, they would stay as typed.
    unknown_fields: Vec<String>,
    /// Fields without a fallback for which some recipients have no value: they would be left out.
    blank_fields: Vec<BlankFieldShape>,
    /// Credits that a live send would cost.
    credits: u64,
    /// `ucs2` if any of the messages needs it.
    encoding: Named<Encoding>,
    /// The text of the first message as it would be sent; null if there is none.
    preview: Option<String>,
    /// The current balance.
    balance: u64,
}

impl From<Quote> for QuoteShape {
    fn from(quote: Quote) -> Self {
        Self {
            recipients: quote.recipients as u64,
            rejected: quote.rejected.into_iter().map(Into::into).collect(),
            unknown_fields: quote.gaps.unknown,
            blank_fields: quote.gaps.blank.into_iter().map(Into::into).collect(),
            credits: quote.credits.get(),
            encoding: Named(quote.encoding),
            preview: quote.preview,
            balance: quote.balance.get(),
        }
    }
}

/// The handlers that send.
#[derive(Debug)]
pub struct SendApi {
    sms: Sms,
}

impl SendApi {
    pub(super) fn new(sms: Sms) -> Self {
        Self { sms }
    }

    /// The request, if its fields are valid.
    fn read(
        &self,
        body: Body<SendBody>,
        key: Option<HeaderParam<KeyHeader>>,
    ) -> Result<SendRequest, ApiError> {
        let mut errors = FieldErrors::new();
        let key = key.and_then(|key| errors.take(key).0);
        let (mut request, unknown) = errors.take(body).into_request();
        // The core checks the request once it knows that it is not a retry of an accepted one. Here
        // the rules only serve to report all invalid fields together.
        if !errors.is_empty() || unknown.is_some() {
            errors.extend(request.check(self.sms.now()));
        }
        errors.finish()?;
        if let Some(unknown) = unknown {
            return Err(unknown.into());
        }
        request.idempotency_key = key;
        Ok(request)
    }
}

#[OpenApi(prefix_path = "/messages", tag = "Tag::Messages")]
impl SendApi {
    /// Send a message
    ///
    /// To numbers, contacts or a list, now or at a given time. Credits are charged on acceptance,
    /// one per segment. `rejected` lists the recipients who get no message, `unknown_fields` and
    /// `blank_fields` the merge fields that could not be filled in. With an `Idempotency-Key`, a
    /// retry returns the first answer with status 200 and sends nothing.
    #[oai(path = "/", method = "post", operation_id = "message_send")]
    async fn send(
        &self,
        caller: Data<&Caller>,
        /// Identifies retries of the same request, for 7 days.
        #[oai(name = "Idempotency-Key")]
        key: HeaderParam<KeyHeader>,
        body: Body<SendBody>,
    ) -> Result<Ready<CreatedOrNot<Batch, BatchMeta>>, Failing<Refused>> {
        let request = self.read(body, Some(key))?;
        let sent = self.sms.account(caller.account, caller.mode).send(request).await?;
        let Sent { batch, messages, rejected, gaps, credits, balance, replay, .. } = sent;
        let data = Batch { id: batch, messages, rejected, gaps };
        let meta = BatchMeta {
            credits,
            balance,
            replayed: replay == Replay::Repeated,
            test: caller.mode.is_test(),
        };
        let items = data.messages.len() + data.rejected.len();
        let answer = move || match replay {
            Replay::First => CreatedOrNot::Created(data, meta),
            Replay::Repeated => CreatedOrNot::Existing(data, meta),
        };
        Ok(Ready::of(items, answer).await)
    }

    /// Quote a send
    ///
    /// Returns what the same request to `POST /messages` would do and cost. Nothing is sent or
    /// charged.
    #[oai(path = "/quote", method = "post", operation_id = "message_quote")]
    async fn quote(
        &self,
        caller: Data<&Caller>,
        body: Body<SendBody>,
    ) -> Result<Ready<Answer<QuoteShape>>, Failing<Conflict>> {
        let request = self.read(body, None)?;
        let quote = self.sms.account(caller.account, caller.mode).quote(request).await?;
        let items = quote.rejected.len();
        Ok(Ready::of(items, || Answer::new(quote.into())).await)
    }
}
