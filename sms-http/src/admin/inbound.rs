//! `/inbound`, `/unrouted` and `/receipts`: messages and delivery receipts, entered by hand.

use poem_openapi::{Object, OpenApi};
use sms_core::Sms;
use sms_core::inbound::{MAX_BODY, Unrouted};
use sms_core::message::ErrorCode;
use sms_core::originator::Originator;
use sms_core::phone::{E164, parse_any};
use sms_core::receipt::ReceiptStatus;
use sms_core::text::Encoding;

use super::tag::Tag;
use crate::api::idempotency::{KeyHeader, created};
use crate::api::message_shape::MessageShape;
use crate::api::page::{CursorText, page_answer, page_request};
use crate::failure::Conflict;
use crate::request_body;
use crate::web::body::Body;
use crate::web::choice::{Choices, Named};
use crate::web::envelope::{Answer, CreatedOrNot, PageMeta, ReplayMeta};
use crate::web::error::ApiError;
use crate::web::failing::Failing;
use crate::web::field_error::{FieldCode, FieldErrors, checked};
use crate::web::fields::text::Mistake;
use crate::web::moment::Moment;
use crate::web::param::{HeaderParam, Limit, QueryParam};

fn check_sender(text: &str) -> Result<(), Mistake> {
    let parsed = Originator::parse(text);
    parsed.map(|_| ()).map_err(|wrong| (FieldCode::InvalidFormat.as_str(), wrong.to_string()))
}

fn check_number(text: &str) -> Result<(), Mistake> {
    let message = || "not a phone number".to_owned();
    let parsed = parse_any(text);
    parsed.map(|_| ()).map_err(|_| (FieldCode::InvalidFormat.as_str(), message()))
}

request_body! {
    /// An inbound message.
    struct InboundInput as "InboundInput" {
        /// The sender: a phone number in any format, or a short code or a name of up to 20
        /// characters.
        required from: String = text().min(1).max(40).checked(check_sender);
        /// The number that received it, one of the operator's.
        required to: String = text().min(1).max(40).checked(check_number);
        /// The text.
        required body: String = text().max(MAX_BODY);
    }
}

/// The outcome that a network reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReceiptName {
    /// The handset received it.
    Delivered,
    /// It could not be delivered.
    Undelivered,
}

impl Choices for ReceiptName {
    const NAME: &'static str = "ReceiptStatus";
    const DESCRIPTION: &'static str = "The outcome that a network reports.";
    const ALL: &'static [Self] = &[Self::Delivered, Self::Undelivered];

    fn name(self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::Undelivered => "undelivered",
        }
    }
}

request_body! {
    /// A delivery receipt.
    struct ReceiptInput as "ReceiptInput" {
        /// The id of the message.
        required message_id: String = text().min(1);
        /// The reported outcome.
        required status: ReceiptName = choice();
        /// Why it was not delivered; `network_error` by default.
        optional error_code: ErrorCode = choice();
    }
}

/// An inbound message that belongs to no account.
#[derive(Debug, Object)]
#[oai(rename = "UnroutedText")]
struct UnroutedShape {
    /// `msg_` and 26 characters.
    id: String,
    /// The sender: a number in E.164, or a short code or a name as it came.
    from: String,
    /// The number that received it.
    to: String,
    /// The text.
    body: String,
    /// How the text is encoded.
    encoding: Named<Encoding>,
    /// The number of segments.
    segments: u32,
    /// When it arrived.
    received_at: Moment,
}

impl From<Unrouted> for UnroutedShape {
    fn from(text: Unrouted) -> Self {
        Self {
            id: text.id.to_string(),
            from: text.from.to_string(),
            to: text.to.to_string(),
            body: text.body.as_str().to_owned(),
            encoding: Named(text.encoding),
            segments: text.segments.get(),
            received_at: text.received_at.into(),
        }
    }
}

/// The handlers of what networks bring in.
#[derive(Debug)]
pub struct InboundApi {
    sms: Sms,
}

impl InboundApi {
    pub(super) fn new(sms: Sms) -> Self {
        Self { sms }
    }
}

#[OpenApi(tag = "Tag::Network")]
impl InboundApi {
    /// Record an inbound message
    ///
    /// Treated as if a network had delivered it. `data` is null if it belongs to no account. With
    /// an `Idempotency-Key`, a retry returns the same message and records nothing.
    #[oai(path = "/inbound", method = "post", operation_id = "inbound_take")]
    async fn inbound(
        &self,
        /// Identifies retries of the same request, for 7 days.
        #[oai(name = "Idempotency-Key")]
        key: HeaderParam<KeyHeader>,
        body: Body<InboundInput>,
    ) -> Result<CreatedOrNot<Option<MessageShape>, Option<ReplayMeta>>, Failing<Conflict>> {
        let (KeyHeader(key), InboundInput { from, to, body }) = checked((key, body))?;
        let (from, to) = (sender(&from)?, number("to", &to)?);
        let message = self.sms.operator().keyed(key).inbound(from, to, body).await?;
        Ok(created(message.map(|message| message.map(MessageShape))))
    }

    /// List messages that belong to no account
    ///
    /// Newest first. Their number belongs to no account, or it is shared and no account has
    /// messaged the sender in the last 30 days.
    #[oai(path = "/unrouted", method = "get", operation_id = "unrouted_list")]
    async fn unrouted(
        &self,
        /// The most messages per page.
        limit: QueryParam<Limit>,
        /// `meta.next_cursor` of the previous page.
        cursor: QueryParam<Option<CursorText>>,
    ) -> Result<Answer<Vec<UnroutedShape>, PageMeta>, ApiError> {
        let mut errors = FieldErrors::new();
        let page = page_request(limit, cursor, &mut errors);
        errors.finish()?;
        Ok(page_answer(self.sms.operator().unrouted_list(page).await?))
    }

    /// Record a delivery receipt
    ///
    /// Treated as if a network had delivered it. Late and repeated receipts change nothing.
    #[oai(path = "/receipts", method = "post", operation_id = "receipt_record")]
    async fn receipt(&self, body: Body<ReceiptInput>) -> Result<Answer<MessageShape>, ApiError> {
        let ReceiptInput { message_id, status, error_code } = checked(body)?;
        let unknown =
            || sms_core::Error::UnknownReference { resource: "message", id: message_id.clone() };
        let id = message_id.parse().map_err(|_| unknown())?;
        let error = error_code.unwrap_or(ErrorCode::NetworkError);
        let status = match status {
            ReceiptName::Delivered => ReceiptStatus::Delivered,
            ReceiptName::Undelivered => ReceiptStatus::Undelivered(error),
        };
        let recorded = self.sms.operator().receipt(id, status).await;
        match recorded {
            Err(sms_core::Error::NotFound(_)) => Err(unknown().into()),
            other => Ok(Answer::new(MessageShape(other?))),
        }
    }
}

fn sender(text: &str) -> Result<Originator, ApiError> {
    let code = FieldCode::InvalidFormat.as_str();
    let parsed = Originator::parse(text);
    Ok(parsed.map_err(|wrong| sms_core::Error::invalid("from", code, wrong.to_string()))?)
}

fn number(field: &'static str, text: &str) -> Result<E164, ApiError> {
    let code = FieldCode::InvalidFormat.as_str();
    let parsed = parse_any(text);
    Ok(parsed.map_err(|_| sms_core::Error::invalid(field, code, "not a phone number"))?)
}
