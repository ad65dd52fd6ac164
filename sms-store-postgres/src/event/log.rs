//! Reading the event log.
//!
//! A transaction that began before another can commit after it, and then has the smaller number. So
//! readers see only what is below the horizon: the smallest number of a transaction that is under
//! way and may raise events.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use sms_core::event::kept::Kept;
use sms_core::event::log::{
    EventPage, EventRequest, LoggedEvent, NotARow, ReadFrom, Reading, Seen, StoredRow,
};
use sms_core::event::position::Position;
use sms_core::event::row::{ROW_EVENTS, ROW_MILLIS};
use sms_core::event::store::ReadsEvents;
use sms_core::ids::{AccountId, EventId, MessageId};
use sms_core::message::Message;
use sms_core::store::StoreError;
use sms_core::time::Timestamp;
use sqlx::postgres::PgRow;
use sqlx::{PgPool, Row};
use tokio::time::sleep;

use crate::error::{Context, PgError, PgResult};
use crate::row::{self, Read, bigint, integer, uuid, uuids};
use crate::rows_query::rows_query;
use crate::{PgStore, message_columns};

/// How many rows a page looks at. Events of a rare kind may be far apart.
const LOOKED_AT: i64 = 5_000;
/// How often, and how far apart, an event that is committed is looked for again until it may be
/// shown.
const LOOKS: u32 = 200;
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(10);

#[async_trait]
impl ReadsEvents for PgStore {
    async fn event_list(
        &self,
        account: AccountId,
        request: EventRequest,
    ) -> Result<EventPage, StoreError> {
        list(&self.pool, account, request).await.context("listing events")
    }

    async fn event_get(
        &self,
        account: AccountId,
        id: EventId,
    ) -> Result<Option<LoggedEvent>, StoreError> {
        get(&self.pool, account, id).await.context("reading an event")
    }

    async fn event_ends(&self, accounts: Vec<AccountId>) -> Result<Vec<Position>, StoreError> {
        ends(&self.pool, &accounts).await.context("finding the ends of event logs")
    }

    async fn events_after(
        &self,
        accounts: Vec<(AccountId, Position)>,
    ) -> Result<Vec<AccountId>, StoreError> {
        let doing = "looking for new events";
        let horizon = horizon(&self.pool).await.context(doing)?;
        let query = rows_query!(
            [horizon]
            "SELECT a.account_id FROM " rows((account, after) in &accounts) as a {
                account_id: uuid = uuid(*account),
                seq: bigint = bigint(after.commit),
                place: integer = integer(after.place),
            } "
            CROSS JOIN LATERAL (
                SELECT FROM event e
                WHERE e.account_id = a.account_id AND (e.seq, e.place) > (a.seq, a.place)
                    AND e.seq < $1
                LIMIT 1) AS found"
        );
        let rows = query.fetch_all(&self.pool).await.context(doing)?;
        rows.iter().map(|row| row.id("account_id")).collect::<PgResult<_>>().context(doing)
    }
}

impl PgStore {
    pub(crate) async fn events_tidy(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> Result<usize, StoreError> {
        let doing = "removing old events";
        let delete = sqlx::query(
            "DELETE FROM event WHERE ctid = ANY(ARRAY(
                 SELECT ctid FROM event WHERE last_id < $1
                 ORDER BY last_id, account_id LIMIT $2 FOR UPDATE SKIP LOCKED))",
        );
        let delete = delete
            .bind(uuid(EventId::first_at(before)))
            .bind(i64::try_from(limit).unwrap_or(i64::MAX));
        let deleted = delete.execute(&self.pool).await.context(doing)?;
        Ok(usize::try_from(deleted.rows_affected()).unwrap_or(usize::MAX))
    }
}

/// The statement that reads rows of a page: in an account (`$1`), beyond a place (`$2`, `$3`), with
/// some of these kinds (`$4`), at most so many (`$5`) of so many that it looks at (`$6`), below the
/// horizon (`$7`).
macro_rules! select_rows {
    ($beyond:literal, $order:literal) => {
        concat!(
            "SELECT seq, place, events, looked_at FROM (
                 SELECT seq, place, kinds, events, row_number() OVER (ORDER BY ",
            $order,
            ") AS looked_at
                 FROM event
                 WHERE account_id = $1 AND (seq, place) ",
            $beyond,
            " ($2, $3) AND seq < $7
                 ORDER BY ",
            $order,
            " LIMIT $6) AS near
             WHERE kinds & $4 <> 0 OR looked_at = $6
             ORDER BY ",
            $order,
            " LIMIT $5"
        )
    };
}

/// Every number below this belongs to a transaction that has ended, or that raises no events.
async fn horizon(pool: &PgPool) -> PgResult<i64> {
    Ok(sqlx::query_scalar("SELECT event_horizon()").fetch_one(pool).await?)
}

/// The horizon itself is not an end. It also counts transactions that a crash or a failover may
/// erase, and their numbers are then used again.
async fn ends(pool: &PgPool, accounts: &[AccountId]) -> PgResult<Vec<Position>> {
    let horizon = horizon(pool).await?;
    let query = rows_query!(
        [horizon]
        "SELECT a.account_id, last.seq FROM " rows(account in accounts) as a {
            account_id: uuid = uuid(*account),
        } "
        CROSS JOIN LATERAL (
            SELECT e.seq FROM event e
            WHERE e.account_id = a.account_id AND e.seq < $1
            ORDER BY e.seq DESC
            LIMIT 1) AS last"
    );
    let mut ends: BTreeMap<AccountId, Position> = BTreeMap::new();
    for row in &query.fetch_all(pool).await? {
        let seq = u64::try_from(row.try_get::<i64, _>("seq")?);
        let seq = seq.map_err(|_| PgError::invalid("seq"))?;
        ends.insert(row.id("account_id")?, Position::end_of(seq));
    }
    let end = |account: &AccountId| ends.get(account).copied().unwrap_or(Position::START);
    Ok(accounts.iter().map(end).collect())
}

async fn list(pool: &PgPool, account: AccountId, request: EventRequest) -> PgResult<EventPage> {
    let (statement, seq, place) = match request.from {
        ReadFrom::Newest(None) => (select_rows!("<", "seq DESC, place DESC"), i64::MAX, 0),
        ReadFrom::Newest(Some(before)) => (
            select_rows!("<", "seq DESC, place DESC"),
            bigint(before.commit),
            integer(before.place),
        ),
        // The row with the event at the position begins after this.
        ReadFrom::After(after) => (
            select_rows!(">", "seq, place"),
            bigint(after.commit),
            integer(after.place).saturating_sub(integer(ROW_EVENTS)),
        ),
    };
    // One row may be read already, and every other has an event of the page.
    let most = i64::try_from(request.limit.get()).unwrap_or(i64::MAX) + i64::from(ROW_EVENTS) + 1;
    let horizon = horizon(pool).await?;
    let rows = sqlx::query(statement)
        .bind(uuid(account))
        .bind(seq)
        .bind(place)
        .bind(i16::from(request.kinds.bits()))
        .bind(most)
        .bind(LOOKED_AT)
        .bind(horizon)
        .fetch_all(pool)
        .await?;
    let mut reading = Reading::new(request);
    let mut seen = Seen::All;
    for row in &rows {
        if !reading.row(&stored(row)?).map_err(unreadable)? {
            break;
        }
        if row.try_get::<i64, _>("looked_at")? == LOOKED_AT {
            seen = Seen::Part;
        }
    }
    let (found, next) = reading.finish(seen);
    Ok(EventPage { items: with_messages(pool, account, found).await?, next })
}

fn stored(row: &PgRow) -> PgResult<StoredRow> {
    row.in_table("event", || {
        let commit = u64::try_from(row.try_get::<i64, _>("seq")?);
        Ok(StoredRow {
            commit: commit.map_err(|_| PgError::invalid("seq"))?,
            first: row.count("place")?,
            events: row.try_get("events")?,
        })
    })
}

fn unreadable(_: NotARow) -> PgError {
    PgError::invalid("events")
}

/// The events with the messages that they are about.
async fn with_messages(
    pool: &PgPool,
    account: AccountId,
    found: Vec<(Position, Kept)>,
) -> PgResult<Vec<LoggedEvent>> {
    let mut ids: Vec<MessageId> = found.iter().filter_map(|(_, kept)| kept.message()).collect();
    ids.sort_unstable();
    ids.dedup();
    let mut messages: BTreeMap<MessageId, Message> = BTreeMap::new();
    if !ids.is_empty() {
        let query = concat!(
            "SELECT ",
            message_columns!(),
            " FROM UNNEST($2::uuid[]) AS wanted (id)
             CROSS JOIN LATERAL (
                 SELECT * FROM message WHERE account_id = $1 AND id = wanted.id LIMIT 1) AS m"
        );
        let rows = sqlx::query(query).bind(uuid(account)).bind(uuids(ids)).fetch_all(pool).await?;
        for row in &rows {
            let message = row::message(row)?;
            messages.insert(message.id, message);
        }
    }
    let logged = |(position, kept): (Position, Kept)| {
        let message = kept.message().and_then(|id| messages.get(&id));
        let event = kept.event(account, message).ok_or(PgError::Missing("message"))?;
        Ok(LoggedEvent { position, event })
    };
    found.into_iter().map(logged).collect()
}

async fn get(pool: &PgPool, account: AccountId, id: EventId) -> PgResult<Option<LoggedEvent>> {
    let latest = id.timestamp().plus(Duration::from_millis(ROW_MILLIS + 1));
    for _ in 0..LOOKS {
        let row = sqlx::query(
            "SELECT seq, place, events FROM event
             WHERE last_id >= $2 AND last_id < $3 AND account_id = $1
                 AND position($4 IN events) > 0
             ORDER BY last_id, account_id LIMIT 1",
        )
        .bind(uuid(account))
        .bind(uuid(id))
        .bind(uuid(EventId::first_at(latest)))
        .bind(id.as_u128().to_be_bytes().as_slice())
        .fetch_optional(pool)
        .await?;
        let Some(row) = row else { return Ok(None) };
        if row.try_get::<i64, _>("seq")? >= horizon(pool).await? {
            // A transaction that began before it is still under way.
            sleep(LOOK_AGAIN_AFTER).await;
            continue;
        }
        let found = stored(&row)?.find(id).map_err(unreadable)?;
        return Ok(with_messages(pool, account, found.into_iter().collect()).await?.pop());
    }
    Err(PgError::Silent)
}
