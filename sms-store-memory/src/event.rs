//! The event log.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::time::Duration;

use async_trait::async_trait;
use sms_core::event::Raised;
use sms_core::event::kept::Kept;
use sms_core::event::log::{
    EventPage, EventRequest, LoggedEvent, NotARow, ReadFrom, Reading, Seen, StoredRow,
};
use sms_core::event::position::Position;
use sms_core::event::row::{EventRow, ROW_EVENTS, ROW_MILLIS, rows};
use sms_core::event::store::EventStore;
use sms_core::ids::{AccountId, EventId};
use sms_core::store::StoreError;
use sms_core::time::Timestamp;

use crate::MemoryStore;
use crate::state::State;

/// The commit of a row, and the place of its first event.
type Place = (u64, u32);

/// The events of a page, and the position at which the next page begins.
type Page = (Vec<(Position, Kept)>, Option<Position>);

/// After every place: clients may name any position.
const END: Place = (u64::MAX, u32::MAX);

/// The rows of all accounts.
#[derive(Default)]
pub(crate) struct EventLog {
    rows: BTreeMap<(AccountId, Place), Vec<u8>>,
    /// The same rows by the last of their ids.
    by_age: BTreeSet<(EventId, AccountId, Place)>,
    /// How many commits have written rows.
    commits: u64,
}

impl EventLog {
    /// Adds what one commit raises.
    pub(crate) fn write(&mut self, raised: &[Raised]) {
        let rows = rows(raised);
        self.commits += u64::from(!rows.is_empty());
        for EventRow { account, first, kinds: _, last_id, events } in rows {
            let place = (self.commits, first);
            self.by_age.insert((last_id, account, place));
            self.rows.insert((account, place), events);
        }
    }

    fn stored(&self, account: AccountId, place: Place) -> Option<StoredRow> {
        let events = self.rows.get(&(account, place))?.clone();
        Some(StoredRow { commit: place.0, first: place.1, events })
    }

    /// Shows the rows of a page to its reading.
    fn read(&self, account: AccountId, request: EventRequest) -> Result<Page, NotARow> {
        let mut reading = Reading::new(request);
        let own = match request.from {
            ReadFrom::Newest(None) => (0, 0)..END,
            ReadFrom::Newest(Some(before)) => (0, 0)..(before.commit, before.place),
            ReadFrom::After(Position { commit, place }) => {
                (commit, place.saturating_sub(ROW_EVENTS))..END
            }
        };
        let rows = self.rows.range((account, own.start)..(account, own.end));
        let rows = rows.map(|((_, place), _)| *place);
        let rows: Box<dyn Iterator<Item = Place>> = match request.from {
            ReadFrom::Newest(_) => Box::new(rows.rev()),
            ReadFrom::After(_) => Box::new(rows),
        };
        for row in rows.filter_map(|place| self.stored(account, place)) {
            if !reading.row(&row)? {
                break;
            }
        }
        Ok(reading.finish(Seen::All))
    }

    fn find(&self, account: AccountId, id: EventId) -> Result<Option<(Position, Kept)>, NotARow> {
        let latest = id.timestamp().plus(Duration::from_millis(ROW_MILLIS + 1));
        let near = self
            .by_age
            .range((id, AccountId::from_u128(0), (0, 0))..)
            .take_while(|(last, ..)| *last < EventId::first_at(latest))
            .filter(|(_, owner, _)| *owner == account);
        for (_, _, place) in near {
            let Some(row) = self.stored(account, *place) else { continue };
            if let Some(found) = row.find(id)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    fn tidy(&mut self, before: Timestamp, limit: usize) -> usize {
        let first = EventId::first_at(before);
        let old = self.by_age.iter().take_while(|(last, ..)| *last < first).take(limit);
        let old: Vec<_> = old.copied().collect();
        for row in &old {
            let (_, account, place) = *row;
            self.by_age.remove(row);
            self.rows.remove(&(account, place));
        }
        old.len()
    }
}

impl State {
    fn logged(
        &self,
        account: AccountId,
        (position, kept): (Position, Kept),
    ) -> Option<LoggedEvent> {
        let message = kept.message().and_then(|id| self.message_of(account, id));
        let event = kept.event(account, message.map(|stored| &stored.message))?;
        Some(LoggedEvent { position, event })
    }
}

#[async_trait]
impl EventStore for MemoryStore {
    async fn event_list(
        &self,
        account: AccountId,
        request: EventRequest,
    ) -> Result<EventPage, StoreError> {
        let state = self.state();
        let (found, next) = state.events.read(account, request).map_err(unreadable)?;
        let items = found.into_iter().map(|kept| state.logged(account, kept).ok_or_else(orphan));
        Ok(EventPage { items: items.collect::<Result<_, _>>()?, next })
    }

    async fn event_get(
        &self,
        account: AccountId,
        id: EventId,
    ) -> Result<Option<LoggedEvent>, StoreError> {
        let state = self.state();
        let found = state.events.find(account, id).map_err(unreadable)?;
        found.map(|kept| state.logged(account, kept).ok_or_else(orphan)).transpose()
    }

    async fn event_end(&self) -> Result<Position, StoreError> {
        Ok(Position::end_of(self.state().events.commits))
    }

    async fn events_after(
        &self,
        accounts: Vec<(AccountId, Position)>,
    ) -> Result<Vec<AccountId>, StoreError> {
        let state = self.state();
        let has_more = |(account, after): &(AccountId, Position)| {
            let first = (after.commit, after.place);
            let later = (Bound::Excluded((*account, first)), Bound::Included((*account, END)));
            state.events.rows.range(later).next().is_some()
        };
        Ok(accounts.iter().filter(|one| has_more(one)).map(|(account, _)| *account).collect())
    }

    async fn events_tidy(&self, before: Timestamp, limit: usize) -> Result<usize, StoreError> {
        Ok(self.state().events.tidy(before, limit))
    }
}

fn unreadable(error: NotARow) -> StoreError {
    StoreError::Internal { doing: "reading events", source: Some(Box::new(error)) }
}

fn orphan() -> StoreError {
    StoreError::Internal { doing: "reading the message of an event", source: None }
}
