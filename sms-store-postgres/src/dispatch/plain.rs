//! Records hand-overs that networks took, in one statement: see [`crate::guarded`]. They are
//! settled against what the worker knows of the messages that it holds, or against what is read.

use std::collections::{BTreeMap, BTreeSet};

use sms_core::commit::{OutcomeWrites, Outcomes};
use sms_core::dispatch::{HeldMessage, OutcomePlan, OutcomeRecorded, QueueEntry};
use sms_core::ids::{AccountId, MessageId};
use sms_core::message::{Message, MessageStatus};
use sms_core::receipt::report::EarlyReports;
use sms_core::route::HandOver;
use sqlx::pool::PoolConnection;
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Postgres, Row};
use uuid::Uuid;

use crate::error::PgResult;
use crate::guarded::{self, Endpoints, Guarded, listens};
use crate::row::{self, Read, uuids};
use crate::{PgStore, message_columns};

/// Plans that may be plain, with their places.
type Taken<'a> = Vec<(usize, &'a OutcomePlan)>;

/// Records what is plain. Returns the answers, by the places of their plans; the other plans still
/// have to be recorded.
pub(super) async fn record(
    store: &PgStore,
    plans: &[OutcomePlan],
) -> PgResult<BTreeMap<usize, OutcomeRecorded>> {
    let mut seen = BTreeSet::new();
    let twice: BTreeSet<MessageId> =
        plans.iter().map(|plan| plan.message).filter(|id| !seen.insert(*id)).collect();
    let taken: Taken<'_> = plans
        .iter()
        .enumerate()
        .filter(|(_, plan)| is_taken(&plan.result) && !twice.contains(&plan.message))
        .collect();
    if taken.is_empty() {
        return Ok(BTreeMap::new());
    }
    let mut connection = store.pool.acquire().await?;
    if let Some(known) = known(store, &taken) {
        let recorded = write(store, connection, &taken, &known, Endpoints::Assumed).await?;
        if !recorded.is_empty() {
            return Ok(recorded);
        }
        connection = store.pool.acquire().await?;
    }
    let ids = uuids(taken.iter().map(|(_, plan)| plan.message));
    let (found, endpoints) = found(store, &mut connection, ids).await?;
    write(store, connection, &taken, &found, endpoints).await
}

/// The messages as the workers that hold them know them; `None` if one is unknown, or if an account
/// has webhook endpoints.
fn known(store: &PgStore, taken: &Taken<'_>) -> Option<Found> {
    let known = taken.iter().map(|(_, plan)| {
        let HeldMessage { message, entry, .. } = plan.held.as_deref()?;
        let is_silent = store.caches.listening.get(&message.account).is_err();
        is_silent.then(|| (message.id, (message.clone(), *entry)))
    });
    known.collect()
}

/// Settles plans against what is known, and writes the changes if it still holds.
async fn write(
    store: &PgStore,
    connection: PoolConnection<Postgres>,
    taken: &Taken<'_>,
    found: &Found,
    endpoints: Endpoints,
) -> PgResult<BTreeMap<usize, OutcomeRecorded>> {
    let mut outcomes = Outcomes::new(EarlyReports::new());
    let mut places = Vec::with_capacity(taken.len());
    let mut held = BTreeMap::new();
    for (place, plan) in taken {
        let Some((message, entry)) = found.get(&plan.message) else { continue };
        // What is no longer held is looked at again under its lock.
        if entry.lease == Some(plan.token) && message.status == MessageStatus::Sending {
            outcomes.settle(&mut (*plan).clone(), Some((message, entry)));
            places.push(*place);
            held.insert(plan.message, plan.token);
        }
    }
    let (writes, recorded) = outcomes.finish();
    let OutcomeWrites { queue, follow_ups, parts, beside, changes } = writes;
    let is_plain = queue.is_empty() && follow_ups.is_empty() && beside.is_empty();
    let is_plain = is_plain && guarded::is_plain(&changes);
    if places.is_empty() || !is_plain {
        return Ok(BTreeMap::new());
    }
    let was = MessageStatus::Sending;
    let guarded = Guarded { was, held: &held, parts: &parts, reports: &[], changes: &changes };
    if !guarded::write(&store.pool, connection, guarded, endpoints).await? {
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
async fn found(
    store: &PgStore,
    connection: &mut PgConnection,
    ids: Vec<Uuid>,
) -> PgResult<(Found, Endpoints)> {
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
    for row in &rows {
        let account: AccountId = row.id("account_id")?;
        if row.try_get("listens")?
            && let Err(ticket) = store.caches.listening.get(&account)
        {
            store.caches.listening.put(ticket, account, ());
        }
    }
    Ok((rows.iter().map(read).collect::<PgResult<_>>()?, Endpoints::read(&rows)?))
}
