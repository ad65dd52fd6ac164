//! Events: what happened to an account. They can be listed, and followed as they happen.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{BoxStream, StreamExt as _, try_unfold};
use reqwest::Response;
use reqwest::header::HeaderValue;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

use crate::call::Call;
use crate::choice::open_choice;
use crate::client::Client;
use crate::error::Error;
use crate::ids::EventId;
use crate::listing::{LARGEST_PAGE, Listing};
use crate::sse::FrameReader;
use crate::timestamp::Timestamp;
use crate::transport::{Outgoing, Transport};

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
    /// To what: a message, an opt-out, or a click.
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
    /// Only what happened after this position, the oldest first.
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
    /// connection ends, the stream connects again and goes on after the last event. On a server
    /// that lists events but does not stream them, it asks for the list again and again, with the
    /// wait of a first retry between.
    ///
    /// # Errors
    ///
    /// When the first connection cannot be made. An item of the stream is an error when the server
    /// cannot be reached again, or refuses; the stream ends after it.
    pub async fn event_stream(&self, filter: &EventFilter) -> Result<EventStream, Error> {
        let mut filter = filter.clone();
        if filter.after.is_none() {
            // From now on: after the newest event, so that a lost connection loses none.
            let newest = self.event_list(&EventFilter::default()).limit(1).page().await?;
            let newest = newest.items.into_iter().next().and_then(|event| event.position);
            filter.after = Some(newest.unwrap_or_else(Position::start));
        }
        let url = self.url_with(&["events", "stream"], &filter)?;
        let first = match Connection::open(self.transport(), &url, None).await {
            Ok(first) => first,
            Err(error) if error.status() == Some(404) => return self.event_polls(filter).await,
            Err(error) => return Err(error),
        };
        let follow = Follow {
            transport: self.transport().clone(),
            url,
            connection: Some(first),
            ready: VecDeque::new(),
            last: None,
        };
        let stream = try_unfold(follow, |mut follow| async move {
            let event = follow.next().await?;
            Ok(Some((event, follow)))
        });
        Ok(stream.boxed())
    }

    /// Follows events by asking for those after the last one.
    async fn event_polls(&self, filter: EventFilter) -> Result<EventStream, Error> {
        let first = self.event_list(&filter).page().await?;
        let wait = self.transport().retries.first_wait;
        let page = VecDeque::from(first.items);
        let is_full = page.len() >= usize::from(LARGEST_PAGE);
        let polls = Polls { client: self.clone(), filter, page, is_full, wait };
        let stream = try_unfold(polls, |mut polls| async move {
            let event = polls.next().await?;
            Ok(Some((event, polls)))
        });
        Ok(stream.boxed())
    }
}

/// The list of events, asked for again and again.
struct Polls {
    client: Client,
    filter: EventFilter,
    page: VecDeque<Event>,
    /// Whether more events may wait behind the page.
    is_full: bool,
    /// How long to wait after the last page.
    wait: Duration,
}

impl Polls {
    async fn next(&mut self) -> Result<Event, Error> {
        loop {
            if let Some(event) = self.page.pop_front() {
                if let Some(position) = &event.position {
                    self.filter.after = Some(position.clone());
                }
                return Ok(event);
            }
            if !self.is_full {
                tokio::time::sleep(self.wait).await;
            }
            self.page = self.client.event_list(&self.filter).page().await?.items.into();
            self.is_full = self.page.len() >= usize::from(LARGEST_PAGE);
        }
    }
}

/// A stream of events, over as many connections as it takes.
struct Follow {
    transport: Arc<Transport>,
    url: Url,
    connection: Option<Connection>,
    ready: VecDeque<Event>,
    /// The position of the last event.
    last: Option<String>,
}

struct Connection {
    answer: Response,
    reader: FrameReader,
}

impl Connection {
    async fn open(transport: &Transport, url: &Url, last: Option<&str>) -> Result<Self, Error> {
        let mut url = url.clone();
        if let Some(last) = last {
            let kept: Vec<(String, String)> =
                url.query_pairs().into_owned().filter(|(name, _)| name != "after").collect();
            url.query_pairs_mut().clear().extend_pairs(kept).append_pair("after", last);
        }
        let mut outgoing = Outgoing::get(url);
        outgoing.accept = HeaderValue::from_static("text/event-stream");
        let answer = transport.open(&outgoing).await?;
        Ok(Self { answer, reader: FrameReader::default() })
    }
}

impl Follow {
    async fn next(&mut self) -> Result<Event, Error> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                self.last = event.position.as_ref().map(|position| position.as_str().to_owned());
                return Ok(event);
            }
            let connection = if let Some(connection) = &mut self.connection {
                connection
            } else {
                tokio::time::sleep(self.transport.retries.first_wait).await;
                let last = self.last.as_deref();
                let opened = Connection::open(&self.transport, &self.url, last).await?;
                self.connection.insert(opened)
            };
            // A broken connection is an ended one: the position says where to go on.
            let Ok(Some(chunk)) = connection.answer.chunk().await else {
                self.connection = None;
                continue;
            };
            for frame in connection.reader.push(&chunk) {
                // The server's last word: it stops, or this reader was too slow.
                if frame.event == "closed" {
                    self.connection = None;
                    break;
                }
                let mut event: Event = serde_json::from_str(&frame.data)?;
                if let Some(id) = &frame.id {
                    event.position = Some(Position::from(id.as_str()));
                }
                self.ready.push_back(event);
            }
        }
    }
}
