//! The segments of long inbound messages. A transaction locks the row of the message first.

use std::collections::BTreeMap;

use sms_core::inbound::segment::{
    Gathered, Gathering, GaveUp, GiveUpPlan, SegmentKey, SegmentPlan, SegmentTaken, SegmentVerdict,
};
use sms_core::message::Body;
use sms_core::route::RouteName;
use sms_core::store::StoreError;
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, PgPool, Row};

use crate::begin::begin;
use crate::error::{Context, PgError, PgResult};
use crate::inbound::take;
use crate::row::{Read, digits, time};

pub(crate) async fn take_once(
    pool: &PgPool,
    plan: SegmentPlan,
) -> Result<SegmentTaken, StoreError> {
    let doing = "accepting a segment of an inbound message";
    let mut tx = begin(pool).await.context(doing)?;
    let taken = take_part(&mut tx, plan).await.context(doing)?;
    tx.commit().await.context(doing)?;
    Ok(taken)
}

pub(crate) async fn give_up_once(pool: &PgPool, plan: GiveUpPlan) -> Result<GaveUp, StoreError> {
    let doing = "giving up an incomplete message";
    let mut tx = begin(pool).await.context(doing)?;
    let given_up = give_up(&mut tx, plan).await.context(doing)?;
    tx.commit().await.context(doing)?;
    Ok(given_up)
}

async fn take_part(connection: &mut PgConnection, plan: SegmentPlan) -> PgResult<SegmentTaken> {
    let key = plan.key();
    let kept = lock(connection, &plan).await?;
    Ok(match plan.settle(kept) {
        SegmentVerdict::Repeat => SegmentTaken::Repeat,
        SegmentVerdict::Keep(gathered) => {
            keep(connection, key, &gathered).await?;
            SegmentTaken::Waiting
        }
        SegmentVerdict::Join(gathered, text) => {
            keep(connection, key, &gathered).await?;
            SegmentTaken::Joined(take(connection, *text).await?)
        }
    })
}

/// Locks the row of a message, and inserts it if there is none. Returns the segments that have
/// arrived.
async fn lock(connection: &mut PgConnection, plan: &SegmentPlan) -> PgResult<Option<Gathered>> {
    let SegmentKey { to, from, reference, total } = plan.key();
    let row = sqlx::query(
        "INSERT INTO inbound_segment AS p (to_number, from_number, reference, total, numbers,
            bodies,
             is_joined, route, first_at)
         VALUES ($1, $2, $3, $4, '{}', '{}', false, $5, $6)
         ON CONFLICT (to_number, from_number, reference, total) DO UPDATE SET route = p.route
         RETURNING *",
    )
    .bind(digits(to))
    .bind(digits(from))
    .bind(i32::from(reference))
    .bind(i16::from(total))
    .bind(plan.part.route.as_str())
    .bind(time(plan.part.received_at))
    .fetch_one(connection)
    .await?;
    let gathered = gathered(&row)?;
    Ok((!gathered.parts.is_empty()).then_some(gathered))
}

async fn keep(connection: &mut PgConnection, key: SegmentKey, gathered: &Gathered) -> PgResult<()> {
    let SegmentKey { to, from, reference, total } = key;
    let Gathered { state, parts, route, first_at } = gathered;
    let update = sqlx::query(
        "UPDATE inbound_segment
         SET numbers = $5, bodies = $6, is_joined = $7, route = $8, first_at = $9
         WHERE to_number = $1 AND from_number = $2 AND reference = $3 AND total = $4",
    )
    .bind(digits(to))
    .bind(digits(from))
    .bind(i32::from(reference))
    .bind(i16::from(total))
    .bind(parts.keys().map(|number| i16::from(*number)).collect::<Vec<_>>())
    .bind(parts.values().map(Body::as_str).collect::<Vec<_>>())
    .bind(*state == Gathering::Joined)
    .bind(route.as_str())
    .bind(time(*first_at));
    update.execute(connection).await?;
    Ok(())
}

async fn give_up(connection: &mut PgConnection, plan: GiveUpPlan) -> PgResult<GaveUp> {
    // Skips a message whose next segment is being written.
    let row = sqlx::query(
        "WITH old AS MATERIALIZED (
             SELECT to_number, from_number, reference, total FROM inbound_segment
             WHERE first_at < $1 ORDER BY first_at LIMIT 1 FOR UPDATE SKIP LOCKED)
         DELETE FROM inbound_segment p USING old
         WHERE p.to_number = old.to_number AND p.from_number = old.from_number
             AND p.reference = old.reference AND p.total = old.total
         RETURNING p.*",
    )
    .bind(time(plan.before))
    .fetch_optional(&mut *connection)
    .await?;
    let Some(row) = row else { return Ok(GaveUp::Nothing) };
    Ok(match plan.settle(key(&row)?, &gathered(&row)?) {
        Some(text) => GaveUp::TakenIn(take(connection, text).await?),
        None => GaveUp::Forgotten,
    })
}

fn key(row: &PgRow) -> PgResult<SegmentKey> {
    row.in_table("inbound_segment", || {
        let reference = u16::try_from(row.try_get::<i32, _>("reference")?);
        let total = u8::try_from(row.try_get::<i16, _>("total")?);
        Ok(SegmentKey {
            to: row.number("to_number")?,
            from: row.number("from_number")?,
            reference: reference.map_err(|_| PgError::invalid("reference"))?,
            total: total.map_err(|_| PgError::invalid("total"))?,
        })
    })
}

fn gathered(row: &PgRow) -> PgResult<Gathered> {
    row.in_table("inbound_segment", || {
        let numbers: Vec<i16> = row.try_get("numbers")?;
        let bodies: Vec<String> = row.try_get("bodies")?;
        let parts: Option<BTreeMap<u8, Body>> = numbers
            .into_iter()
            .zip(bodies)
            .map(|(number, body)| Some((u8::try_from(number).ok()?, Body::new(body))))
            .collect();
        let is_joined: bool = row.try_get("is_joined")?;
        Ok(Gathered {
            state: if is_joined { Gathering::Joined } else { Gathering::Waiting },
            parts: parts.ok_or_else(|| PgError::invalid("numbers"))?,
            route: RouteName::new(row.try_get::<String, _>("route")?),
            first_at: row.at("first_at")?,
        })
    })
}
