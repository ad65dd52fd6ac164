//! `/events`: what happened to the account, read from its event log.

use std::borrow::Cow;

use poem::web::Data;
use poem_openapi::registry::{MetaSchema, MetaSchemaRef, Registry};
use poem_openapi::types::{ParseError, ParseFromJSON, ParseResult, ToJSON, Type};
use poem_openapi::{Object, OpenApi};
use serde_json::Value;
use sms_core::Sms;
use sms_core::event::kinds::Kinds;
use sms_core::event::log::{EventRequest, LoggedEvent, ReadFrom};
use sms_core::event::position::{NotAPosition, Position};
use sms_core::event::{EventData, EventType};
use sms_core::page::NotACursor;
use sms_core::service::{AccountHandle, Caller};

use super::event::DATA_SCHEMA;
use super::page::{CURSOR_PATTERN, CursorText, page_request};
use super::path_id::path_id;
use super::tag::Tag;
use crate::web::choice::{Named, allowed_values, find};
use crate::web::envelope::{Answer, PageMeta};
use crate::web::error::ApiError;
use crate::web::field_error::{FieldCode, FieldError, FieldErrors};
use crate::web::moment::Moment;
use crate::web::param::value::Mistake;
use crate::web::param::{Limit, ParamValue, QueryParam};
use crate::web::path_param::PathParam;

/// Types of event, separated by commas; all of them by default.
#[derive(Debug, Clone, Copy)]
pub struct EventTypes(Kinds);

impl Default for EventTypes {
    fn default() -> Self {
        Self(Kinds::all())
    }
}

impl ParamValue for EventTypes {
    const REQUIRED: bool = false;

    fn schema() -> MetaSchemaRef {
        let names = EventType::SUBSCRIBABLE.map(|kind| kind.as_str().replace('.', r"\."));
        let one = format!("({})", names.join("|"));
        MetaSchemaRef::Inline(Box::new(MetaSchema {
            pattern: Some(format!("^{one}(,{one})*$")),
            ..MetaSchema::new("string")
        }))
    }

    fn parse(text: &str) -> Result<Self, Mistake> {
        let kinds = text.split(',').map(find::<EventType>).collect::<Option<Kinds>>();
        kinds.map(Self).ok_or_else(|| {
            let allowed = allowed_values::<EventType>();
            let message =
                format!("the value must be some of {allowed}, separated by commas without spaces");
            (FieldCode::UnknownValue, message)
        })
    }
}

/// The position of an event.
#[derive(Debug, Clone, Copy)]
pub struct PositionText(Position);

impl Default for PositionText {
    fn default() -> Self {
        Self(Position::START)
    }
}

impl ParamValue for PositionText {
    const REQUIRED: bool = true;

    fn schema() -> MetaSchemaRef {
        MetaSchemaRef::Inline(Box::new(MetaSchema {
            pattern: Some(CURSOR_PATTERN.to_owned()),
            ..MetaSchema::new("string")
        }))
    }

    fn parse(text: &str) -> Result<Self, Mistake> {
        let position = text.parse().map(Self);
        position.map_err(|reason: NotAPosition| (FieldCode::InvalidFormat, reason.to_string()))
    }
}

/// Something that happened to the account.
#[derive(Debug, Object)]
#[oai(rename = "LoggedEvent")]
struct EventShape {
    /// `evt_` and 26 characters. Deliveries of the event to webhook endpoints have it as well.
    id: String,
    /// The type of the event.
    r#type: Named<EventType>,
    /// When the event happened.
    created_at: Moment,
    /// What the event is about.
    data: DataShape,
    /// Where the event is in the account's log; it never changes. Pass it as `after` to read what
    /// came later.
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

/// The handlers of `/events`.
#[derive(Debug)]
pub struct EventApi {
    sms: Sms,
}

impl EventApi {
    pub(super) fn new(sms: Sms) -> Self {
        Self { sms }
    }

    fn account(&self, caller: &Caller) -> AccountHandle {
        self.sms.account(caller.account, caller.mode)
    }
}

#[OpenApi(prefix_path = "/events", tag = "Tag::Events")]
impl EventApi {
    /// List events
    ///
    /// What happened to the account in the last 30 days (the operator may keep more or less),
    /// whether or not it has webhook endpoints. Newest first; with `after` oldest first, from that
    /// position on. Whoever goes on with `meta.next_cursor`, and then with the `position` of the
    /// last event as `after`, misses no event and sees none twice. With `types` a page may have
    /// fewer events than `limit` although there are more: go on while `next_cursor` is not null.
    #[oai(path = "/", method = "get", operation_id = "event_list")]
    async fn list(
        &self,
        caller: Data<&Caller>,
        /// Only events of these types, separated by commas.
        types: QueryParam<EventTypes>,
        /// Only what came after the event with this `position`, oldest first.
        after: QueryParam<Option<PositionText>>,
        /// The most events per page.
        limit: QueryParam<Limit>,
        /// `meta.next_cursor` of the previous page.
        cursor: QueryParam<Option<CursorText>>,
    ) -> Result<Answer<Vec<EventShape>, PageMeta>, ApiError> {
        let mut errors = FieldErrors::new();
        let EventTypes(kinds) = errors.take(types);
        let after = errors.take(after).map(|PositionText(position)| position);
        let page = page_request(limit, cursor, &mut errors);
        let reached = page.after.map(Position::try_from).transpose();
        let reached = reached.unwrap_or_else(|NotAPosition| {
            let reason = NotACursor.to_string();
            errors.push(FieldError::new("cursor", FieldCode::InvalidFormat, reason));
            None
        });
        errors.finish()?;
        let from = match after {
            Some(after) => ReadFrom::After(reached.unwrap_or(after)),
            None => ReadFrom::Newest(reached),
        };
        let request = EventRequest { kinds, from, limit: page.limit };
        let page = self.account(&caller).event_list(request).await?;
        let next = page.next.map(|position| position.cursor().to_string());
        Ok(Answer::page(page.items.into_iter().map(Into::into).collect(), next))
    }

    /// Get an event
    ///
    /// The event as webhook endpoints were sent it, and its position.
    #[oai(path = "/:id", method = "get", operation_id = "event_get")]
    async fn get(
        &self,
        caller: Data<&Caller>,
        /// The event's id.
        id: PathParam,
    ) -> Result<Answer<EventShape>, ApiError> {
        let event = self.account(&caller).event_get(path_id(&id)?).await?;
        Ok(Answer::new(event.into()))
    }
}
