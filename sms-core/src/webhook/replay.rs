//! Replays: sending an endpoint again what the event log has for it.
//!
//! A replay is remembered with its endpoint. It goes on in small portions, each once nothing else
//! waits for the endpoint: so it delays new events by one portion at most, and its memory and its
//! commits are small however much there is to send.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::delivery::{Delivery, fan_out};
use super::endpoint::Endpoint;
use crate::event::Event;
use crate::event::kinds::Kinds;
use crate::event::position::Position;
use crate::idempotency::Answer;
use crate::ids::{AccountId, EndpointId, EventId, Ids};
use crate::page::Limit;
use crate::time::Timestamp;

/// The most events of a replay.
pub const MOST_EVENTS: usize = 100_000;
/// The most events of a portion.
pub const PORTION: Limit = Limit::REPLAY;
/// How long after a portion the next one is due.
pub const EVERY: Duration = Duration::from_millis(250);

/// The time in which events happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    /// Not before this.
    pub from: Option<Timestamp>,
    /// Before this.
    pub to: Option<Timestamp>,
}

impl Span {
    /// Whether this moment belongs to it.
    pub fn contains(self, at: Timestamp) -> bool {
        self.from.is_none_or(|from| from <= at) && self.to.is_none_or(|to| at < to)
    }
}

/// A replay that is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Replay {
    /// Only events of these kinds.
    pub kinds: Kinds,
    /// Only events that happened then.
    pub span: Span,
    /// How far it has come: events up to this position were sent, or wait.
    pub after: Position,
    /// The position of its last event.
    pub until: Position,
    /// When the next portion is due.
    pub next_at: Timestamp,
}

/// What a store keeps of a [`Replay`] beside `next_at`.
#[derive(Serialize, Deserialize)]
struct Stored {
    kinds: u8,
    from: Option<i64>,
    to: Option<i64>,
    after: (u64, u32),
    until: (u64, u32),
}

impl Replay {
    /// Whether this event belongs to it.
    pub fn includes(&self, position: Position, event: &Event) -> bool {
        self.after < position
            && position <= self.until
            && self.kinds.contains(event.data.kind())
            && self.span.contains(event.created_at)
    }

    /// All of it but `next_at`, as a store keeps it.
    pub fn to_stored(&self) -> String {
        let Self { kinds, span: Span { from, to }, after, until, next_at: _ } = self;
        let stored = Stored {
            kinds: kinds.bits(),
            from: from.map(Timestamp::as_millis),
            to: to.map(Timestamp::as_millis),
            after: (after.commit, after.place),
            until: (until.commit, until.place),
        };
        // Plain structs become JSON without fail.
        serde_json::to_string(&stored).unwrap_or_default()
    }

    /// What a store kept; `None` if that is no replay.
    pub fn from_stored(text: &str, next_at: Timestamp) -> Option<Self> {
        let Stored { kinds, from, to, after, until } = serde_json::from_str(text).ok()?;
        let (from, to) = (from.map(Timestamp::from_millis), to.map(Timestamp::from_millis));
        Some(Self {
            kinds: Kinds::of_bits(kinds),
            span: Span { from, to },
            after: position(after),
            until: position(until),
            next_at,
        })
    }
}

fn position((commit, place): (u64, u32)) -> Position {
    Position { commit, place }
}

/// The answer to a request for a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplayBegun {
    /// How many events it has.
    pub events: usize,
    /// The position of the last of them; `None` if it has none.
    pub reached: Option<Position>,
    /// Whether more events were asked for than a replay may have: those after `reached`.
    pub has_more: bool,
}

/// What is remembered of [`ReplayBegun`] under an idempotency key.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Remembered {
    events: usize,
    reached: Option<(u64, u32)>,
    has_more: bool,
}

impl Answer for ReplayBegun {
    type Kept = Remembered;

    fn kept(&self) -> Remembered {
        let Self { events, reached, has_more } = *self;
        let reached = reached.map(|Position { commit, place }| (commit, place));
        Remembered { events, reached, has_more }
    }
}

impl From<Remembered> for ReplayBegun {
    fn from(Remembered { events, reached, has_more }: Remembered) -> Self {
        Self { events, reached: reached.map(position), has_more }
    }
}

/// Why no replay begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ReplayRefused {
    /// The account has no such endpoint.
    #[error("no such endpoint")]
    NoSuchEndpoint,
    /// The endpoint is disabled: what waits for it is given up.
    #[error("the endpoint is disabled")]
    Disabled,
    /// Another replay to it is under way.
    #[error("a replay to this endpoint is under way")]
    UnderWay,
}

/// A request for a replay, whose events are counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayPlan {
    /// The account of the endpoint.
    pub account: AccountId,
    /// The endpoint.
    pub endpoint: EndpointId,
    /// The replay; `None` if there are no events for it.
    pub replay: Option<Replay>,
    /// The answer.
    pub begun: ReplayBegun,
}

impl ReplayPlan {
    /// The endpoint with the replay, for the endpoint that the store found under its lock.
    pub fn settle(&self, endpoint: Option<&Endpoint>) -> Result<Endpoint, ReplayRefused> {
        may_begin(endpoint)?;
        let endpoint = endpoint.ok_or(ReplayRefused::NoSuchEndpoint)?;
        Ok(Endpoint { replay: self.replay, ..endpoint.clone() })
    }
}

/// Whether a replay to this endpoint may begin.
pub fn may_begin(endpoint: Option<&Endpoint>) -> Result<(), ReplayRefused> {
    let endpoint = endpoint.ok_or(ReplayRefused::NoSuchEndpoint)?;
    if !endpoint.power.is_on() {
        return Err(ReplayRefused::Disabled);
    }
    if endpoint.replay.is_some() { Err(ReplayRefused::UnderWay) } else { Ok(()) }
}

/// How far a portion of a replay goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PortionEnd {
    /// Up to this position. The replay goes on behind it.
    At(Position),
    /// To the end of the replay.
    Last,
}

/// A portion of a replay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortionPlan {
    /// The account of the endpoint.
    pub account: AccountId,
    /// The endpoint.
    pub endpoint: EndpointId,
    /// The replay that the portion was read for.
    pub replay: Replay,
    /// The events, in order.
    pub events: Vec<Event>,
    /// How far it goes.
    pub end: PortionEnd,
    /// The time of the portion.
    pub at: Timestamp,
    /// Ids for the deliveries.
    pub ids: Ids,
}

/// What a portion writes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a verdict has to be written by the store"]
pub struct PortionWrites {
    /// The endpoint, whose replay has come further or has ended.
    pub endpoint: Endpoint,
    /// New deliveries to it.
    pub deliveries: Vec<Delivery>,
}

impl PortionPlan {
    /// What to write for the endpoint that the store found under its lock, and for those events of
    /// the portion that wait for it already. `None` if the endpoint or this replay is gone, or if
    /// another program was faster.
    pub fn settle(
        &self,
        endpoint: Option<&Endpoint>,
        waiting: &BTreeSet<EventId>,
    ) -> Option<PortionWrites> {
        let endpoint = endpoint.filter(|endpoint| endpoint.replay == Some(self.replay))?;
        let mut ids = self.ids.clone();
        let new = self.events.iter().filter(|event| !waiting.contains(&event.id));
        let deliveries = new.flat_map(|event| fan_out(event, [endpoint], &mut ids));
        let deliveries = deliveries.map(|delivery| delivery.made_at(self.at)).collect();
        let replay = match self.end {
            PortionEnd::Last => None,
            PortionEnd::At(after) => {
                Some(Replay { after, next_at: self.at.plus(EVERY), ..self.replay })
            }
        };
        Some(PortionWrites { endpoint: Endpoint { replay, ..endpoint.clone() }, deliveries })
    }
}

#[cfg(test)]
mod tests;
