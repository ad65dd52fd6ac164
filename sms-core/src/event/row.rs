//! Rows of the event log: what a commit writes because it raises events.

use super::kept::Kept;
use super::kinds::Kinds;
use super::{Raised, bytes};
use crate::ids::{AccountId, EventId};

/// The most events of a row.
pub const ROW_EVENTS: u32 = 40;
/// A row with this many bytes is full: with the store's own columns it stays below 2,000 bytes,
/// unless a single event is larger.
const ROW_BYTES: usize = 1_700;
/// The ids of the events of a row were made within this many milliseconds. So an event is found by
/// its id among the rows whose last ids are at most this much later.
pub const ROW_MILLIS: u64 = 10_000;

/// Some events of one account that one commit raised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventRow {
    /// The account that all events of the row belong to.
    pub account: AccountId,
    /// The place of the first of them among the events that the commit raised for the account.
    pub first: u32,
    /// The kinds that occur.
    pub kinds: Kinds,
    /// The greatest id of them.
    pub last_id: EventId,
    /// The events, which only the core reads: see [`Reading`](super::log::Reading).
    pub events: Vec<u8>,
}

/// The rows of a commit that raises these events, which the store writes in that commit.
pub fn rows<'a>(raised: impl IntoIterator<Item = &'a Raised>) -> Vec<EventRow> {
    let mut rows: Vec<EventRow> = Vec::new();
    let events = raised.into_iter().flat_map(|raised| &raised.events);
    // In most commits, all events are of one account.
    let mut open: Vec<Open> = Vec::new();
    for event in events {
        let Some(kept) = Kept::of(event) else { continue };
        let place = open.iter().position(|open| open.row.account == event.account);
        let place = place.unwrap_or_else(|| {
            open.push(Open::new(event.account, 0));
            open.len() - 1
        });
        let current = &mut open[place];
        if !current.takes(&kept) {
            let next = Open::new(event.account, current.row.first + current.count);
            rows.push(std::mem::replace(current, next).row);
        }
        current.add(&kept);
    }
    rows.extend(open.into_iter().map(|open| open.row));
    rows
}

/// A row that may take more events.
struct Open {
    row: EventRow,
    count: u32,
    first_id: EventId,
}

impl Open {
    fn new(account: AccountId, first: u32) -> Self {
        let last_id = EventId::from_u128(0);
        let row = EventRow { account, first, kinds: Kinds::default(), last_id, events: Vec::new() };
        Self { row, count: 0, first_id: EventId::from_u128(u128::MAX) }
    }

    fn takes(&self, kept: &Kept) -> bool {
        let first = self.first_id.min(kept.id).timestamp().as_millis();
        let last = self.row.last_id.max(kept.id).timestamp().as_millis();
        self.count == 0
            || self.count < ROW_EVENTS
                && self.row.events.len() < ROW_BYTES
                && last.abs_diff(first) <= ROW_MILLIS
    }

    fn add(&mut self, kept: &Kept) {
        self.count += 1;
        self.row.kinds.insert(kept.kind());
        self.row.last_id = self.row.last_id.max(kept.id);
        self.first_id = self.first_id.min(kept.id);
        bytes::write(kept, &mut self.row.events);
    }
}
