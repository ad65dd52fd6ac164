//! The segments of long inbound messages. A row is a message that was begun. Who takes in a segment
//! locks its key first, because the message may not have a row yet, and then the rows with the key.
//! Who gives up a message locks its row alone.

use std::collections::BTreeMap;

use sms_core::inbound::segment::{
    Gathered, Gathering, GaveUp, GiveUpPlan, LOOKED_AT, SegmentKey, SegmentPlan, SegmentTaken,
    SegmentText, SegmentVerdict,
};
use sms_core::route::RouteName;
use sms_core::store::StoreError;
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, PgPool, Row};

use crate::begin::begin;
use crate::error::{Context, PgError, PgResult};
use crate::inbound::take;
use crate::row::{Read, digits, integer, time};

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
    lock(connection, key).await?;
    let kept = newest(connection, key).await?;
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

/// Locks this key until the transaction ends, so that segments with it are recorded one by one.
async fn lock(connection: &mut PgConnection, key: SegmentKey) -> PgResult<()> {
    let SegmentKey { to, from, reference, total } = key;
    let (to, from) = (digits(to), digits(from));
    sqlx::query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))")
        .bind(format!("segments {to} {from} {reference} {total}"))
        .execute(connection)
        .await?;
    Ok(())
}

/// The newest messages with this key, locked. Waits for one that is being given up.
async fn newest(connection: &mut PgConnection, key: SegmentKey) -> PgResult<Vec<Gathered>> {
    let SegmentKey { to, from, reference, total } = key;
    let rows = sqlx::query(
        "SELECT nth, from_number, from_name, numbers, alphabets, octets, is_joined, route, first_at
         FROM inbound_segment
         WHERE to_number = $1 AND from_number = $2 AND reference = $3 AND total = $4
         ORDER BY nth DESC LIMIT $5 FOR UPDATE",
    )
    .bind(digits(to))
    .bind(digits(from))
    .bind(i32::from(reference))
    .bind(i16::from(total))
    .bind(i64::try_from(LOOKED_AT).unwrap_or(i64::MAX))
    .fetch_all(connection)
    .await?;
    rows.iter().map(gathered).collect()
}

async fn keep(connection: &mut PgConnection, key: SegmentKey, gathered: &Gathered) -> PgResult<()> {
    let SegmentKey { to, from, reference, total } = key;
    let Gathered { nth, from: originator, state, parts, route, first_at } = gathered;
    let write = sqlx::query(
        "INSERT INTO inbound_segment (to_number, from_number, reference, total, nth, numbers,
             alphabets, octets, is_joined, route, first_at, from_name)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
         ON CONFLICT (to_number, from_number, reference, total, nth) DO UPDATE
         SET numbers = excluded.numbers, alphabets = excluded.alphabets,
             octets = excluded.octets, is_joined = excluded.is_joined",
    )
    .bind(digits(to))
    .bind(digits(from))
    .bind(i32::from(reference))
    .bind(i16::from(total))
    .bind(integer(*nth))
    .bind(parts.keys().map(|number| i16::from(*number)).collect::<Vec<_>>())
    .bind(parts.values().map(|text| text.alphabet().as_str()).collect::<Vec<_>>())
    .bind(parts.values().map(SegmentText::octets).collect::<Vec<_>>())
    .bind(*state == Gathering::Joined)
    .bind(route.as_str())
    .bind(time(*first_at))
    .bind(originator.name());
    write.execute(connection).await?;
    Ok(())
}

async fn give_up(connection: &mut PgConnection, plan: GiveUpPlan) -> PgResult<GaveUp> {
    // Skips a message that a segment is being compared with; it is given up by a later call.
    let row = sqlx::query(
        "WITH old AS MATERIALIZED (
             SELECT to_number, from_number, reference, total, nth FROM inbound_segment
             WHERE first_at < $1 ORDER BY first_at LIMIT 1 FOR UPDATE SKIP LOCKED)
         DELETE FROM inbound_segment p USING old
         WHERE p.to_number = old.to_number AND p.from_number = old.from_number
             AND p.reference = old.reference AND p.total = old.total AND p.nth = old.nth
         RETURNING p.to_number, p.from_number, p.from_name, p.reference, p.total, p.nth, p.numbers,
             p.alphabets, p.octets, p.is_joined, p.route, p.first_at",
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
        let alphabets: Vec<String> = row.try_get("alphabets")?;
        let octets: Vec<Vec<u8>> = row.try_get("octets")?;
        let part = |((number, alphabet), octets): ((i16, String), Vec<u8>)| {
            let text = SegmentText::new(alphabet.parse().ok()?, octets);
            Some((u8::try_from(number).ok()?, text))
        };
        let parts: Option<BTreeMap<u8, SegmentText>> =
            numbers.into_iter().zip(alphabets).zip(octets).map(part).collect();
        let is_joined: bool = row.try_get("is_joined")?;
        Ok(Gathered {
            nth: row.count("nth")?,
            from: row.originator()?,
            state: if is_joined { Gathering::Joined } else { Gathering::Waiting },
            parts: parts.ok_or_else(|| PgError::invalid("numbers"))?,
            route: RouteName::new(row.try_get::<String, _>("route")?),
            first_at: row.at("first_at")?,
        })
    })
}
