//! An event of the account's log, as the API shows it.

use std::borrow::Cow;

use poem_openapi::Object;
use poem_openapi::registry::{MetaSchema, MetaSchemaRef, Registry};
use poem_openapi::types::{ParseError, ParseFromJSON, ParseResult, ToJSON, Type};
use serde_json::Value;
use sms_core::event::log::LoggedEvent;
use sms_core::event::{EventData, EventType};

use super::event::DATA_SCHEMA;
use crate::web::choice::Named;
use crate::web::moment::Moment;

/// Something that happened to the account.
#[derive(Debug, Object)]
#[oai(rename = "LoggedEvent")]
pub(super) struct EventShape {
    /// `evt_` and 26 characters. Deliveries of the event to webhook endpoints have it as well.
    id: String,
    /// The type of the event.
    r#type: Named<EventType>,
    /// When the event happened.
    created_at: Moment,
    /// What the event is about.
    data: DataShape,
    /// The event's position in the account's log; it never changes. Pass it as `after` to read
    /// later events.
    position: String,
}

impl From<LoggedEvent> for EventShape {
    fn from(LoggedEvent { position, event }: LoggedEvent) -> Self {
        Self {
            id: event.id.to_string(),
            r#type: Named(event.data.kind()),
            created_at: event.created_at.into(),
            data: DataShape(event.data),
            position: position.to_string(),
        }
    }
}

/// The data of an event, as webhooks are sent it.
#[derive(Debug)]
struct DataShape(EventData);

impl Type for DataShape {
    const IS_REQUIRED: bool = true;

    type RawValueType = Self;
    type RawElementValueType = Self;

    fn name() -> Cow<'static, str> {
        DATA_SCHEMA.into()
    }

    fn schema_ref() -> MetaSchemaRef {
        MetaSchemaRef::Reference(DATA_SCHEMA.to_owned())
    }

    /// The name alone: the schema comes with those of the webhooks.
    fn register(registry: &mut Registry) {
        let name = DATA_SCHEMA.to_owned();
        registry.create_schema::<Self, _>(name, |_| MetaSchema::new("object"));
    }

    fn as_raw_value(&self) -> Option<&Self> {
        Some(self)
    }

    fn raw_element_iter<'a>(&'a self) -> Box<dyn Iterator<Item = &'a Self> + 'a> {
        Box::new(std::iter::once(self))
    }
}

/// Never used: no request has an event. The framework requires this of every field of an object.
impl ParseFromJSON for DataShape {
    fn parse_from_json(value: Option<Value>) -> ParseResult<Self> {
        Err(ParseError::expected_type(value.unwrap_or_default()))
    }
}

impl ToJSON for DataShape {
    fn to_json(&self) -> Option<Value> {
        serde_json::to_value(&self.0).ok()
    }
}
