//! Claims due deliveries with a handful of statements, whatever the number of endpoints and
//! deliveries, and with one where none is due.

use std::collections::BTreeMap;

use sms_core::ids::EndpointId;
use sms_core::store::StoreError;
use sms_core::time::Timestamp;
use sms_core::webhook::attempt::{
    ClaimedDelivery, DeliveryClaim, DeliveryClaimPlan, Room, settle_claim,
};
use sms_core::webhook::delivery::Delivery;
use sms_core::webhook::endpoint::Endpoint;
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, PgPool, Row};
use uuid::Uuid;

use super::endpoint::{endpoint as read_endpoint, endpoint_columns};
use crate::begin::begin;
use crate::delivery::{self, delivery_columns};
use crate::error::{Context, PgResult};
use crate::row::{Read, time, uuid, uuids};
use crate::rows_query::rows_query;

/// How many of the first due deliveries are read to find their endpoints. Where more are due, the
/// query steps from endpoint to endpoint instead, so that a long backlog of one hides no other.
const FIRST: i64 = 1_000;

/// The same for the next moment at which something is due.
const FIRST_FOR_NEXT: i64 = 100;

/// All endpoints with pending deliveries, as `waiting`. It steps from endpoint to endpoint through
/// the index, so that a backlog costs no more than one delivery. Its last row is null.
macro_rules! waiting {
    () => {
        "WITH RECURSIVE waiting AS (
             (SELECT endpoint_id FROM delivery WHERE claimable_at IS NOT NULL
              ORDER BY endpoint_id LIMIT 1)
             UNION ALL
             SELECT (SELECT d.endpoint_id FROM delivery d
                     WHERE d.claimable_at IS NOT NULL AND d.endpoint_id > waiting.endpoint_id
                     ORDER BY d.endpoint_id LIMIT 1)
             FROM waiting WHERE waiting.endpoint_id IS NOT NULL
         ) "
    };
}
pub(super) use waiting;

/// Of the endpoints in `waiting` that are not paused, those that have due deliveries and room for
/// them, the longest due first, each with the number that it has room for. Failing endpoints have a
/// separate share, so that they do not crowd out the others.
macro_rules! endpoints_due {
    () => {
        concat!(
            "SELECT ",
            endpoint_columns!(),
            ", due FROM (
             SELECT e.*, own.first_at, own.due,
                 row_number() OVER (PARTITION BY e.consecutive_failures > 0
                                    ORDER BY own.first_at, e.id) AS place
             FROM waiting
             JOIN endpoint e ON e.id = waiting.endpoint_id
             CROSS JOIN LATERAL (
                 SELECT min(few.claimable_at) AS first_at, count(*) AS due
                 FROM (SELECT d.claimable_at FROM delivery d
                       WHERE d.endpoint_id = e.id AND d.run = e.run AND d.claimable_at <= $1
                       ORDER BY d.claimable_at LIMIT $2) AS few
             ) AS own
             WHERE own.due > 0 AND e.id <> ALL($3) AND (e.consecutive_failures = 0 OR $4)
                 AND (e.paused_until IS NULL OR e.paused_until <= $1)
         ) AS found
         WHERE place <= $5
         ORDER BY first_at, id"
        )
    };
}

/// How to find the endpoints with due deliveries.
enum Search {
    /// Nothing is due.
    None,
    /// Only these have due deliveries.
    Among(Vec<Uuid>),
    /// More deliveries are due than were read.
    All,
}

pub(super) async fn claim(
    pool: &PgPool,
    plan: DeliveryClaimPlan,
) -> Result<Vec<ClaimedDelivery>, StoreError> {
    let doing = "claiming webhook deliveries";
    let DeliveryClaimPlan { at, lease, mut room } = plan;
    if room.total == 0 {
        return Ok(Vec::new());
    }
    let search = search(pool, at).await.context(doing)?;
    if matches!(search, Search::None) {
        return Ok(Vec::new());
    }
    let mut tx = begin(pool).await.context(doing)?;
    let due = endpoints_due(&mut tx, search, at, &room).await.context(doing)?;
    let mut wanted = Vec::with_capacity(due.len());
    let mut endpoints = BTreeMap::new();
    for (endpoint, due) in due {
        let count = room.of(&endpoint, at).min(due);
        if count > 0 {
            room.take(&endpoint, count);
            wanted.push((endpoint.id, count));
            endpoints.insert(endpoint.id, endpoint);
        }
    }
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let mut taken = Vec::new();
    let mut changed = Vec::new();
    for due in take(&mut tx, &wanted, at).await.context(doing)? {
        let Some(endpoint) = endpoints.get(&due.endpoint) else { continue };
        match settle_claim(due, endpoint, lease, at) {
            DeliveryClaim::Take(held, claimed) => {
                changed.push(*held);
                taken.push(*claimed);
            }
            DeliveryClaim::GiveUp(given_up) => changed.push(*given_up),
        }
    }
    delivery::update(&mut tx, &changed).await.context(doing)?;
    tx.commit().await.context(doing)?;
    Ok(taken)
}

/// Reads the deliveries that are due first. Endpoints whose deliveries are due later cost nothing.
async fn search(pool: &PgPool, at: Timestamp) -> PgResult<Search> {
    let rows = sqlx::query(
        "SELECT endpoint_id, count(*) AS due
         FROM (SELECT endpoint_id FROM delivery WHERE claimable_at <= $1
               ORDER BY claimable_at LIMIT $2) AS first
         GROUP BY endpoint_id",
    )
    .bind(time(at))
    .bind(FIRST)
    .fetch_all(pool)
    .await?;
    let mut looked_at = 0;
    let mut found = Vec::with_capacity(rows.len());
    for row in &rows {
        looked_at += row.try_get::<i64, _>("due")?;
        found.push(row.try_get("endpoint_id")?);
    }
    Ok(match looked_at {
        0 => Search::None,
        count if count < FIRST => Search::Among(found),
        _ => Search::All,
    })
}

async fn endpoints_due(
    connection: &mut PgConnection,
    search: Search,
    at: Timestamp,
    room: &Room,
) -> PgResult<Vec<(Endpoint, usize)>> {
    let full = room.endpoints.iter().filter(|(_, room)| **room == 0);
    let full = uuids(full.map(|(id, _)| *id));
    let most = room.endpoints.values().copied().fold(room.each, usize::max).min(room.total);
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let total = i64::try_from(room.total).unwrap_or(i64::MAX);
    let query = match search {
        Search::None => return Ok(Vec::new()),
        Search::All => rows_query!(
            [time(at), most, full, room.failing > 0, total]
            waiting!() endpoints_due!()
        ),
        Search::Among(ids) => rows_query!(
            [time(at), most, full, room.failing > 0, total]
            "WITH waiting AS (SELECT * FROM " rows(id in &ids) as among {
                endpoint_id: uuid = *id,
            } ") " endpoints_due!()
        ),
    };
    let rows = query.fetch_all(connection).await?;
    rows.iter().map(endpoint_and_due).collect()
}

fn endpoint_and_due(row: &PgRow) -> PgResult<(Endpoint, usize)> {
    let due = usize::try_from(row.try_get::<i64, _>("due")?).unwrap_or(usize::MAX);
    Ok((read_endpoint(row)?, due))
}

/// Locks due deliveries in order, up to the wanted number of each endpoint. Skips what another
/// worker has locked.
async fn take(
    connection: &mut PgConnection,
    wanted: &[(EndpointId, usize)],
    at: Timestamp,
) -> PgResult<Vec<Delivery>> {
    let query = rows_query!(
        [time(at)]
        "SELECT " delivery_columns!() "
         FROM " rows((id, most) in wanted) with_ordinality(place) as wanted {
            id: uuid = uuid(*id),
            most: bigint = i64::try_from(*most).unwrap_or(i64::MAX),
         } "
         JOIN endpoint e ON e.id = wanted.id
         CROSS JOIN LATERAL (
             SELECT * FROM delivery own
             WHERE own.endpoint_id = e.id AND own.run = e.run AND own.claimable_at <= $1
             ORDER BY own.claimable_at, own.id LIMIT wanted.most
             FOR UPDATE SKIP LOCKED
         ) AS d
         ORDER BY wanted.place, d.claimable_at, d.id"
    );
    let rows = query.fetch_all(connection).await?;
    rows.iter().map(delivery::delivery).collect()
}

/// The earliest moment at which a delivery can be claimed. Those of a paused endpoint can be when
/// the pause ends.
pub(super) async fn next(pool: &PgPool) -> PgResult<Option<Timestamp>> {
    let row = sqlx::query(
        "SELECT count(*) AS looked_at, max(claimable_at) AS last_at,
             min(greatest(claimable_at, paused_until)) FILTER (WHERE is_current) AS next
         FROM (SELECT first.claimable_at, e.paused_until, e.run = first.run AS is_current
               FROM (SELECT endpoint_id, run, claimable_at
                     FROM delivery WHERE claimable_at IS NOT NULL ORDER BY claimable_at LIMIT $1)
                    AS first
               LEFT JOIN LATERAL (SELECT e.run, e.paused_until FROM endpoint e
                                  WHERE e.id = first.endpoint_id) AS e ON true) AS found",
    )
    .bind(FIRST_FOR_NEXT)
    .fetch_one(pool)
    .await?;
    let (next, last) = (row.maybe_at("next")?, row.maybe_at("last_at")?);
    let is_all = row.try_get::<i64, _>("looked_at")? < FIRST_FOR_NEXT;
    // A delivery that was not looked at may be due before the end of a pause.
    if is_all || (next.is_some() && next <= last) {
        return Ok(next);
    }
    // The first deliveries belong to runs that are over, until they are tidied, or to endpoints
    // that are paused.
    let row = sqlx::query(concat!(
        waiting!(),
        "SELECT min(greatest(own.claimable_at, e.paused_until)) AS next
         FROM waiting
         JOIN endpoint e ON e.id = waiting.endpoint_id
         CROSS JOIN LATERAL (
             SELECT d.claimable_at FROM delivery d
             WHERE d.endpoint_id = e.id AND d.run = e.run AND d.claimable_at IS NOT NULL
             ORDER BY d.claimable_at LIMIT 1
         ) AS own",
    ))
    .fetch_one(pool)
    .await?;
    row.maybe_at("next")
}
