//! Reading the event log: every event of an account, in the order of the commits that raised them.
//!
//! A store keeps [rows](super::row), shows them to a [`Reading`] in order, and adds the messages
//! that the events are about.

use super::kept::Kept;
use super::kinds::Kinds;
use super::position::Position;
use super::{Event, bytes};
use crate::ids::EventId;
use crate::page::Limit;

/// How long events are kept unless the operator says otherwise: 30 days.
pub const KEPT_FOR: std::time::Duration = std::time::Duration::from_hours(30 * 24);

/// An event and its place in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedEvent {
    /// Where the event is in the log; never changes.
    pub position: Position,
    /// The event, as webhooks are sent it.
    pub event: Event,
}

/// Where a page of the log begins, and in which direction it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadFrom {
    /// Newest first, below this position; from the newest on for `None`.
    Newest(Option<Position>),
    /// Oldest first, above this position.
    After(Position),
}

/// Which page of the log to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventRequest {
    /// Only events of these kinds.
    pub kinds: Kinds,
    /// Where the page begins.
    pub from: ReadFrom,
    /// How many events the page has at most.
    pub limit: Limit,
}

impl EventRequest {
    /// The first events of every kind after this position, oldest first, as many as a page has by
    /// default.
    ///
    /// ```
    /// use sms_core::event::log::{EventRequest, ReadFrom};
    /// use sms_core::event::position::Position;
    ///
    /// let all = EventRequest::after(Position::START);
    /// assert_eq!(all.from, ReadFrom::After(Position::START));
    /// ```
    pub fn after(position: Position) -> Self {
        Self { kinds: Kinds::all(), from: ReadFrom::After(position), limit: Limit::default() }
    }
}

/// A page of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventPage {
    /// The events, in the order asked for.
    pub items: Vec<LoggedEvent>,
    /// Where to go on in that direction; `None` if there is no more for now. A page may end early,
    /// even without an event: it still says where to go on.
    pub next: Option<Position>,
}

/// A row as a store found it.
#[derive(Debug)]
pub struct StoredRow {
    /// The commit that wrote it.
    pub commit: u64,
    /// The place of its first event: see [`EventRow::first`](super::row::EventRow::first).
    pub first: u32,
    /// The encoded events: see [`EventRow::events`](super::row::EventRow::events).
    pub events: Vec<u8>,
}

/// The bytes of a row are not what the program writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the row does not hold events")]
pub struct NotARow;

impl StoredRow {
    fn events(&self) -> Result<Vec<(Position, Kept)>, NotARow> {
        let kept = bytes::read(&self.events).ok_or(NotARow)?;
        let places = (self.first..).map(|place| Position { commit: self.commit, place });
        Ok(places.zip(kept).collect())
    }

    /// The event with this id; `None` if the row does not have it.
    ///
    /// # Errors
    ///
    /// If the row cannot be read.
    pub fn find(&self, id: EventId) -> Result<Option<(Position, Kept)>, NotARow> {
        Ok(self.events()?.into_iter().find(|(_, kept)| kept.id == id))
    }
}

/// Whether a store has shown a [`Reading`] all rows that there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// There are no more.
    All,
    /// The store stopped at the row that it showed last.
    Part,
}

/// A page under way: collects events from rows, which a store shows in the order asked for. The
/// first row may begin before the page does.
#[derive(Debug)]
pub struct Reading {
    request: EventRequest,
    found: Vec<(Position, Kept)>,
    last_seen: Option<Position>,
}

impl Reading {
    /// A page that no row has been shown to yet.
    pub fn new(request: EventRequest) -> Self {
        Self { request, found: Vec::new(), last_seen: None }
    }

    /// Takes the next row. Returns false once the page is full, so that no more rows are needed.
    ///
    /// # Errors
    ///
    /// If the row cannot be read.
    pub fn row(&mut self, row: &StoredRow) -> Result<bool, NotARow> {
        let mut events = row.events()?;
        let is_wanted: &dyn Fn(Position) -> bool = match self.request.from {
            ReadFrom::After(after) => &move |position| position > after,
            ReadFrom::Newest(Some(before)) => &move |position| position < before,
            ReadFrom::Newest(None) => &|_| true,
        };
        if matches!(self.request.from, ReadFrom::Newest(_)) {
            events.reverse();
        }
        for (position, kept) in events.into_iter().filter(|(position, _)| is_wanted(*position)) {
            self.last_seen = Some(position);
            if self.request.kinds.contains(kept.kind()) {
                self.found.push((position, kept));
            }
        }
        Ok(self.found.len() <= self.request.limit.get())
    }

    /// The events of the page, and where to go on.
    pub fn finish(self, seen: Seen) -> (Vec<(Position, Kept)>, Option<Position>) {
        let Self { request, mut found, last_seen } = self;
        let limit = request.limit.get();
        let next = if found.len() > limit {
            found.truncate(limit);
            found.last().map(|(position, _)| *position)
        } else if seen == Seen::Part {
            last_seen
        } else {
            None
        };
        (found, next)
    }
}

#[cfg(test)]
mod tests;
