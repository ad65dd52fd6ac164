//! The event log.

use std::time::Duration;

use async_trait::async_trait;
use rusqlite::params;
use sms_core::commit::Raised;
use sms_core::event::kept::Kept;
use sms_core::event::log::{
    EventPage, EventRequest, LoggedEvent, NotARow, ReadFrom, Reading, Seen, StoredRow,
};
use sms_core::event::position::Position;
use sms_core::event::row::{EventRow, ROW_EVENTS, ROW_MILLIS, rows};
use sms_core::event::store::ReadsEvents;
use sms_core::ids::{AccountId, EventId};
use sms_core::store::StoreError;
use sms_core::time::Timestamp;

use crate::SqliteStore;
use crate::address_book::of_account;
use crate::db::Db;
use crate::error::{Invalid, Missing, SqlResult};
use crate::row::{Cols, id, size, whole};

/// How many rows a page looks at. Events of a rare kind may be far apart.
const LOOKED_AT: i64 = 5_000;

#[async_trait]
impl ReadsEvents for SqliteStore {
    async fn event_list(
        &self,
        account: AccountId,
        request: EventRequest,
    ) -> Result<EventPage, StoreError> {
        let page = self.read("listing events", move |db| {
            of_account(db, account, |no| list(db, account, no, request).map(Some))
        });
        Ok(page.await?.unwrap_or(EventPage { items: Vec::new(), next: None }))
    }

    async fn event_get(
        &self,
        account: AccountId,
        of: EventId,
    ) -> Result<Option<LoggedEvent>, StoreError> {
        self.look("reading an event", move |db| {
            of_account(db, account, |no| get(db, account, no, of))
        })
        .await
    }

    async fn event_ends(&self, accounts: Vec<AccountId>) -> Result<Vec<Position>, StoreError> {
        self.read("finding the ends of event logs", move |db| {
            accounts.iter().map(|account| end_of(db, *account)).collect()
        })
        .await
    }

    async fn events_after(
        &self,
        accounts: Vec<(AccountId, Position)>,
    ) -> Result<Vec<AccountId>, StoreError> {
        self.read("looking for new events", move |db| {
            let mut found = Vec::new();
            for (account, after) in &accounts {
                let Some(no) = db.account_no(*account)? else { continue };
                let has_more = db.has(
                    "SELECT 1 FROM event INDEXED BY event_by_account
                     WHERE account = ?1 AND (seq, place) > (?2, ?3) LIMIT 1",
                    params![no, whole(after.commit), after.place],
                )?;
                if has_more {
                    found.push(*account);
                }
            }
            Ok(found)
        })
        .await
    }
}

impl SqliteStore {
    pub(crate) async fn events_tidy(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> Result<usize, StoreError> {
        self.write("removing old events", move |db| {
            let removed = db.run(
                "DELETE FROM event WHERE no IN (
                     SELECT no FROM event INDEXED BY event_by_age
                     WHERE last_id < ?1 ORDER BY last_id, account LIMIT ?2)",
                params![id(EventId::first_at(before)), size(limit)],
            )?;
            Ok(db.note_tidied(removed))
        })
        .await
    }
}

/// The statement that reads rows of a page: in an account (`?1`), beyond a place (`?2`, `?3`), at
/// most so many (`?4`).
macro_rules! select_rows {
    ($beyond:literal, $order:literal) => {
        concat!(
            "SELECT seq, place, events, kinds FROM event INDEXED BY event_by_account
             WHERE account = ?1 AND (seq, place) ",
            $beyond,
            " (?2, ?3) ORDER BY ",
            $order,
            " LIMIT ?4"
        )
    };
}

fn list(db: &Db, account: AccountId, no: i64, request: EventRequest) -> SqlResult<EventPage> {
    let (statement, seq, place) = match request.from {
        ReadFrom::Newest(None) => (select_rows!("<", "seq DESC, place DESC"), i64::MAX, 0),
        ReadFrom::Newest(Some(before)) => (
            select_rows!("<", "seq DESC, place DESC"),
            whole(before.commit),
            i64::from(before.place),
        ),
        // The row with the event at the position begins after this.
        ReadFrom::After(after) => (
            select_rows!(">", "seq, place"),
            whole(after.commit),
            i64::from(after.place) - i64::from(ROW_EVENTS),
        ),
    };
    let mut reading = Reading::new(request);
    let mut statement = db.sql.prepare_cached(statement)?;
    let mut rows = statement.query(params![no, seq, place, LOOKED_AT])?;
    let (mut seen, mut looked_at) = (Seen::All, 0);
    while let Some(row) = rows.next()? {
        looked_at += 1;
        let mut c = Cols::of(row);
        let row = stored(&mut c)?;
        let is_wanted = c.get::<u8>()? & request.kinds.bits() != 0;
        if looked_at == LOOKED_AT {
            seen = Seen::Part;
        }
        if (is_wanted || seen == Seen::Part) && !reading.row(&row).map_err(unreadable)? {
            break;
        }
    }
    let (found, next) = reading.finish(seen);
    let items = found.into_iter().map(|kept| logged(db, account, kept));
    Ok(EventPage { items: items.collect::<SqlResult<_>>()?, next })
}

fn end_of(db: &Db, account: AccountId) -> SqlResult<Position> {
    let Some(no) = db.account_no(account)? else { return Ok(Position::START) };
    let last = db.one(
        "SELECT seq FROM event INDEXED BY event_by_account
         WHERE account = ?1 ORDER BY seq DESC LIMIT 1",
        params![no],
        |c| c.whole(),
    )?;
    Ok(last.map_or(Position::START, Position::end_of))
}

/// An event with the message that it is about.
fn logged(
    db: &Db,
    account: AccountId,
    (position, kept): (Position, Kept),
) -> SqlResult<LoggedEvent> {
    let message = match kept.message() {
        Some(of) => db.message(of)?.filter(|message| message.account == account),
        None => None,
    };
    let event = kept.event(account, message.as_ref());
    let event = event.ok_or_else(|| Missing::error("the message of an event"))?;
    Ok(LoggedEvent { position, event })
}

fn get(db: &Db, account: AccountId, no: i64, of: EventId) -> SqlResult<Option<LoggedEvent>> {
    let latest = of.timestamp().plus(Duration::from_millis(ROW_MILLIS + 1));
    let row = db.one(
        "SELECT seq, place, events FROM event INDEXED BY event_by_age
         WHERE last_id >= ?1 AND last_id < ?2 AND account = ?3 AND instr(events, ?1) > 0
         ORDER BY last_id LIMIT 1",
        params![id(of), id(EventId::first_at(latest)), no],
        stored,
    )?;
    let Some(row) = row else { return Ok(None) };
    let found = row.find(of).map_err(unreadable)?;
    found.map(|kept| logged(db, account, kept)).transpose()
}

fn stored(c: &mut Cols<'_>) -> SqlResult<StoredRow> {
    Ok(StoredRow { commit: c.whole()?, first: c.count()?, events: c.get()? })
}

fn unreadable(_: NotARow) -> rusqlite::Error {
    rusqlite::Error::ToSqlConversionFailure(Box::new(Invalid("events".to_owned())))
}

impl Db {
    /// Adds what one command raises to the log.
    pub(crate) fn log_events(&self, raised: &[Raised]) -> SqlResult<()> {
        let rows = rows(raised);
        if rows.is_empty() {
            return Ok(());
        }
        let seq = self.next_event_seq()?;
        for EventRow { account, first, kinds, last_id, events } in rows {
            self.run(
                "INSERT INTO event (account, seq, place, kinds, last_id, events)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![
                    self.known_account(account)?,
                    seq,
                    first,
                    kinds.bits(),
                    id(last_id),
                    events
                ],
            )?;
        }
        Ok(())
    }
}
