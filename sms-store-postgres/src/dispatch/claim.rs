//! Claims: which rows of the queue a worker takes, and what it learns of their messages.

use sms_core::commit::{Claim, ClaimWrites};
use sms_core::dispatch::lane::NORMAL_BEFORE_BULK;
use sms_core::dispatch::{
    ClaimFacts, ClaimPlan, Claimed, NameStanding, NewSender, RouteLane, Wanted,
};
use sms_core::message::Message;
use sms_core::store::StoreError;
use sms_core::time::Timestamp;
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, PgPool, Row};
use uuid::Uuid;

use super::entry;
use crate::error::{Context, PgResult};
use crate::number::NumbersToSend;
use crate::row::{self, Read, digits, time, uuid};
use crate::rows_query::rows_query;
use crate::{change, message_columns};

/// What every account is above.
///
/// Statements that compare the account of a queue row use the index by turn. Those that say that
/// `expires_at` is not null, which it never is, use the index by route.
macro_rules! nil {
    () => {
        "'00000000-0000-0000-0000-000000000000'"
    };
}

/// The lanes of routes that messages wait in, as `line`. The recursion jumps from one to the next
/// through the index.
macro_rules! lines {
    () => {
        concat!(
            "WITH RECURSIVE line AS (
                 (SELECT q.route, q.lane FROM queue q
                  WHERE q.expires_at IS NOT NULL ORDER BY q.route, q.lane LIMIT 1)
                 UNION ALL
                 SELECT next.route, next.lane FROM line CROSS JOIN LATERAL (
                     SELECT q.route, q.lane FROM queue q
                     WHERE (q.route, q.lane) > (line.route, line.lane)
                         AND q.expires_at IS NOT NULL ORDER BY q.route, q.lane LIMIT 1) AS next)"
        )
    };
}

/// The columns that a claim reads of a message `m` and its queue row `q`.
macro_rules! claimed_columns {
    () => {
        concat!(
            message_columns!(),
            ", q.lane, q.claimable_at, q.expires_at, q.attempt, q.lease, q.unanswered,
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
              ORDER BY q.place, q.claimable_at, q.message_id"
        )
    };
}

/// The messages that are longest due in each lane, except the lanes that are left out, as `oldest`.
/// It reads only the head of each, so that it never has to skip what waits for an excluded route.
macro_rules! oldest {
    () => {
        concat!(
            ", oldest AS (
                 SELECT q.*, row_number() OVER (PARTITION BY q.route, q.lane
                                                ORDER BY q.claimable_at, q.message_id) - 1 AS nth
                 FROM line CROSS JOIN LATERAL (
                     SELECT * FROM queue q
                     WHERE q.route = line.route AND q.lane = line.lane AND q.claimable_at <= $1
                         AND q.expires_at IS NOT NULL
                     ORDER BY q.claimable_at, q.message_id LIMIT $2
                     -- Skip what another worker or a cancel holds.
                     FOR UPDATE SKIP LOCKED) q
                 WHERE NOT EXISTS (SELECT FROM
                                   UNNEST($3::text[], $4::text[]) AS left_out(route, lane)
                                   WHERE left_out.route = line.route
                                       AND left_out.lane = line.lane))"
        )
    };
}

/// The first rows of `$rows` in the order in which they leave, as `due`.
macro_rules! due {
    ($rows:literal) => {
        concat!(
            ", due AS MATERIALIZED (
                 SELECT q.*, CASE q.lane WHEN 'normal'
                     THEN q.nth + $5::bigint + (q.nth + $5::bigint) / $6::bigint
                     ELSE q.nth * ($6::bigint + 1) + $6::bigint END AS place
                 FROM ",
            $rows,
            " q ORDER BY place, q.claimable_at, q.message_id LIMIT $2)",
        )
    };
}

/// Selects the messages longest due.
const ALL_BUT: &str = concat!(lines!(), oldest!(), due!("oldest"), claimed!());

/// As [`ALL_BUT`], but in some lanes, which [`oldest`] leaves out, accounts take turns.
const IN_TURNS: &str = concat!(
    lines!(),
    // Accounts that have messages in the lane: those after the account at which the last claim
    // stopped, and in a second lap those up to it. The recursion jumps from account to account
    // through the index.
    ", visit AS (
         SELECT crowded.*, lap, first.*, 1 AS step
         FROM UNNEST($7::text[], $8::text[], $9::uuid[]) AS crowded(route, lane, stopped)
         CROSS JOIN generate_series(0, 1) AS lap
         CROSS JOIN LATERAL (
             SELECT q.account_id, q.claimable_at FROM queue q
             WHERE q.route = crowded.route AND q.lane = crowded.lane
                 AND q.account_id > CASE lap WHEN 0 THEN crowded.stopped ELSE ",
    nil!(),
    "::uuid END
             ORDER BY q.account_id, q.claimable_at LIMIT 1) AS first
         WHERE lap = 0 OR first.account_id <= crowded.stopped
         UNION ALL
         SELECT visit.route, visit.lane, visit.stopped, visit.lap, next.*, visit.step + 1
         FROM visit CROSS JOIN LATERAL (
             SELECT q.account_id, q.claimable_at FROM queue q
             WHERE q.route = visit.route AND q.lane = visit.lane AND q.account_id > visit.account_id
             ORDER BY q.account_id, q.claimable_at LIMIT 1) AS next
         WHERE visit.step < $2 AND (visit.lap = 0 OR next.account_id <= visit.stopped)),
     visited AS (
         SELECT visit.*, row_number() OVER (PARTITION BY visit.route, visit.lane
                                            ORDER BY visit.lap, visit.account_id) AS visit
         FROM visit),
     with_due AS (
         SELECT visited.*,
             (SELECT a.share FROM account a WHERE a.id = visited.account_id)::bigint AS share
         FROM visited WHERE visited.visit <= $2 AND visited.claimable_at <= $1),
     part AS MATERIALIZED (
         SELECT with_due.*, sum(share) OVER (PARTITION BY route, lane)::bigint AS shares
         FROM with_due),
     in_turn AS (
         SELECT own.*, row_number() OVER (PARTITION BY own.route, own.lane
                                          ORDER BY own.round, own.visit) - 1 AS nth
         FROM (SELECT q.*, part.visit,
                   (row_number() OVER (PARTITION BY q.route, q.lane, q.account_id
                                       ORDER BY q.claimable_at, q.message_id) - 1)
                       * 4294967296 / part.share
                       AS round
               FROM part CROSS JOIN LATERAL (
                   SELECT * FROM queue q
                   WHERE q.route = part.route AND q.lane = part.lane
                       AND q.account_id = part.account_id AND q.claimable_at <= $1
                   ORDER BY q.claimable_at, q.message_id
                   -- Its part of the limit, rounded up.
                   LIMIT ($2 * part.share + part.shares - 1) / part.shares
                   FOR UPDATE SKIP LOCKED) q) own)",
    oldest!(),
    ", both_kinds AS (
         SELECT message_id, account_id, claimable_at, expires_at, attempt, unanswered, lease, route,
             lane, nth FROM oldest
         UNION ALL
         SELECT message_id, account_id, claimable_at, expires_at, attempt, unanswered, lease, route,
             lane, nth FROM in_turn)",
    due!("both_kinds"),
    claimed!(),
);

/// Selects the expired messages of the listed lanes. It reads all messages that wait in them.
const EXPIRED_OF: &str = concat!(
    "WITH due AS MATERIALIZED (
         SELECT q.*, 0 AS place
         FROM UNNEST($3::text[], $4::text[]) AS listed(route, lane) CROSS JOIN LATERAL (
             SELECT * FROM queue q
             WHERE q.route = listed.route AND q.lane = listed.lane AND q.claimable_at <= $1
                 AND q.expires_at <= $1
             ORDER BY q.claimable_at, q.message_id LIMIT $2
             FOR UPDATE SKIP LOCKED) q
         ORDER BY q.claimable_at, q.message_id LIMIT $2
     )",
    claimed!(),
);

/// When a message can be claimed next.
pub(super) async fn next(pool: &PgPool) -> PgResult<Option<Timestamp>> {
    let row = sqlx::query(concat!(
        lines!(),
        " SELECT min((SELECT q.claimable_at FROM queue q
                      WHERE q.route = line.route AND q.lane = line.lane
                          AND q.expires_at IS NOT NULL
                      ORDER BY q.claimable_at LIMIT 1)) AS next
          FROM line"
    ))
    .fetch_one(pool)
    .await?;
    row.maybe_at("next")
}

/// The rows that a claim takes, in the order in which their messages leave.
async fn due(tx: &mut PgConnection, plan: &ClaimPlan) -> PgResult<Vec<PgRow>> {
    let ClaimPlan { at, limit, wanted, turns, .. } = plan;
    let limit = i64::try_from(*limit).unwrap_or(i64::MAX);
    let whole = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    let (sql, mut lanes, crowded) = match wanted {
        Wanted::ExpiredOf(lanes) => (EXPIRED_OF, lanes.clone(), Vec::new()),
        Wanted::AllBut(left) => {
            let crowded = turns.crowded().filter(|(lane, _)| wanted.concerns(lane));
            let crowded: Vec<(RouteLane, Uuid)> =
                crowded.map(|(lane, after)| (lane.clone(), uuid(after))).collect();
            let sql = if crowded.is_empty() { ALL_BUT } else { IN_TURNS };
            (sql, left.clone(), crowded)
        }
    };
    lanes.extend(crowded.iter().map(|(lane, _)| lane.clone()));
    let mut query = sqlx::query(sql)
        .bind(time(*at))
        .bind(limit)
        .bind(lanes.iter().map(|of| of.route.as_str().to_owned()).collect::<Vec<_>>())
        .bind(lanes.iter().map(|of| of.lane.as_str()).collect::<Vec<_>>());
    if matches!(wanted, Wanted::AllBut(_)) {
        query = query.bind(whole(turns.order().since_bulk())).bind(whole(NORMAL_BEFORE_BULK));
    }
    if !crowded.is_empty() {
        query = query
            .bind(crowded.iter().map(|(of, _)| of.route.as_str().to_owned()).collect::<Vec<_>>())
            .bind(crowded.iter().map(|(of, _)| of.lane.as_str()).collect::<Vec<_>>())
            .bind(crowded.iter().map(|(_, stopped)| *stopped).collect::<Vec<_>>());
    }
    Ok(query.fetch_all(tx).await?)
}

/// Claims messages in this transaction.
pub(super) async fn claim(tx: &mut PgConnection, plan: ClaimPlan) -> Result<Claimed, StoreError> {
    let doing = "claiming messages";
    let rows = due(tx, &plan).await.context(doing)?;
    if rows.is_empty() {
        return Ok(Claim::new(plan).finish().1);
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
    entry::put(tx, queue).await.context(doing)?;
    put_senders(tx, senders).await.context(doing)?;
    change::write(tx, changes).await.context(doing)?;
    Ok(claimed)
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
