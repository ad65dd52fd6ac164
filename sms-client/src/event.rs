//! Events: what happened to an account. They can be listed, and followed as they happen.

use std::fmt;

use futures_util::stream::{BoxStream, StreamExt as _, try_unfold};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::Call;
use crate::choice::open_choice;
use crate::client::Client;
use crate::error::Error;
use crate::follow::Follow;
use crate::ids::EventId;
use crate::listing::Listing;
use crate::timestamp::Timestamp;

open_choice! {
    /// What happened.
    EventType {
        /// A message was handed over to the network.
        MessageSent = "message.sent",
        /// The handset received a message.
        MessageDelivered = "message.delivered",
        /// A message failed or could not be delivered.
        MessageFailed = "message.failed",
        /// Somebody texted one of the account's numbers.
        MessageReceived = "message.received",
        /// Somebody opted out.
        OptOutCreated = "opt_out.created",
        /// Somebody followed a tracked link.
        LinkClicked = "link.clicked",
        /// Automatic replies reached a bound and pause.
        RepliesPaused = "replies.paused",
    }
}

/// Where an event is in the account's log. It never changes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Position(String);

impl Position {
    /// Before the first event of any account.
    pub fn start() -> Self {
        Self("0".repeat(26))
    }

    /// The position as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Position {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

/// Something that happened.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Its id, the same in every delivery to an endpoint.
    pub id: EventId,
    /// What happened.
    #[serde(rename = "type")]
    pub kind: EventType,
    /// When.
    pub created_at: Timestamp,
    /// To what: a message, an opt-out, a click, or a pause of replies.
    pub data: Value,
    /// Where it is in the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<Position>,
}

/// Shows no data.
impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Event")
            .field("id", &self.id)
            .field("kind", &self.kind)
            .field("position", &self.position)
            .finish_non_exhaustive()
    }
}

impl Event {
    /// The body with which endpoints get the event.
    ///
    /// # Errors
    ///
    /// None in practice: an event that was read can be written.
    pub fn body(&self) -> Result<String, Error> {
        let event = Self { position: None, ..self.clone() };
        Ok(serde_json::to_string(&event)?)
    }
}

/// Which events to list or to follow. The default has all of them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EventFilter {
    /// Only these; all if empty.
    pub types: Vec<EventType>,
    /// Only events after this position, oldest first.
    pub after: Option<Position>,
}

impl Serialize for EventFilter {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Query<'a> {
            types: Option<String>,
            after: Option<&'a str>,
        }
        let types: Vec<&str> = self.types.iter().map(EventType::as_str).collect();
        let types = (!types.is_empty()).then(|| types.join(","));
        Query { types, after: self.after.as_ref().map(Position::as_str) }.serialize(serializer)
    }
}

/// Events as they happen.
pub type EventStream = BoxStream<'static, Result<Event, Error>>;

impl Client {
    /// Lists events: the newest first, or from a position on.
    pub fn event_list(&self, filter: &EventFilter) -> Listing<Event> {
        self.list(&["events"], filter)
    }

    /// Reads an event.
    pub fn event_get(&self, id: &EventId) -> Call<Event> {
        self.get(&["events", id.as_str()])
    }

    /// Follows events as they happen, from the filter's position or from now on. When the
    /// connection ends, the stream connects again and goes on where it was: it misses no event and
    /// shows none twice. It waits longer each time, and tries four times as often as other calls
    /// do.
    ///
    /// # Errors
    ///
    /// When the first connection cannot be made. An item of the stream is an error when the server
    /// cannot be reached again, or refuses; the stream ends after it.
    pub async fn event_stream(&self, filter: &EventFilter) -> Result<EventStream, Error> {
        let url = self.url_with(&["events", "stream"], filter)?;
        let follow = Follow::begin(self.transport().clone(), url).await?;
        let stream = try_unfold(follow, |mut follow| async move {
            let frame = follow.next().await?;
            let mut event: Event = serde_json::from_str(&frame.data)?;
            event.position = frame.id.as_deref().map(Position::from).or(event.position);
            Ok(Some((event, follow)))
        });
        Ok(stream.boxed())
    }
}
