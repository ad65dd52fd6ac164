//! Changes of messages in one statement, settled before anything is locked.
//!
//! Nearly every outcome and receipt is plain: the network took the message, or delivered it, and
//! nobody else changed it meanwhile. Such changes are settled against what is known without a lock,
//! and written only where that still holds: the message has the status that it had, its queue row
//! the lease, its segment the report. The database undoes the statement otherwise, and the caller
//! locks, reads and settles again. Where an account has webhook endpoints, the deliveries are
//! written by another statement of the same transaction.

use std::collections::BTreeMap;

use sms_core::commit::{ChangeWrites, MessageWrite};
use sms_core::dispatch::LeaseToken;
use sms_core::event::row::{EventRow, rows};
use sms_core::ids::MessageId;
use sms_core::message::{MessageStatus, Times};
use sms_core::receipt::ReceiptStatus;
use sms_core::receipt::report::SentSegment;
use sqlx::pool::PoolConnection;
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, PgPool, Postgres, Row};
use uuid::Uuid;

use crate::begin::begin;
use crate::campaign_counts::count_delta;
use crate::change::{last_contacted, unless_newer};
use crate::delivery::Origin;
use crate::error::{PgError, PgResult};
use crate::event::insert_events;
use crate::row::{bigint, integer, report_code, time, token, uuid};
use crate::rows_query::rows_query;
use crate::sent_segment::{segment_id, sent_part};
use crate::statistics::counted;
use crate::timeline::Lines;
use crate::{delivery, event};

/// What is written if it still holds.
pub(crate) struct Guarded<'a> {
    /// The status that all messages must still have.
    pub(crate) was: MessageStatus,
    /// The messages that workers must still hold, and their leases.
    pub(crate) held: &'a BTreeMap<MessageId, LeaseToken>,
    /// Segments that nothing may be known of yet.
    pub(crate) parts: &'a [SentSegment],
    /// Segments with their new reports, and the reports that they must still have.
    pub(crate) reports: &'a [(SentSegment, Option<ReceiptStatus>)],
    /// What changes; it must be [plain](is_plain).
    pub(crate) changes: &'a ChangeWrites,
}

/// A column that says whether the account of a message `m` has webhook endpoints.
macro_rules! listens {
    () => {
        // Not EXISTS, which the planner may answer by reading all endpoints.
        "COALESCE((SELECT true FROM endpoint e WHERE e.account_id = m.account_id LIMIT 1), false)
             AS listens"
    };
}
pub(crate) use listens;

impl Endpoints {
    /// The accounts that must still have none.
    fn assumed_of(self, messages: &[MessageWrite]) -> Vec<Uuid> {
        match self {
            Self::Assumed => messages.iter().map(|write| uuid(write.message.account)).collect(),
            Self::None | Self::Some => Vec::new(),
        }
    }

    /// Reads [`listens!`].
    pub(crate) fn read(rows: &[PgRow]) -> PgResult<Self> {
        for row in rows {
            if row.try_get("listens")? {
                return Ok(Self::Some);
            }
        }
        Ok(Self::None)
    }
}

/// Whether changes are no more than this module writes: each message enters one status that has a
/// time and no words, and there are no refunds.
pub(crate) fn is_plain(changes: &ChangeWrites) -> bool {
    let ChangeWrites {
        messages,
        refunds,
        unqueued: _,
        contacted: _,
        counts: _,
        tally: _,
        raised: _,
    } = changes;
    let is_plain = |MessageWrite { message, lines }: &MessageWrite| {
        let Times {
            sent_at: _,
            delivered_at: _,
            failed_at,
            cancelled_at,
            received_at: _,
            read_at: _,
        } = &message.times;
        let Lines { sending_at, stored } = Lines::of(message, lines);
        lines.len() == 1
            && (sending_at, stored, message.error) == (None, None, None)
            && (failed_at, cancelled_at) == (&None, &None)
    };
    refunds.is_empty() && messages.iter().all(is_plain)
}

/// Whether accounts have webhook endpoints.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Endpoints {
    /// They have none, as far as the caller knows. If they have, nothing is written.
    Assumed,
    /// They had none a moment ago.
    None,
    /// Some of them have.
    Some,
}

/// Writes the changes. Returns `false` if what they were settled against no longer holds; then
/// nothing is written.
pub(crate) async fn write(
    pool: &PgPool,
    mut connection: PoolConnection<Postgres>,
    guarded: Guarded<'_>,
    endpoints: Endpoints,
) -> PgResult<bool> {
    let deliveries = match endpoints {
        Endpoints::Assumed | Endpoints::None => Vec::new(),
        Endpoints::Some => {
            event::deliveries_of(&mut connection, guarded.changes.raised.clone()).await?
        }
    };
    let written = if deliveries.is_empty() {
        write_or_fail(&mut connection, guarded, endpoints).await
    } else {
        drop(connection);
        let mut tx = begin(pool).await?;
        let written = match write_or_fail(&mut tx, guarded, endpoints).await {
            Ok(()) => delivery::insert(&mut tx, deliveries, Origin::Event).await,
            Err(error) => Err(error),
        };
        match written {
            Ok(()) => tx.commit().await.map_err(PgError::from),
            Err(error) => {
                // Now, so that the caller can lock the same rows.
                let _ = tx.rollback().await;
                Err(error)
            }
        }
    };
    match written {
        Ok(()) => Ok(true),
        Err(error) if error.is_conflict() => Ok(false),
        Err(error) => Err(error),
    }
}

async fn write_or_fail(
    connection: &mut PgConnection,
    guarded: Guarded<'_>,
    endpoints: Endpoints,
) -> PgResult<()> {
    let Guarded { was, held, parts, reports, changes } = guarded;
    let ChangeWrites { messages, unqueued, contacted, refunds: _, counts, tally, raised } = changes;
    let events = rows(raised);
    let unqueued: Vec<_> = unqueued.iter().map(|id| (*id, held.get(id).copied())).collect();
    let count = |count: usize| bigint(count as u64);
    let counted = (count(held.len()), count(messages.len()), count(parts.len()));
    let silent = endpoints.assumed_of(messages);
    // The main query reads the parts in the order in which locks are taken. Rows are looked up one
    // by one, and by their places: what another commit changed meanwhile is elsewhere.
    let write = rows_query!(
        [was.as_str(), counted.0, counted.1, counted.2, count(reports.len()), silent]
        "WITH gone AS (
             DELETE FROM queue q
             USING " rows((id, lease) in &unqueued) as done {
                message_id: uuid = uuid(*id),
                lease: uuid = lease.map(token),
             } "
             CROSS JOIN LATERAL (
                 SELECT ctid AS place FROM queue WHERE message_id = done.message_id LIMIT 1) AS old
             WHERE q.ctid = old.place AND (done.lease IS NULL OR q.lease = done.lease)
             RETURNING done.lease),
         changed AS (
             UPDATE message m
             SET status = new.status, sent_at = new.sent_at, delivered_at = new.delivered_at
             FROM " rows(MessageWrite { message, lines: _ } in messages) as new {
                account_id: uuid = uuid(message.account),
                id: uuid = uuid(message.id),
                status: text = message.status.as_str(),
                sent_at: timestamptz = message.times.sent_at.map(time),
                delivered_at: timestamptz = message.times.delivered_at.map(time),
             } "
             CROSS JOIN LATERAL (
                 SELECT ctid AS place FROM message
                 WHERE account_id = new.account_id AND id = new.id LIMIT 1) AS old
             WHERE m.ctid = old.place AND m.status = $1
             RETURNING 1),
         taken AS (
             INSERT INTO sent_segment " insert(part in parts) {
                ..sent_part!(part),
             } "
             ON CONFLICT DO NOTHING RETURNING 1),
         reported AS (
             UPDATE sent_segment p SET report = new.report
             FROM " rows((part, was) in reports) as new {
                ..segment_id!(part.id),
                message_id: uuid = uuid(part.message),
                report: text = part.report.map(report_code),
                was: text = was.map(report_code),
             } "
             CROSS JOIN LATERAL (
                 SELECT ctid AS place FROM sent_segment
                 WHERE route = new.route AND network_id = new.network_id LIMIT 1) AS old
             WHERE p.ctid = old.place AND p.message_id = new.message_id
                 AND p.report IS NOT DISTINCT FROM new.was
             RETURNING 1),
         contacted AS (
             INSERT INTO last_contacted " insert(one in contacted) {
                ..last_contacted!(one),
             } unless_newer!() "),
         counted AS (
             INSERT INTO statistic_change " insert(count in tally.counts()) {
                ..counted!(count),
             } "),
         campaigns AS (
             INSERT INTO campaign_delta " insert(delta in counts) {
                ..count_delta!(delta),
             } "),
         logged AS (" insert_events!()
             rows(EventRow { account, first, kinds, last_id, events } in &events) as new {
                account_id: uuid = uuid(*account),
                place: integer = integer(*first),
                kinds: smallint = i16::from(kinds.bits()),
                last_id: uuid = uuid(*last_id),
                events: bytea = events.as_slice(),
             } ")
         SELECT CASE
             WHEN EXISTS (SELECT FROM endpoint WHERE account_id = ANY($6)) THEN overtaken()
             WHEN (SELECT count(lease) FROM gone) <> $2 THEN overtaken()
             WHEN (SELECT count(*) FROM changed) <> $3 THEN overtaken()
             WHEN (SELECT count(*) FROM taken) <> $4 THEN overtaken()
             WHEN (SELECT count(*) FROM reported) <> $5 THEN overtaken()
         END"
    );
    write.execute(connection).await.map(drop).map_err(PgError::from)
}
