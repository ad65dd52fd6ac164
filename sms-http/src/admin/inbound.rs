//! `/inbound`, `/unrouted` and `/receipts`: what networks bring in, by hand.

use poem_openapi::{Enum, Object, OpenApi};
use sms_core::Sms;
use sms_core::inbound::Unrouted;
use sms_core::message::ErrorCode;
use sms_core::phone::{E164, parse_any};
use sms_core::receipt::ReceiptStatus;

use super::Tag;
use crate::api::message_shape::{EncodingName, MessageShape};
use crate::api::page::{CursorText, page_answer, page_request};
use crate::web::body::Body;
use crate::web::envelope::{Answer, Created, PageMeta};
use crate::web::error::ApiError;
use crate::web::field_error::{FieldCode, FieldErrors, checked};
use crate::web::fields::{Fields, FromFields, rule};
use crate::web::moment::Moment;
use crate::web::param::{Limit, QueryParam};

/// The longest text that a network can bring, joined: 255 parts of 153 septets.
const MAX_BODY: usize = 39_015;

/// A text that came in.
#[derive(Debug, Object)]
struct InboundInput {
    /// Who sent it.
    #[oai(validator(min_length = 1, max_length = 40))]
    from: String,
    /// Which of our numbers it was sent to.
    #[oai(validator(min_length = 1, max_length = 40))]
    to: String,
    /// Its words.
    #[oai(validator(max_length = 39015))]
    body: String,
}

impl FromFields for InboundInput {
    fn from_fields(fields: &mut Fields<'_>) -> Self {
        let input = Self {
            from: fields.required("from", rule::text().min(1).max(40)),
            to: fields.required("to", rule::text().min(1).max(40)),
            body: fields.required("body", rule::text().max(MAX_BODY)),
        };
        for (name, number) in [("from", &input.from), ("to", &input.to)] {
            if parse_any(number).is_err() {
                fields.note(name, FieldCode::InvalidFormat, "not a phone number");
            }
        }
        input
    }
}

/// What a network says became of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
#[oai(rename = "ReceiptStatus", rename_all = "snake_case")]
enum ReceiptName {
    /// The handset received it.
    Delivered,
    /// It could not be delivered.
    Undelivered,
}

/// Why a text was not delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
#[oai(rename = "ReceiptErrorCode", rename_all = "snake_case")]
enum ErrorName {
    /// It was not delivered in time.
    Expired,
    /// The network refused it.
    RejectedByNetwork,
    /// The network knows no such number.
    UnknownSubscriber,
    /// The phone was off or out of reach.
    AbsentSubscriber,
    /// Anything else.
    NetworkError,
}

impl From<ErrorName> for ErrorCode {
    fn from(name: ErrorName) -> Self {
        match name {
            ErrorName::Expired => Self::Expired,
            ErrorName::RejectedByNetwork => Self::RejectedByNetwork,
            ErrorName::UnknownSubscriber => Self::UnknownSubscriber,
            ErrorName::AbsentSubscriber => Self::AbsentSubscriber,
            ErrorName::NetworkError => Self::NetworkError,
        }
    }
}

/// A receipt.
#[derive(Debug, Object)]
struct ReceiptInput {
    /// The text it is about.
    #[oai(validator(min_length = 1))]
    message_id: String,
    /// What it says.
    status: ReceiptName,
    /// Why it was not delivered; `network_error` unless given.
    error_code: Option<ErrorName>,
}

impl FromFields for ReceiptInput {
    fn from_fields(fields: &mut Fields<'_>) -> Self {
        Self {
            message_id: fields.required("message_id", rule::text().min(1)),
            status: fields.required("status", rule::one_of()),
            error_code: fields.optional("error_code", rule::one_of()),
        }
    }
}

/// A text that belongs to no account.
#[derive(Debug, Object)]
#[oai(rename = "UnroutedText")]
struct UnroutedShape {
    /// `msg_` and 26 characters.
    id: String,
    /// Who sent it.
    from: String,
    /// The number it was sent to.
    to: String,
    /// Its words.
    body: String,
    /// How they are coded.
    encoding: EncodingName,
    /// SMS parts.
    segments: u32,
    /// When it came.
    received_at: Moment,
}

impl From<Unrouted> for UnroutedShape {
    fn from(text: Unrouted) -> Self {
        Self {
            id: text.id.to_string(),
            from: text.from.to_string(),
            to: text.to.to_string(),
            body: text.body.as_str().to_owned(),
            encoding: text.encoding.into(),
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
    /// Take in a text
    ///
    /// As if a network had brought it. `data` is null when it belongs to no account.
    #[oai(path = "/inbound", method = "post", operation_id = "inbound_take")]
    async fn inbound(
        &self,
        body: Body<InboundInput>,
    ) -> Result<Created<Option<MessageShape>>, ApiError> {
        let InboundInput { from, to, body } = checked(body)?;
        let (from, to) = (number("from", &from)?, number("to", &to)?);
        let message = self.sms.operator().inbound(from, to, body).await?;
        Ok(Created::new(message.map(MessageShape)))
    }

    /// List texts that belong to no account
    #[oai(path = "/unrouted", method = "get", operation_id = "unrouted_list")]
    async fn unrouted(
        &self,
        /// How many texts a page holds.
        limit: QueryParam<Limit>,
        /// The previous page's `meta.next_cursor`.
        cursor: QueryParam<Option<CursorText>>,
    ) -> Result<Answer<Vec<UnroutedShape>, PageMeta>, ApiError> {
        let mut errors = FieldErrors::new();
        let page = page_request(limit, cursor, &mut errors);
        errors.finish()?;
        Ok(page_answer(self.sms.operator().unrouted_list(page).await?))
    }

    /// Record a receipt
    ///
    /// As if a network had brought it. Late and repeated receipts change nothing.
    #[oai(path = "/receipts", method = "post", operation_id = "receipt_record")]
    async fn receipt(&self, body: Body<ReceiptInput>) -> Result<Answer<MessageShape>, ApiError> {
        let ReceiptInput { message_id, status, error_code } = checked(body)?;
        let unknown =
            || sms_core::Error::UnknownReference { resource: "message", id: message_id.clone() };
        let id = message_id.parse().map_err(|_| unknown())?;
        let error = error_code.unwrap_or(ErrorName::NetworkError);
        let status = match status {
            ReceiptName::Delivered => ReceiptStatus::Delivered,
            ReceiptName::Undelivered => ReceiptStatus::Undelivered(error.into()),
        };
        let recorded = self.sms.operator().receipt(id, status).await;
        match recorded {
            Err(sms_core::Error::NotFound(_)) => Err(unknown().into()),
            other => Ok(Answer::new(MessageShape(other?))),
        }
    }
}

fn number(field: &'static str, text: &str) -> Result<E164, ApiError> {
    let code = FieldCode::InvalidFormat.as_str();
    let parsed = parse_any(text);
    Ok(parsed.map_err(|_| sms_core::Error::invalid(field, code, "not a phone number"))?)
}
