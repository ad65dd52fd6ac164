//! Events: written to the log, and turned into deliveries, in the transaction that causes them.

pub(crate) mod base;
mod log;

use std::collections::BTreeSet;

use sms_core::commit::Raised;
use sms_core::event::row::{EventRow, rows};
use sms_core::ids::AccountId;
use sms_core::webhook::delivery::{Delivery, deliveries};
use sms_core::webhook::endpoint::Endpoint;
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row};

use crate::delivery::{self, Origin};
use crate::error::{PgError, PgResult};
use crate::row::{integer, uuid, uuids};
use crate::rows_query::rows_query;
use crate::webhook;
use crate::webhook::endpoint::endpoint_columns;

/// The beginning of a statement that inserts rows of the log, which follow with the alias `new`.
macro_rules! insert_events {
    () => {
        "INSERT INTO event (seq, account_id, place, kinds, last_id, events)
         SELECT (SELECT base FROM event_base) + pg_current_xact_id()::text::bigint, new.* FROM "
    };
}
pub(crate) use insert_events;

/// A column of a statement that locks rows which events are about: see [`check_order`]. A younger
/// transaction is at most a million numbers ahead; numbers of rows that nobody has changed for a
/// long time may look as if they were further ahead, because they are used again.
macro_rules! is_younger {
    () => {
        "age(pg_current_xact_id()::xid)::bigint - age(xmin) BETWEEN 1 AND 1000000 AS is_younger"
    };
}
pub(crate) use is_younger;

/// Refuses a row that a younger transaction changed last.
///
/// Events are in the order of their transactions' numbers. A transaction has its number from its
/// first lock. While it waits for a further one, a younger transaction may change that row and
/// raise an event about it. Then the waiting one has to begin anew, so that its own events come
/// later. The number of a subtransaction is greater than its transaction's, so that happens once
/// too often at times, and never too rarely.
///
/// # Errors
///
/// [`PgError::Overtaken`].
pub(crate) fn check_order(row: &PgRow) -> PgResult<()> {
    if row.try_get("is_younger")? { Err(PgError::Overtaken) } else { Ok(()) }
}

/// Writes events to the log, and their deliveries, in order.
pub(crate) async fn raise(connection: &mut PgConnection, raised: Vec<Raised>) -> PgResult<()> {
    insert(connection, rows(&raised)).await?;
    let raised = deliveries_of(connection, raised).await?;
    delivery::insert(connection, raised, Origin::Event).await
}

async fn insert(connection: &mut PgConnection, rows: Vec<EventRow>) -> PgResult<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let insert = rows_query!(
        "" insert_events!()
        rows(EventRow { account, first, kinds, last_id, events } in &rows) as new {
            account_id: uuid = uuid(*account),
            place: integer = integer(*first),
            kinds: smallint = i16::from(kinds.bits()),
            last_id: uuid = uuid(*last_id),
            events: bytea = events.as_slice(),
        }
    );
    insert.execute(connection).await?;
    Ok(())
}

/// The deliveries of events, in order, to the endpoints that their accounts have now.
pub(crate) async fn deliveries_of(
    connection: &mut PgConnection,
    raised: Vec<Raised>,
) -> PgResult<Vec<Delivery>> {
    let events = raised.iter().flat_map(|raised| &raised.events);
    let accounts: BTreeSet<AccountId> = events.map(|event| event.account).collect();
    if accounts.is_empty() {
        return Ok(Vec::new());
    }
    // Endpoints are not locked: a delivery to an endpoint that is deleted meanwhile is never
    // claimed.
    let rows = sqlx::query(concat!(
        "SELECT ",
        endpoint_columns!(),
        " FROM endpoint WHERE account_id = ANY($1) ORDER BY id"
    ))
    .bind(uuids(accounts))
    .fetch_all(&mut *connection)
    .await?;
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let endpoints: Vec<Endpoint> =
        rows.iter().map(webhook::endpoint::endpoint).collect::<PgResult<_>>()?;
    Ok(deliveries(raised, &endpoints.iter()))
}
