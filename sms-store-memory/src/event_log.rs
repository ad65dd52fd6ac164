//! The rows of the event log.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::time::Duration;

use sms_core::event::Raised;
use sms_core::event::kept::Kept;
use sms_core::event::log::{EventRequest, NotARow, ReadFrom, Reading, Seen, StoredRow};
use sms_core::event::position::Position;
use sms_core::event::row::{EventRow, ROW_EVENTS, ROW_MILLIS, rows};
use sms_core::ids::{AccountId, EventId};
use sms_core::time::Timestamp;

/// The commit of a row, and the place of its first event.
type Place = (u64, u32);

/// The events of a page, and the position at which the next page begins.
pub(crate) type Page = (Vec<(Position, Kept)>, Option<Position>);

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
    pub(crate) fn read(&self, account: AccountId, request: EventRequest) -> Result<Page, NotARow> {
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

    pub(crate) fn find(
        &self,
        account: AccountId,
        id: EventId,
    ) -> Result<Option<(Position, Kept)>, NotARow> {
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

    pub(crate) fn tidy(&mut self, before: Timestamp, limit: usize) -> usize {
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

    /// The end of the last commit whose events an account has.
    pub(crate) fn end_of(&self, account: AccountId) -> Position {
        let mut own = self.rows.range((account, (0, 0))..=(account, END));
        own.next_back().map_or(Position::START, |((_, (commit, _)), _)| Position::end_of(*commit))
    }

    /// Whether the account has events after this position.
    pub(crate) fn goes_on(&self, account: AccountId, after: Position) -> bool {
        let first = (after.commit, after.place);
        let later = (Bound::Excluded((account, first)), Bound::Included((account, END)));
        self.rows.range(later).next().is_some()
    }
}
