//! Segments that networks accepted, by the network's id, and the reports about them.
//!
//! A row is written while its message is locked, before the changes to the message. Rows are
//! written in key order. There are three exceptions:
//!
//! - An early report has no message. A separate statement writes it before anything is locked.
//! - An id that a network uses again moves to the new message. A commit that holds the former
//!   message finds the row gone.
//! - Tidying deletes old rows with nothing else locked, and skips rows that others hold.

use std::collections::BTreeMap;

use sms_core::dispatch::OutcomePlan;
use sms_core::ids::MessageId;
use sms_core::message::Message;
use sms_core::receipt::ReceiptStatus;
use sms_core::receipt::report::{EARLY_FOR, EarlyReport, EarlyReports, NetworkId, SentSegment};
use sms_core::route::RouteName;
use sms_core::time::Timestamp;
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, PgPool, Row};

use crate::error::{PgError, PgResult};
use crate::guarded::{Endpoints, listens};
use crate::message_columns;
use crate::retention::{self, delete_older};
use crate::row::{self, Read, report_code, time, uuid, uuids};
use crate::rows_query::rows_query;

/// The message that a segment belongs to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) message: MessageId,
    pub(crate) siblings: Siblings,
}

/// Whether the message has other segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Siblings {
    None,
    Some,
}

impl Place {
    fn read(row: &PgRow) -> PgResult<Self> {
        let siblings = if row.count("total")? > 1 { Siblings::Some } else { Siblings::None };
        Ok(Self { message: row.id("message_id")?, siblings })
    }
}

/// Segments that are written before their outcomes are settled. Their rows stay locked, so that no
/// report on them comes in between.
#[derive(Debug)]
pub(crate) struct Staged {
    /// The segments as they were staged.
    written: BTreeMap<NetworkId, SentSegment>,
}

impl Staged {
    /// Writes the segments of these plans, over early reports and over segments of other messages.
    /// Also returns the early reports that it replaces.
    pub(crate) async fn write(
        connection: &mut PgConnection,
        plans: impl Iterator<Item = &OutcomePlan>,
    ) -> PgResult<(Self, EarlyReports)> {
        let nothing = EarlyReports::new();
        let parts = plans.flat_map(|plan| plan.sent_segments(&nothing));
        let mut written: BTreeMap<_, _> = parts.map(|part| (part.id.clone(), part)).collect();
        let early = take(connection, &written).await?;
        for (id, report) in &early {
            if let Some(part) = written.get_mut(id) {
                part.report = Some(report.status);
            }
        }
        Ok((Self { written }, early))
    }

    /// Writes the reports that differ from what was staged: those for an id that two messages of
    /// one call share, and those too old to be about this segment.
    ///
    /// # Errors
    ///
    /// [`PgError::Overtaken`] if the settled segments are not exactly the staged ones, reports
    /// aside.
    pub(crate) async fn settle(
        self,
        connection: &mut PgConnection,
        parts: Vec<SentSegment>,
    ) -> PgResult<()> {
        let settled: BTreeMap<_, _> =
            parts.into_iter().map(|part| (part.id.clone(), part)).collect();
        let key = |part: &SentSegment| (part.id.clone(), part.message, part.total, part.at);
        if !self.written.values().map(key).eq(settled.values().map(key)) {
            return Err(PgError::Overtaken);
        }
        let same = |part: &SentSegment| self.written.get(&part.id).is_some_and(|was| was == part);
        let others: Vec<&SentSegment> = settled.values().filter(|part| !same(part)).collect();
        write_reports(connection, &others).await
    }
}

/// Writes segments. Returns the early reports that they replace.
async fn take(
    connection: &mut PgConnection,
    parts: &BTreeMap<NetworkId, SentSegment>,
) -> PgResult<EarlyReports> {
    if parts.is_empty() {
        return Ok(EarlyReports::new());
    }
    let insert = rows_query!(
        "WITH taken AS (
             INSERT INTO sent_segment AS p " insert(part in parts.values()) {
                route: text = part.id.route.as_str(),
                network_id: text = &*part.id.id,
                message_id: uuid = uuid(part.message),
                total: integer = i32::try_from(part.total).unwrap_or(i32::MAX),
                at: timestamptz = time(part.at),
             } "
             ON CONFLICT (route, network_id) DO UPDATE
             SET message_id = excluded.message_id, total = excluded.total, at = excluded.at,
                 report = CASE WHEN p.message_id IS NULL THEN p.report END,
                 early_at = CASE WHEN p.message_id IS NULL THEN p.at END
             RETURNING route, network_id, report, early_at)
         SELECT * FROM taken WHERE report IS NOT NULL"
    );
    let rows = insert.fetch_all(connection).await?;
    let read = |row| {
        let status = report(row)?.ok_or_else(|| PgError::invalid("report"))?;
        Ok((network_id(row)?, EarlyReport { status, at: row.at("early_at")? }))
    };
    rows.iter().map(read).collect()
}

/// The messages that these segments belong to, as far as they are known.
pub(crate) async fn places(
    pool: &PgPool,
    ids: impl Iterator<Item = &NetworkId>,
) -> PgResult<BTreeMap<NetworkId, Place>> {
    let ids: Vec<&NetworkId> = ids.collect();
    let query = rows_query!(
        "SELECT p.route, p.network_id, p.message_id, p.total
         FROM " rows(id in &ids) as wanted {
            route: text = id.route.as_str(),
            network_id: text = &*id.id,
         } "
         JOIN sent_segment p ON p.route = wanted.route AND p.network_id = wanted.network_id
         WHERE p.message_id IS NOT NULL"
    );
    let rows = query.fetch_all(pool).await?;
    read_places(&rows)
}

/// Those of these segments that are all of a message which is `sent`, with the message. Nothing is
/// locked.
pub(crate) async fn of_sent(
    connection: &mut PgConnection,
    ids: &[&NetworkId],
) -> PgResult<(BTreeMap<NetworkId, (SentSegment, Message)>, Endpoints)> {
    let query = rows_query!(
        "SELECT " message_columns!() ", p.total, p.report, p.at AS left_at, wanted.place, "
         listens!() "
         FROM " rows(id in ids) with_ordinality(place) as wanted {
            route: text = id.route.as_str(),
            network_id: text = &*id.id,
         } "
         JOIN sent_segment p ON p.route = wanted.route AND p.network_id = wanted.network_id
         JOIN message m ON m.id = p.message_id
         WHERE p.total = 1 AND m.status = 'sent'"
    );
    let rows = query.fetch_all(connection).await?;
    let read = |row: &PgRow| {
        let place = usize::try_from(row.try_get::<i64, _>("place")?).ok();
        let id = place.and_then(|place| ids.get(place.checked_sub(1)?));
        let id = (*id.ok_or_else(|| PgError::invalid("place"))?).clone();
        let message = row::message(row)?;
        let (report, at) = (report(row)?, row.at("left_at")?);
        let part = SentSegment { id: id.clone(), message: message.id, total: 1, report, at };
        Ok((id, (part, message)))
    };
    Ok((rows.iter().map(read).collect::<PgResult<_>>()?, Endpoints::read(&rows)?))
}

/// Stores reports on unknown segments. Returns the messages of segments that have become known
/// meanwhile. Waits for segments that are being recorded, so the caller must hold no locks.
pub(crate) async fn keep_early(
    pool: &PgPool,
    reports: &BTreeMap<&NetworkId, EarlyReport>,
) -> PgResult<BTreeMap<NetworkId, Place>> {
    if reports.is_empty() {
        return Ok(BTreeMap::new());
    }
    // Follows `EarlyReport::gives_way`. A row that does not give way is written unchanged, so that
    // it is locked and returned.
    let insert = rows_query!(
        [EARLY_FOR.as_secs_f64()]
        "WITH kept AS (
             INSERT INTO sent_segment AS p " insert((id, report) in reports) {
                route: text = id.route.as_str(),
                network_id: text = &*id.id,
                report: text = report_code(report.status),
                at: timestamptz = time(report.at),
             } "
             ON CONFLICT (route, network_id) DO UPDATE
             SET (report, at) = (
                 SELECT CASE WHEN gives_way THEN excluded.report ELSE p.report END,
                     CASE WHEN gives_way THEN excluded.at ELSE p.at END
                 FROM (SELECT p.message_id IS NULL
                           AND (p.report <> 'delivered'
                                OR p.at <= excluded.at - make_interval(secs => $1)) AS gives_way)
                     AS it)
             RETURNING route, network_id, message_id, total)
         SELECT * FROM kept WHERE message_id IS NOT NULL"
    );
    let rows = insert.fetch_all(pool).await?;
    read_places(&rows)
}

/// The segments with these ids that have no siblings, and all segments of these messages. The
/// caller has locked the messages.
pub(crate) async fn parts(
    connection: &mut PgConnection,
    alone: impl Iterator<Item = &NetworkId>,
    messages: impl Iterator<Item = MessageId>,
) -> PgResult<Vec<SentSegment>> {
    let alone: Vec<&NetworkId> = alone.collect();
    let query = rows_query!(
        [uuids(messages)]
        "SELECT p.*
         FROM " rows(id in &alone) as wanted {
            route: text = id.route.as_str(),
            network_id: text = &*id.id,
         } "
         JOIN sent_segment p ON p.route = wanted.route AND p.network_id = wanted.network_id
         WHERE p.total = 1
         UNION ALL
         SELECT * FROM sent_segment WHERE message_id = ANY($1) AND total > 1"
    );
    let rows = query.fetch_all(connection).await?;
    rows.iter().map(part).collect()
}

/// Writes the reports on segments that still belong to the same messages.
pub(crate) async fn write_reports(
    connection: &mut PgConnection,
    parts: &[&SentSegment],
) -> PgResult<()> {
    if parts.is_empty() {
        return Ok(());
    }
    let update = rows_query!(
        "UPDATE sent_segment p SET report = new.report
         FROM " rows(part in parts) as new {
            route: text = part.id.route.as_str(),
            network_id: text = &*part.id.id,
            message_id: uuid = uuid(part.message),
            report: text = part.report.map(report_code),
         } "
         WHERE p.route = new.route AND p.network_id = new.network_id
             AND p.message_id = new.message_id"
    );
    update.execute(connection).await?;
    Ok(())
}

/// Deletes up to `limit` segments and early reports from before `before`. Returns how many.
pub(crate) async fn tidy(pool: &PgPool, before: Timestamp, limit: usize) -> PgResult<usize> {
    let old = delete_older!("sent_segment", key: "route, network_id", age: "at");
    retention::delete(pool, old, before, limit).await
}

fn report(row: &PgRow) -> PgResult<Option<ReceiptStatus>> {
    let Some(kept) = row.try_get::<Option<&str>, _>("report")? else { return Ok(None) };
    if kept == report_code(ReceiptStatus::Delivered) {
        return Ok(Some(ReceiptStatus::Delivered));
    }
    let error = kept.parse().map_err(|_| PgError::invalid("report"))?;
    Ok(Some(ReceiptStatus::Undelivered(error)))
}

fn network_id(row: &PgRow) -> PgResult<NetworkId> {
    let route = RouteName::new(row.try_get::<&str, _>("route")?);
    Ok(NetworkId::new(route, row.try_get::<&str, _>("network_id")?))
}

fn part(row: &PgRow) -> PgResult<SentSegment> {
    row.in_table("sent_segment", || {
        Ok(SentSegment {
            id: network_id(row)?,
            message: row.id("message_id")?,
            total: usize::try_from(row.count("total")?).map_err(|_| PgError::invalid("total"))?,
            report: report(row)?,
            at: row.at("at")?,
        })
    })
}

fn read_places(rows: &[PgRow]) -> PgResult<BTreeMap<NetworkId, Place>> {
    rows.iter().map(|row| Ok((network_id(row)?, Place::read(row)?))).collect()
}
