//! Replays: what an endpoint missed is written as deliveries again, portion by portion.

use std::collections::BTreeSet;
use std::time::Duration;

use sms_core::idempotency::{Claim, Once};
use sms_core::ids::{DeliveryId, EventId};
use sms_core::store::CommitError;
use sms_core::time::Timestamp;
use sms_core::webhook::attempt::ATTEMPT_LEASE;
use sms_core::webhook::endpoint::Endpoint;
use sms_core::webhook::replay::plan::{PortionPlan, PortionWrites, ReplayPlan, ReplayRefused};
use sms_core::webhook::replay::{DOWN_AFTER, EVERY, ReplayBegun};
use sqlx::{PgConnection, PgPool};

use super::endpoint::{self, endpoint as read_endpoint, endpoint_columns};
use crate::PgStore;
use crate::begin::{begin, give_up};
use crate::delivery::{self, Origin};
use crate::error::{Context, PgResult};
use crate::row::{Read, time, uuid};
use crate::rows_query::rows_query;

pub(super) async fn begin_replay(
    store: &PgStore,
    plan: ReplayPlan,
    claim: Option<&Claim>,
) -> Result<Once<ReplayBegun>, CommitError<ReplayRefused>> {
    let doing = "beginning a replay";
    let mut tx = begin(&store.pool).await.context(doing)?;
    let found = endpoint::lock(&mut tx, plan.account, plan.endpoint).await.context(doing)?;
    match plan.settle(found.as_ref()) {
        Ok(after) => endpoint::update(&mut tx, &after).await.context(doing)?,
        Err(refused) => {
            tx.rollback().await.context(doing)?;
            return store.refused(claim, CommitError::Refused(refused)).await;
        }
    }
    Ok(store.conclude(tx, claim, plan.begun).await.context(doing)?)
}

pub(super) async fn due(pool: &PgPool, at: Timestamp, limit: usize) -> PgResult<Vec<Endpoint>> {
    let rows = sqlx::query(concat!(
        "SELECT ",
        endpoint_columns!(),
        " FROM (
             SELECT e.*, row_number() OVER (PARTITION BY e.account_id ORDER BY e.id) AS place
             FROM endpoint e
             WHERE e.replay_at <= $1 AND e.disabled_reason IS NULL
                 AND (e.paused_until IS NULL OR e.paused_until <= $1)
                 AND NOT EXISTS (SELECT FROM endpoint o
                                 WHERE o.account_id = e.account_id AND o.replay_at > $1
                                     AND o.disabled_reason IS NULL)
                 AND NOT EXISTS (SELECT FROM delivery d
                                 WHERE d.endpoint_id = e.id AND d.run = e.run
                                     AND d.claimable_at <= CASE
                                         WHEN e.consecutive_failures >= $3
                                             THEN 'infinity'::timestamptz
                                         WHEN e.last_delivered_at >= e.replay_at - $4::interval
                                             THEN $1
                                         ELSE $1 + $5::interval END)
         ) AS ready
         ORDER BY place, replay_at, id LIMIT $2",
    ))
    .bind(time(at))
    .bind(i64::try_from(limit).unwrap_or(i64::MAX))
    .bind(i64::from(DOWN_AFTER))
    .bind(EVERY)
    .bind(ATTEMPT_LEASE)
    .fetch_all(pool)
    .await?;
    rows.iter().map(read_endpoint).collect()
}

pub(super) async fn next(pool: &PgPool) -> PgResult<Option<Timestamp>> {
    let row = sqlx::query(
        "SELECT min(greatest(replay_at, paused_until)) AS next FROM endpoint
         WHERE replay_at IS NOT NULL AND disabled_reason IS NULL",
    );
    row.fetch_one(pool).await?.maybe_at("next")
}

pub(super) async fn portion(pool: &PgPool, plan: PortionPlan) -> PgResult<usize> {
    let mut tx = begin(pool).await?;
    let found = endpoint::lock(&mut tx, plan.account, plan.endpoint).await?;
    let waiting = waiting(&mut tx, &plan).await?;
    let Some(PortionWrites { endpoint, deliveries }) = plan.settle(found.as_ref(), &waiting) else {
        return Ok(give_up(tx, 0).await);
    };
    let count = deliveries.len();
    delivery::insert(&mut tx, deliveries, Origin::Replay).await?;
    endpoint::update(&mut tx, &endpoint).await?;
    tx.commit().await?;
    Ok(count)
}

/// The events of a portion of which a delivery waits. The delivery that the commit of the event
/// wrote has an id of the same millisecond.
async fn waiting(connection: &mut PgConnection, plan: &PortionPlan) -> PgResult<BTreeSet<EventId>> {
    let query = rows_query!(
        [uuid(plan.account), uuid(plan.endpoint)]
        "SELECT event.id FROM " rows(event in &plan.events) as event {
            id: uuid = uuid(event.id),
            until: uuid = uuid(end_of_millisecond(event.id)),
         } "
         JOIN endpoint e ON e.account_id = $1 AND e.id = $2
         WHERE EXISTS (SELECT FROM delivery d
                       WHERE d.account_id = $1 AND d.endpoint_id = $2
                           AND d.id > event.id AND d.id < event.until
                           AND d.event_id = event.id
                           AND d.run = e.run AND d.claimable_at IS NOT NULL)
             OR EXISTS (SELECT FROM delivery d
                        WHERE d.endpoint_id = $2 AND d.event_id = event.id
                            AND d.run = e.run AND d.replayed AND d.claimable_at IS NOT NULL)"
    );
    let rows = query.fetch_all(connection).await?;
    rows.iter().map(|row| row.id("id")).collect()
}

fn end_of_millisecond(event: EventId) -> DeliveryId {
    DeliveryId::first_at(event.timestamp().plus(Duration::from_millis(1)))
}
