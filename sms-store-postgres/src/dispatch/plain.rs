//! Records hand-overs that networks took, in one statement: see [`crate::guarded`].

use std::collections::{BTreeMap, BTreeSet};

use sms_core::commit::{OutcomeWrites, Outcomes};
use sms_core::dispatch::{OutcomePlan, OutcomeRecorded, QueueEntry};
use sms_core::ids::MessageId;
use sms_core::message::{Message, MessageStatus};
use sms_core::receipt::report::EarlyReports;
use sms_core::route::HandOver;
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, PgPool};
use uuid::Uuid;

use crate::error::PgResult;
use crate::guarded::{self, Endpoints, Guarded, listens};
use crate::message_columns;
use crate::row::{self, uuids};

/// Records what is plain. Returns the answers, by the places of their plans; the other plans still
/// have to be recorded.
pub(super) async fn record(
    pool: &PgPool,
    plans: &[OutcomePlan],
) -> PgResult<BTreeMap<usize, OutcomeRecorded>> {
    let mut seen = BTreeSet::new();
    let twice: BTreeSet<MessageId> =
        plans.iter().map(|plan| plan.message).filter(|id| !seen.insert(*id)).collect();
    let taken = plans
        .iter()
        .enumerate()
        .filter(|(_, plan)| is_taken(&plan.result) && !twice.contains(&plan.message));
    let taken: Vec<(usize, &OutcomePlan)> = taken.collect();
    if taken.is_empty() {
        return Ok(BTreeMap::new());
    }
    let mut connection = pool.acquire().await?;
    let ids = uuids(taken.iter().map(|(_, plan)| plan.message));
    let (found, endpoints) = found(&mut connection, ids).await?;
    let mut outcomes = Outcomes::new(EarlyReports::new());
    let mut places = Vec::with_capacity(taken.len());
    let mut held = BTreeMap::new();
    for (place, plan) in taken {
        let Some((message, entry)) = found.get(&plan.message) else { continue };
        // What is no longer held is looked at again under its lock.
        if entry.lease == Some(plan.token) && message.status == MessageStatus::Sending {
            outcomes.settle(&mut plan.clone(), Some((message, entry)));
            places.push(place);
            held.insert(plan.message, plan.token);
        }
    }
    let (writes, recorded) = outcomes.finish();
    let OutcomeWrites { queue, follow_ups, parts, changes } = writes;
    let is_plain = queue.is_empty() && follow_ups.is_empty() && guarded::is_plain(&changes);
    if places.is_empty() || !is_plain {
        return Ok(BTreeMap::new());
    }
    let was = MessageStatus::Sending;
    let guarded = Guarded { was, held: &held, parts: &parts, reports: &[], changes: &changes };
    if !guarded::write(pool, connection, guarded, endpoints).await? {
        return Ok(BTreeMap::new());
    }
    Ok(places.into_iter().zip(recorded).collect())
}

/// Whether a network took the message, and brings nothing back by itself.
fn is_taken(result: &HandOver) -> bool {
    match result {
        HandOver::Submitted { .. } => true,
        HandOver::Taken { simulated } => simulated.is_empty(),
        _ => false,
    }
}

/// Messages with their places in the queue.
type Found = BTreeMap<MessageId, (Message, QueueEntry)>;

/// Queued messages with their queue entries, without a lock.
async fn found(connection: &mut PgConnection, ids: Vec<Uuid>) -> PgResult<(Found, Endpoints)> {
    let rows = sqlx::query(concat!(
        "SELECT ",
        message_columns!(),
        ", q.lane, q.claimable_at, q.expires_at, q.attempt, q.lease, q.unanswered, ",
        listens!(),
        " FROM queue q JOIN message m ON m.account_id = q.account_id AND m.id = q.message_id
         WHERE q.message_id = ANY($1)"
    ))
    .bind(ids)
    .fetch_all(connection)
    .await?;
    let read = |row: &PgRow| {
        let message = row::message(row)?;
        Ok((message.id, (message, row::queue_entry(row)?)))
    };
    Ok((rows.iter().map(read).collect::<PgResult<_>>()?, Endpoints::read(&rows)?))
}
