//! The queue of messages that wait to be handed over.

mod claim;
mod entry;
mod plain;

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use sms_core::commit::{OutcomeWrites, Outcomes};
use sms_core::dispatch::store::DispatchStore;
use sms_core::dispatch::{
    ClaimPlan, Claimed, FollowUp, LeaseToken, OutcomePlan, OutcomeRecorded, QueueEntry,
};
use sms_core::ids::MessageId;
use sms_core::message::{Body, ErrorCode, Message};
use sms_core::receipt::ReceiptStatus;
use sms_core::route::{Comeback, RouteName};
use sms_core::store::StoreError;
use sms_core::time::Timestamp;
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row};

use crate::begin::{again_on_conflict, begin};
use crate::error::{Context, PgError, PgResult};
use crate::row::{self, Read, digits, time, token, uuid, uuids};
use crate::rows_query::rows_query;
use crate::sent_segment::Staged;
use crate::{PgStore, change, message_columns};

const RECORDING: &str = "recording outcomes";

#[async_trait]
impl DispatchStore for PgStore {
    async fn dispatch_claim(&self, plan: ClaimPlan) -> Result<Claimed, StoreError> {
        again_on_conflict!(self.claim_once(plan.clone()))
    }

    async fn dispatch_record(
        &self,
        plans: Vec<OutcomePlan>,
    ) -> Result<Vec<OutcomeRecorded>, StoreError> {
        let mut recorded = plain::record(self, &plans).await.context(RECORDING)?;
        let is_left = |(place, _): &(usize, OutcomePlan)| !recorded.contains_key(place);
        let (left, plans): (Vec<usize>, Vec<OutcomePlan>) =
            plans.into_iter().enumerate().filter(is_left).unzip();
        if !plans.is_empty() {
            let mut not_leaving = BTreeSet::new();
            let others =
                again_on_conflict!(self.record_outcomes_once(plans.clone(), &mut not_leaving));
            recorded.extend(left.into_iter().zip(others?));
        }
        Ok(recorded.into_values().collect())
    }

    async fn dispatch_renew(
        &self,
        lease: LeaseToken,
        until: Timestamp,
    ) -> Result<usize, StoreError> {
        let doing = "renewing leases";
        let renewed = sqlx::query(
            "UPDATE queue SET claimable_at = $2
             WHERE message_id = ANY(ARRAY(SELECT message_id FROM queue WHERE lease = $1
                                          ORDER BY message_id FOR UPDATE))",
        )
        .bind(token(lease))
        .bind(time(until))
        .execute(&self.pool)
        .await
        .context(doing)?;
        Ok(usize::try_from(renewed.rows_affected()).unwrap_or(usize::MAX))
    }

    async fn follow_ups_due(
        &self,
        at: Timestamp,
        limit: usize,
    ) -> Result<Vec<FollowUp>, StoreError> {
        let doing = "reading due follow-ups";
        let rows = sqlx::query(
            "SELECT id, message_id, number, person, route, due_at, what, detail FROM follow_up
             WHERE due_at <= $1 ORDER BY due_at, id LIMIT $2",
        )
        .bind(time(at))
        .bind(i64::try_from(limit).unwrap_or(i64::MAX))
        .fetch_all(&self.pool)
        .await
        .context(doing)?;
        rows.iter().map(follow_up).collect::<PgResult<_>>().context(doing)
    }
}

impl PgStore {
    pub(crate) async fn dispatch_next(&self) -> Result<Option<Timestamp>, StoreError> {
        let doing = "finding when the next message is due";
        claim::next(&self.pool).await.context(doing)
    }

    pub(crate) async fn follow_ups_next(&self) -> Result<Option<Timestamp>, StoreError> {
        let doing = "finding when the next follow-up is due";
        let row = sqlx::query(
            "SELECT due_at AS next FROM follow_up WHERE due_at <= 'infinity'
             ORDER BY due_at LIMIT 1",
        )
        .fetch_optional(&self.pool)
        .await
        .context(doing)?;
        row.map(|row| row.at("next")).transpose().context(doing)
    }

    /// `not_leaving` holds the indexes of plans whose segments are not staged, because an earlier
    /// try found that nothing is recorded for them.
    async fn record_outcomes_once(
        &self,
        mut plans: Vec<OutcomePlan>,
        not_leaving: &mut BTreeSet<usize>,
    ) -> Result<Vec<OutcomeRecorded>, StoreError> {
        let doing = RECORDING;
        let mut tx = begin(&self.pool).await.context(doing)?;
        let ids = uuids(plans.iter().map(|plan| plan.message));
        let found = locked(&mut tx, ids).await.context(doing)?;
        let leaving = plans.iter().enumerate().filter(|(place, _)| !not_leaving.contains(place));
        let leaving = leaving.filter_map(|(_, plan)| Some((plan, &found.get(&plan.message)?.0)));
        let (staged, early) = Staged::write(&mut tx, leaving).await.context(doing)?;
        let mut outcomes = Outcomes::new(early);
        for plan in &mut plans {
            let state = found.get(&plan.message).map(|(message, entry)| (message, entry));
            outcomes.settle(plan, state);
        }
        let (writes, recorded) = outcomes.finish();
        let not_done = |answer: &OutcomeRecorded| !matches!(answer, OutcomeRecorded::Done(_));
        let places = recorded.iter().enumerate().filter(|(_, answer)| not_done(answer));
        not_leaving.extend(places.map(|(place, _)| place));
        if let Err(error) = write_outcomes(&mut tx, staged, writes).await {
            // Roll back now: a retry locks the same rows.
            let _ = tx.rollback().await;
            return Err(error.during(doing));
        }
        tx.commit().await.context(doing)?;
        Ok(recorded)
    }

    async fn claim_once(&self, plan: ClaimPlan) -> Result<Claimed, StoreError> {
        let doing = "claiming messages";
        let mut tx = begin(&self.pool).await.context(doing)?;
        match claim::claim(&mut tx, plan).await {
            Ok(claimed) => tx.commit().await.map(|()| claimed).context(doing),
            Err(error) => {
                // Roll back now: a retry would skip the rows that are still locked.
                let _ = tx.rollback().await;
                Err(error)
            }
        }
    }
}

async fn write_outcomes(
    connection: &mut PgConnection,
    staged: Staged,
    writes: OutcomeWrites,
) -> PgResult<()> {
    let OutcomeWrites { queue, follow_ups, parts, beside, changes } = writes;
    staged.settle(connection, parts, beside).await?;
    entry::put(connection, queue).await?;
    change::write(connection, changes).await?;
    insert_follow_ups(connection, follow_ups).await
}

/// Reads queued messages with their queue entries, and locks both in id order.
async fn locked(
    connection: &mut PgConnection,
    ids: Vec<uuid::Uuid>,
) -> PgResult<BTreeMap<MessageId, (Message, QueueEntry)>> {
    let rows = sqlx::query(concat!(
        "SELECT ",
        message_columns!(),
        ", q.lane, q.claimable_at, q.expires_at, q.attempt, q.lease, q.unanswered
         FROM queue q JOIN message m ON m.account_id = q.account_id AND m.id = q.message_id
         WHERE q.message_id = ANY($1)
         ORDER BY q.message_id
         FOR UPDATE OF q, m"
    ))
    .bind(ids)
    .fetch_all(connection)
    .await?;
    let read = |row: &PgRow| {
        let message = row::message(row)?;
        Ok((message.id, (message, row::queue_entry(row)?)))
    };
    rows.iter().map(read).collect()
}

async fn insert_follow_ups(
    connection: &mut PgConnection,
    follow_ups: Vec<FollowUp>,
) -> PgResult<()> {
    if follow_ups.is_empty() {
        return Ok(());
    }
    let insert = rows_query!(
        "INSERT INTO follow_up " insert(follow_up in &follow_ups) {
            id: uuid = uuid(follow_up.id),
            message_id: uuid = uuid(follow_up.message),
            number: bigint = digits(follow_up.number),
            person: bigint = digits(follow_up.person),
            route: text = follow_up.route.as_str(),
            due_at: timestamptz = time(follow_up.due_at),
            what: text = comeback_columns(&follow_up.what).0,
            detail: text = comeback_columns(&follow_up.what).1,
        }
    );
    insert.execute(connection).await?;
    Ok(())
}

fn comeback_columns(what: &Comeback) -> (&'static str, Option<&str>) {
    match what {
        Comeback::Receipt(ReceiptStatus::Delivered) => ("delivered", None),
        Comeback::Receipt(ReceiptStatus::Undelivered(error)) => {
            ("undelivered", Some(error.as_str()))
        }
        Comeback::Reply(body) => ("reply", Some(body.as_str())),
    }
}

fn follow_up(row: &PgRow) -> PgResult<FollowUp> {
    row.in_table("follow_up", || {
        let detail: Option<String> = row.try_get("detail")?;
        let what = match row.try_get::<&str, _>("what")? {
            "delivered" => Comeback::Receipt(ReceiptStatus::Delivered),
            "undelivered" => {
                let error = detail.as_deref().and_then(|code| code.parse::<ErrorCode>().ok());
                let error = error.ok_or_else(|| PgError::invalid("detail"))?;
                Comeback::Receipt(ReceiptStatus::Undelivered(error))
            }
            "reply" => {
                Comeback::Reply(Body::new(detail.ok_or_else(|| PgError::invalid("detail"))?))
            }
            _ => return Err(PgError::invalid("what")),
        };
        Ok(FollowUp {
            id: row.id("id")?,
            message: row.id("message_id")?,
            number: row.number("number")?,
            person: row.number("person")?,
            route: RouteName::new(row.try_get::<String, _>("route")?),
            due_at: row.at("due_at")?,
            what,
        })
    })
}
