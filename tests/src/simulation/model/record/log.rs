//! What the model records of an account's event log.

use std::collections::BTreeMap;

use sms_core::event::log::LoggedEvent;
use sms_core::event::position::Position;
use sms_core::ids::EventId;

/// An event of a log.
#[derive(Debug)]
pub struct Entry {
    /// The event at its position, as it was when it was first read.
    pub logged: LoggedEvent,
    /// Whether it was removed since because it was old.
    pub removed: bool,
}

/// All events that were ever in the log of an account, in order.
#[derive(Debug, Default)]
pub struct LogModel {
    entries: Vec<Entry>,
    places: BTreeMap<EventId, usize>,
}

impl LogModel {
    /// The position of the last event.
    pub fn end(&self) -> Position {
        self.entries.last().map_or(Position::START, |entry| entry.logged.position)
    }

    /// Adds the next event. Returns false if it is there already.
    pub fn push(&mut self, logged: LoggedEvent) -> bool {
        let before = self.places.insert(logged.event.id, self.entries.len());
        self.entries.push(Entry { logged, removed: false });
        before.is_none()
    }

    /// The event with this id.
    pub fn find(&self, id: EventId) -> Option<&Entry> {
        self.entries.get(*self.places.get(&id)?)
    }

    /// All events after a position, up to and including another.
    pub fn between(&self, after: Position, to: Position) -> &[Entry] {
        let upto = |end| self.entries.partition_point(|entry| entry.logged.position <= end);
        self.entries.get(upto(after)..upto(to)).unwrap_or_default()
    }

    /// The events that are still there, in order.
    pub fn kept(&self) -> impl DoubleEndedIterator<Item = &LoggedEvent> {
        self.entries.iter().filter(|entry| !entry.removed).map(|entry| &entry.logged)
    }

    /// How many events were removed.
    pub fn removed(&self) -> usize {
        self.entries.iter().filter(|entry| entry.removed).count()
    }

    /// Notes that an event was removed.
    pub fn remove(&mut self, id: EventId) {
        let entry = self.places.get(&id).and_then(|place| self.entries.get_mut(*place));
        if let Some(entry) = entry {
            entry.removed = true;
        }
    }
}
