//! The queue of messages that wait to be handed over.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use sms_core::commit::{Claim, ClaimWrites, OutcomeWrites, Outcomes};
use sms_core::dispatch::store::DispatchStore;
use sms_core::dispatch::{
    ClaimFacts, ClaimPlan, Claimed, FollowUp, LeaseToken, NameStanding, NewSender, OutcomePlan,
    OutcomeRecorded, QueueEntry, Wanted,
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
use crate::number::NumbersToSend;
use crate::row::{self, Read, digits, integer, time, token, uuid, uuids};
use crate::rows_query::rows_query;
use crate::sent_segment::Staged;
use crate::{PgStore, change, message_columns};

mod plain;

/// The routes that messages wait for, as `named`. The recursion jumps from route to route through
/// the index. Its last row is null.
macro_rules! queue_routes {
    () => {
        "WITH RECURSIVE named AS (
             (SELECT route FROM queue WHERE route >= '' ORDER BY route LIMIT 1)
             UNION ALL
             SELECT (SELECT q.route FROM queue q WHERE q.route > n.route ORDER BY q.route LIMIT 1)
             FROM named n WHERE n.route IS NOT NULL)"
    };
}

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
        let mut recorded = plain::record(&self.pool, &plans).await.context(RECORDING)?;
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

    async fn dispatch_next(&self) -> Result<Option<Timestamp>, StoreError> {
        let doing = "finding when the next message is due";
        let row = sqlx::query(concat!(
            queue_routes!(),
            " SELECT min((SELECT q.claimable_at FROM queue q WHERE q.route = n.route
                          ORDER BY q.claimable_at LIMIT 1)) AS next
              FROM named n"
        ))
        .fetch_one(&self.pool)
        .await
        .context(doing)?;
        row.maybe_at("next").context(doing)
    }

    async fn follow_ups_due(
        &self,
        at: Timestamp,
        limit: usize,
    ) -> Result<Vec<FollowUp>, StoreError> {
        let doing = "reading due follow-ups";
        let rows =
            sqlx::query("SELECT * FROM follow_up WHERE due_at <= $1 ORDER BY due_at, id LIMIT $2")
                .bind(time(at))
                .bind(i64::try_from(limit).unwrap_or(i64::MAX))
                .fetch_all(&self.pool)
                .await
                .context(doing)?;
        rows.iter().map(follow_up).collect::<PgResult<_>>().context(doing)
    }

    async fn follow_ups_next(&self) -> Result<Option<Timestamp>, StoreError> {
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
}

impl PgStore {
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
        let leaving = plans.iter().enumerate().filter(|(place, plan)| {
            !not_leaving.contains(place) && found.contains_key(&plan.message)
        });
        let leaving = leaving.map(|(_, plan)| plan);
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
        match claim(&mut tx, plan).await {
            Ok(claimed) => tx.commit().await.map(|()| claimed).context(doing),
            Err(error) => {
                // Roll back now: a retry would skip the rows that are still locked.
                let _ = tx.rollback().await;
                Err(error)
            }
        }
    }
}

/// The columns that a claim reads of a message `m` and its queue row `q`.
macro_rules! claimed_columns {
    () => {
        concat!(
            message_columns!(),
            ", q.claimable_at, q.expires_at, q.attempt, q.lease, q.unanswered,
             -- Not a join: a planner that reads the account first may search all of its messages.
             (SELECT a.status FROM account a WHERE a.id = q.account_id) AS account_status,
             -- Not EXISTS, which the planner may answer by reading all opt-outs.
             COALESCE((SELECT true FROM opt_out o
                       WHERE o.account_id = m.account_id AND o.phone = m.to_number), false)
                 AS opted_out,
             CASE WHEN m.campaign_id IS NULL THEN false ELSE
                 COALESCE((SELECT c.cancelled_at IS NOT NULL FROM campaign c
                           WHERE c.account_id = m.account_id AND c.id = m.campaign_id),
                          false) END AS campaign_cancelled,
             -- Null without a sender name. Names are compared in ASCII lower case.
             CASE WHEN m.sender IS NOT NULL THEN
                 COALESCE((SELECT true FROM sender_name s
                           WHERE s.account_id = m.account_id
                             AND s.folded = lower(m.sender COLLATE \"C\")
                             AND s.status <> 'rejected' AND s.status = 'approved'),
                          false) END AS name_approved"
        )
    };
}

/// The messages of the queue rows `due`, each looked up by its id. With a plain join and outdated
/// statistics, the planner may read all messages of an account, or the whole table.
macro_rules! claimed {
    () => {
        concat!(
            " SELECT ",
            claimed_columns!(),
            " FROM due q CROSS JOIN LATERAL (
                  SELECT * FROM message m WHERE m.account_id = q.account_id AND m.id = q.message_id
                  FOR UPDATE SKIP LOCKED) m
              ORDER BY q.claimable_at, q.message_id"
        )
    };
}

/// Selects the messages longest due, except those of the listed routes. It reads only the head of
/// each route's queue, so that it never has to skip the messages of an excluded route.
const ALL_BUT: &str = concat!(
    queue_routes!(),
    ", due AS MATERIALIZED (
         SELECT q.* FROM named n CROSS JOIN LATERAL (
             SELECT * FROM queue q
             WHERE q.route = n.route AND q.claimable_at <= $1
             ORDER BY q.claimable_at, q.message_id LIMIT $2
             -- Skip what another worker or a cancel holds.
             FOR UPDATE SKIP LOCKED) q
         WHERE n.route IS NOT NULL AND n.route <> ALL($3)
         ORDER BY q.claimable_at, q.message_id LIMIT $2
     )",
    claimed!(),
);

/// Selects the expired messages of the listed routes. It reads all messages that wait for them.
const EXPIRED_OF: &str = concat!(
    "WITH due AS MATERIALIZED (
         SELECT * FROM queue q
         WHERE q.route = ANY($3) AND q.claimable_at <= $1 AND q.expires_at <= $1
         ORDER BY q.claimable_at, q.message_id LIMIT $2
         FOR UPDATE SKIP LOCKED
     )",
    claimed!(),
);

async fn claim(tx: &mut PgConnection, plan: ClaimPlan) -> Result<Claimed, StoreError> {
    let doing = "claiming messages";
    let (sql, routes) = match &plan.wanted {
        Wanted::AllBut(routes) => (ALL_BUT, routes),
        Wanted::ExpiredOf(routes) => (EXPIRED_OF, routes),
    };
    let rows = sqlx::query(sql)
        .bind(time(plan.at))
        .bind(i64::try_from(plan.limit).unwrap_or(i64::MAX))
        .bind(routes.iter().map(RouteName::as_str).collect::<Vec<_>>())
        .fetch_all(&mut *tx)
        .await
        .context(doing)?;
    if rows.is_empty() {
        return Ok(Claimed::default());
    }
    let messages: Vec<Message> =
        rows.iter().map(row::message).collect::<PgResult<_>>().context(doing)?;
    let at = plan.at;
    let numbers = NumbersToSend::read(tx, messages.iter(), at).await.context(doing)?;
    let mut claim = Claim::new(plan);
    for (row, message) in rows.iter().zip(&messages) {
        claim.settle(ClaimFacts {
            message,
            entry: &row::queue_entry(row).context(doing)?,
            account_status: row.name("account_status").context(doing)?,
            opted_out: row.try_get("opted_out").context(doing)?,
            campaign_cancelled: row.try_get("campaign_cancelled").context(doing)?,
            name: match row.try_get("name_approved").context(doing)? {
                None => NameStanding::NotUsed,
                Some(true) => NameStanding::Approved,
                Some(false) => NameStanding::NotApproved,
            },
            numbers: &numbers.of(message, at),
        });
    }
    let (ClaimWrites { queue, senders, changes }, claimed) = claim.finish();
    put_entries(tx, queue).await.context(doing)?;
    put_senders(tx, senders).await.context(doing)?;
    change::write(tx, changes).await.context(doing)?;
    Ok(claimed)
}

async fn write_outcomes(
    connection: &mut PgConnection,
    staged: Staged,
    writes: OutcomeWrites,
) -> PgResult<()> {
    let OutcomeWrites { queue, follow_ups, parts, changes } = writes;
    staged.settle(connection, parts).await?;
    put_entries(connection, queue).await?;
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
        ", q.claimable_at, q.expires_at, q.attempt, q.lease, q.unanswered
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

/// Replaces the queue entries of messages that a worker has claimed, so that they are `sending` now
/// or were before. Their rows are locked by this transaction. Each is looked up by itself: a
/// plan that was made while little waited may read the whole queue for a join.
async fn put_entries(connection: &mut PgConnection, entries: Vec<QueueEntry>) -> PgResult<()> {
    if entries.is_empty() {
        return Ok(());
    }
    let update = rows_query!(
        "UPDATE queue q
         SET claimable_at = new.claimable_at, attempt = new.attempt, lease = new.lease,
             unanswered = new.unanswered, status = 'sending'
         FROM " rows(entry in &entries) as new {
            message_id: uuid = uuid(entry.message),
            claimable_at: timestamptz = time(entry.claimable_at),
            attempt: integer = integer(entry.attempt),
            lease: uuid = entry.lease.map(token),
            unanswered: integer = integer(entry.unanswered),
         } "
         CROSS JOIN LATERAL (
             SELECT ctid AS place FROM queue
             WHERE message_id = new.message_id LIMIT 1) AS old
         WHERE q.ctid = old.place"
    );
    update.execute(connection).await?;
    Ok(())
}

/// Gives messages another number and route.
async fn put_senders(connection: &mut PgConnection, senders: Vec<NewSender>) -> PgResult<()> {
    if senders.is_empty() {
        return Ok(());
    }
    let update = rows_query!(
        "WITH moved AS (
             UPDATE message m SET from_number = new.from_number, route = new.route
             FROM " rows(sender in &senders) as new {
                account_id: uuid = uuid(sender.account),
                id: uuid = uuid(sender.message),
                from_number: bigint = digits(sender.from),
                route: text = sender.route.as_str(),
             } "
             WHERE m.account_id = new.account_id AND m.id = new.id
             RETURNING m.id, m.route)
         UPDATE queue q SET route = moved.route FROM moved WHERE q.message_id = moved.id"
    );
    update.execute(connection).await?;
    Ok(())
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
