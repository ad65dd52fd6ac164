//! Replays: sending an endpoint again what the event log has for it.
//!
//! A replay is remembered with its endpoint. It is sent in small portions, each once nothing else
//! waits for the endpoint: so it delays new events by one portion at most, and its memory and its
//! commits are small however much there is to send. The replays of an account take turns, so that
//! all of them together send no more than one, wherever they go.

use std::ops::ControlFlow;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::event::Event;
use crate::event::kinds::Kinds;
use crate::event::position::Position;
use crate::idempotency::Answer;
use crate::page::Limit;
use crate::time::Timestamp;

pub mod plan;

/// The most events of a replay.
pub const MOST_EVENTS: usize = 100_000;
/// The most pages of the log that a request reads to count its events.
pub const MOST_PAGES: usize = 200;
/// The most events of a portion.
pub const PORTION: Limit = Limit::REPLAY;
/// How long after a portion the next one is due.
pub const EVERY: Duration = Duration::from_millis(70);
/// From this many failures in a row on, an endpoint seems to be down. Its replay then waits until
/// nothing at all waits for the endpoint: portions that fail would soon disable it.
pub const DOWN_AFTER: u32 = 10;

/// The time in which events happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    /// Only events at this time or later; `None` for no bound.
    pub from: Option<Timestamp>,
    /// Only events before this time; `None` for no bound.
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
        // Serialising a plain struct cannot fail.
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
    /// The position of the last of them, or how far the log was read; `None` if all of it was and
    /// there are none.
    pub reached: Option<Position>,
    /// Whether more events were asked for than a replay may have, or read: those after `reached`.
    pub has_more: bool,
}

impl ReplayBegun {
    /// The answer before any event is counted.
    pub const NONE: Self = Self { events: 0, reached: None, has_more: false };

    /// Counts one more event, at this position; breaks off once there are more than
    /// [`MOST_EVENTS`].
    pub fn count(self, position: Position) -> ControlFlow<Self, Self> {
        if self.events == MOST_EVENTS {
            return ControlFlow::Break(Self { has_more: true, ..self });
        }
        ControlFlow::Continue(Self { events: self.events + 1, reached: Some(position), ..self })
    }

    /// Continues after this many pages of the log, unless there were [`MOST_PAGES`]: then the
    /// answer says how far they reached.
    pub fn read(self, pages: usize, reached: Position) -> ControlFlow<Self, Self> {
        if pages >= MOST_PAGES {
            return ControlFlow::Break(Self { reached: Some(reached), has_more: true, ..self });
        }
        ControlFlow::Continue(self)
    }
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

#[cfg(test)]
mod tests;
