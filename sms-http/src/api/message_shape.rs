//! Messages in the API. The values come from the core's serialisation, which webhooks use too. This
//! module describes them for the OpenAPI document.

use std::borrow::Cow;

use chrono::{DateTime, Utc};
use poem_openapi::Object;
use poem_openapi::registry::{MetaSchemaRef, Registry};
use poem_openapi::types::{ParseError, ParseFromJSON, ParseResult, ToJSON, Type};
use serde::Serialize;
use serde_json::Value;
use sms_core::message::{Direction, Message, MessageStatus, TimelineEntry};
use sms_core::text::Encoding;

use crate::web::choice::Named;

/// A message.
#[derive(Debug, Object)]
#[oai(rename = "Message")]
pub(crate) struct MessageSchema {
    /// `msg_` and 26 characters.
    id: String,
    /// The direction: sent or received.
    direction: Named<Direction>,
    /// The status.
    status: Named<MessageStatus>,
    /// The recipient's number, in E.164.
    to: String,
    /// The sender's number, in E.164. An inbound message may come from a short code or a name,
    /// shown as it came, which cannot be answered.
    from: String,
    /// The other party: the recipient, or `from` of an inbound message.
    contact_number: String,
    /// The text.
    body: String,
    /// How the text is encoded.
    encoding: Named<Encoding>,
    /// The number of segments.
    segments: u32,
    /// Credits charged.
    credits: u64,
    /// The route that carries it; `test` for a test key.
    route: String,
    /// The approved sender name used; null if there is none, and for an inbound message.
    sender: Option<String>,
    /// Your own reference; null if none was given.
    client_ref: Option<String>,
    /// The send request that created the message; null if there is none.
    batch_id: Option<String>,
    /// The campaign the message belongs to; null if there is none.
    campaign_id: Option<String>,
    /// The saved contact; null if there is none.
    contact_id: Option<String>,
    /// Why the message failed or was not delivered, as a stable code; null if it did not fail.
    error_code: Option<String>,
    /// The same reason in words, which may change; null if it did not fail.
    error_message: Option<String>,
    /// Whether a test key sent it.
    test: bool,
    /// When it is or was due to be sent; null if it was not scheduled.
    scheduled_at: Option<DateTime<Utc>>,
    /// When the network accepted it; null before that.
    sent_at: Option<DateTime<Utc>>,
    /// When the handset received it; null before that.
    delivered_at: Option<DateTime<Utc>>,
    /// When it failed or was reported as not delivered; null otherwise.
    failed_at: Option<DateTime<Utc>>,
    /// When it was cancelled; null otherwise.
    cancelled_at: Option<DateTime<Utc>>,
    /// When an inbound message was received; null for an outbound one.
    received_at: Option<DateTime<Utc>>,
    /// When an inbound message was marked as read; null before that, and for an outbound one.
    read_at: Option<DateTime<Utc>>,
    /// When it was created.
    created_at: DateTime<Utc>,
}

/// One entry in a message's history.
#[derive(Debug, Object)]
#[oai(rename = "MessageEvent")]
pub(crate) struct TimelineSchema {
    /// The new status.
    status: Named<MessageStatus>,
    /// More about the change; null if nothing more is known.
    detail: Option<String>,
    /// When the change was made.
    at: DateTime<Utc>,
}

/// A message with its history.
#[derive(Debug, Object)]
#[oai(rename = "MessageWithEvents")]
pub(crate) struct MessageWithEventsSchema {
    #[oai(flatten)]
    message: MessageSchema,
    /// Its events, oldest first.
    events: Vec<TimelineSchema>,
}

/// A message as the API shows it.
#[derive(Debug)]
pub struct MessageShape(pub Message);

/// A message with its history as the API shows it.
#[derive(Debug)]
pub struct MessageWithEvents(pub Message, pub Vec<TimelineEntry>);

impl From<Message> for MessageShape {
    fn from(message: Message) -> Self {
        Self(message)
    }
}

/// Implements `Type` and `ToJSON` with the schema of one type and the JSON of another.
macro_rules! shown_as {
    ($shape:ident, $schema:ty, $content:expr) => {
        impl Type for $shape {
            const IS_REQUIRED: bool = true;

            type RawValueType = Self;
            type RawElementValueType = Self;

            fn name() -> Cow<'static, str> {
                <$schema as Type>::name()
            }

            fn schema_ref() -> MetaSchemaRef {
                <$schema as Type>::schema_ref()
            }

            fn register(registry: &mut Registry) {
                <$schema as Type>::register(registry);
            }

            fn as_raw_value(&self) -> Option<&Self> {
                Some(self)
            }

            fn raw_element_iter<'a>(&'a self) -> Box<dyn Iterator<Item = &'a Self> + 'a> {
                Box::new(std::iter::once(self))
            }
        }

        /// Messages are never read. The framework requires this of every field of an object.
        impl ParseFromJSON for $shape {
            fn parse_from_json(_value: Option<Value>) -> ParseResult<Self> {
                Err(ParseError::custom("messages are not read from JSON"))
            }
        }

        impl ToJSON for $shape {
            fn to_json(&self) -> Option<Value> {
                serde_json::to_value($content(self)).ok()
            }

            fn to_json_string(&self) -> String {
                $crate::web::json::to_string(&$content(self))
            }
        }
    };
}

pub(super) use shown_as;

/// A text and its history as one object.
#[derive(Serialize)]
struct WithEvents<'a> {
    #[serde(flatten)]
    message: &'a Message,
    events: &'a [TimelineEntry],
}

fn message(shape: &MessageShape) -> &Message {
    &shape.0
}

fn with_events(shape: &MessageWithEvents) -> WithEvents<'_> {
    WithEvents { message: &shape.0, events: &shape.1 }
}

shown_as!(MessageShape, MessageSchema, message);
shown_as!(MessageWithEvents, MessageWithEventsSchema, with_events);
