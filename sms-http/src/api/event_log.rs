//! `/events`: what happened to the account, read from its event log.

use poem::web::Data;
use poem_openapi::OpenApi;
use poem_openapi::registry::{MetaSchema, MetaSchemaRef};
use sms_core::Sms;
use sms_core::event::EventType;
use sms_core::event::kinds::Kinds;
use sms_core::event::log::{EventRequest, ReadFrom};
use sms_core::event::position::{NotAPosition, Position};
use sms_core::page::NotACursor;
use sms_core::service::{AccountHandle, Caller};

use super::event_shape::EventShape;
use super::event_stream::{EventStreams, Follow, Streamed};
use super::page::{CURSOR_PATTERN, CursorText, page_request};
use super::path_id::path_id;
use super::tag::Tag;
use crate::failure::Suspended;
use crate::web::choice::{allowed_values, find};
use crate::web::envelope::{Answer, PageMeta};
use crate::web::error::ApiError;
use crate::web::failing::Failing;
use crate::web::field_error::{FieldCode, FieldError, FieldErrors};
use crate::web::param::value::Mistake;
use crate::web::param::{HeaderParam, Limit, ParamValue, QueryParam};
use crate::web::path_param::PathParam;
use crate::web::standing::Admission;

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

/// The handlers of `/events`.
#[derive(Debug)]
pub struct EventApi {
    sms: Sms,
    streams: EventStreams,
}

impl EventApi {
    pub(super) fn new(sms: Sms, streams: EventStreams) -> Self {
        Self { sms, streams }
    }

    fn account(&self, caller: &Caller) -> AccountHandle {
        self.sms.account(caller.account, caller.mode)
    }
}

#[OpenApi(prefix_path = "/events", tag = "Tag::Events")]
impl EventApi {
    /// List events
    ///
    /// The account's events of the last 30 days (the operator may keep more or fewer), with or
    /// without webhook endpoints. Newest first; with `after`, oldest first from that position. A
    /// client that follows `meta.next_cursor`, and then passes the `position` of the last event as
    /// `after`, misses no event and sees none twice. With `types` a page may have fewer events than
    /// `limit` although there are more: continue while `next_cursor` is not null.
    #[oai(path = "/", method = "get", operation_id = "event_list")]
    async fn list(
        &self,
        caller: Data<&Caller>,
        /// Only events of these types, separated by commas.
        types: QueryParam<EventTypes>,
        /// Only events after the one with this `position`, oldest first.
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

    /// Follow events
    ///
    /// Streams events as they happen, as [server-sent
    /// events](https://html.spec.whatwg.org/multipage/server-sent-events.html): `id` is the
    /// position, `event` the type, and `data` the event as in the list. The stream begins now, or
    /// after the position in `Last-Event-ID` or `after`. A client that reconnects with the last
    /// `id`, as every `EventSource` does, misses no event and sees none twice. A comment line comes
    /// every 15 seconds. The last event is `stream.ended`: its `reason` is `server_stopping`,
    /// `reader_too_slow`, `key_revoked`, `account_suspended`, `session_over` (in the console) or
    /// `unavailable`, and its `after` is the position to continue from. A key can have 10 streams
    /// at once.
    #[oai(path = "/stream", method = "get", operation_id = "event_stream")]
    async fn stream(
        &self,
        caller: Data<&Caller>,
        admission: Data<&Admission>,
        /// Only events of these types, separated by commas.
        types: QueryParam<EventTypes>,
        /// Only events after the one with this `position`; by default, events from now on.
        after: QueryParam<Option<PositionText>>,
        /// The last `id` that the client has seen. It takes precedence over `after`.
        #[oai(name = "Last-Event-ID")]
        last_event_id: HeaderParam<Option<PositionText>>,
    ) -> Result<Streamed, Failing<Suspended>> {
        let mut errors = FieldErrors::new();
        let EventTypes(kinds) = errors.take(types);
        let after = errors.take(after);
        let last_seen = errors.take(last_event_id);
        errors.finish()?;
        let after = last_seen.or(after).map(|PositionText(position)| position);
        Ok(self.streams.open(**caller, &admission, Follow { kinds, after }).await?)
    }

    /// Get an event
    ///
    /// The event as webhook endpoints receive it, and its position.
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
