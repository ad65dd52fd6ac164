//! Segments that networks accepted, by the network's id, and the reports about them.
//!
//! A commit writes the row of a segment while it holds the segment's message, and before it changes
//! that message. There are three exceptions:
//!
//! - An early report has no message. A statement of its own writes it, with nothing else locked.
//! - A network may use an id again. The commit that holds the new message then takes the id's row,
//!   and moves the segment of the former message beside it, by the recipient. A commit that holds
//!   the former message finds the segment there.
//! - Tidying deletes old rows with nothing else locked, and skips rows that others hold.
//!
//! No two commits wait for each other: each locks the rows of ids in key order, and writes rows
//! beside ids only while it holds the rows of these ids.

use std::collections::BTreeMap;

use sms_core::dispatch::{OutcomePlan, names_beside};
use sms_core::ids::MessageId;
use sms_core::message::Message;
use sms_core::receipt::report::{Beside, EarlyReports, NetworkId, SentSegment};
use sms_core::time::Timestamp;
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, PgPool, Row};

use crate::error::{PgError, PgResult};
use crate::guarded::{Endpoints, listens};
use crate::message_columns;
use crate::retention::{self, delete_older};
use crate::row::{self as columns, Read, report_code, uuid, uuids};
use crate::rows_query::rows_query;

mod early;
mod row;
mod unmatched;

pub(crate) use early::{Aside, InTheWay, hold, keep_aside, keep_early, keep_newer};
use early::{early_report, early_reports, write_beside};
pub(crate) use row::{Place, Siblings, segment_id, sent_part};
use row::{network_id, part, report};
pub(crate) use unmatched::{are_sent, trim, unmatched};

/// Segments that are written before their outcomes are settled. Their rows stay locked, so that no
/// report on them comes in between.
#[derive(Debug)]
pub(crate) struct Staged {
    /// The segments as they were staged.
    written: BTreeMap<NetworkId, SentSegment>,
}

impl Staged {
    /// Writes the segments of these plans, over early reports and over segments of other messages,
    /// which move beside them. Also returns the early reports on these messages.
    pub(crate) async fn write<'a>(
        connection: &mut PgConnection,
        plans: impl Iterator<Item = (&'a OutcomePlan, &'a Message)>,
    ) -> PgResult<(Self, EarlyReports)> {
        let mut messages = BTreeMap::new();
        let mut written = BTreeMap::new();
        for (plan, message) in plans {
            messages.insert(message.id, message);
            written.extend(plan.sent_segments().into_iter().map(|part| (part.id.clone(), part)));
        }
        let Found { mut early, former } = take(connection, &written).await?;
        let in_the_way =
            |part: &&SentSegment| former.contains_key(&part.id) || early.contains_key(&part.id);
        let shared: Vec<&SentSegment> = written.values().filter(in_the_way).collect();
        let beside = shared.iter().filter_map(|part| {
            let message = messages.get(&part.message)?;
            Some(names_beside(&part.id, message))
        });
        let beside: Vec<NetworkId> = beside.flatten().collect();
        move_beside(connection, &former, &written, &messages).await?;
        for (id, report) in &early {
            if let Some(part) = written.get_mut(id) {
                part.report = Some(report.status);
            }
        }
        early.extend(early_reports(connection, &beside).await?);
        Ok((Self { written }, early))
    }

    /// Writes the reports that differ from what was staged: those for an id that two messages of
    /// one call share, those too old to be about this segment, and those about other recipients.
    /// Also writes what is beside the ids.
    ///
    /// # Errors
    ///
    /// [`PgError::Overtaken`] if the settled segments are not exactly the staged ones, reports
    /// aside.
    pub(crate) async fn settle(
        self,
        connection: &mut PgConnection,
        parts: Vec<SentSegment>,
        beside: Beside,
    ) -> PgResult<()> {
        let (moved, settled): (Vec<_>, Vec<_>) =
            parts.into_iter().partition(|part| part.id.is_beside());
        let settled: BTreeMap<_, _> =
            settled.into_iter().map(|part| (part.id.clone(), part)).collect();
        let key = |part: &SentSegment| (part.id.clone(), part.message, part.total, part.at);
        if !self.written.values().map(key).eq(settled.values().map(key)) {
            return Err(PgError::Overtaken);
        }
        let same = |part: &SentSegment| self.written.get(&part.id).is_some_and(|was| was == part);
        let others: Vec<&SentSegment> = settled.values().filter(|part| !same(part)).collect();
        write_reports(connection, &others).await?;
        write_parts(connection, &moved.iter().collect::<Vec<_>>()).await?;
        write_beside(connection, beside).await
    }
}

/// What was known under ids.
struct Found {
    early: EarlyReports,
    /// Segments of other messages.
    former: BTreeMap<NetworkId, SentSegment>,
}

/// Writes segments over early reports, and finds segments of other messages with their ids, whose
/// rows stay as they are.
async fn take(
    connection: &mut PgConnection,
    parts: &BTreeMap<NetworkId, SentSegment>,
) -> PgResult<Found> {
    let mut found = Found { early: EarlyReports::new(), former: BTreeMap::new() };
    if parts.is_empty() {
        return Ok(found);
    }
    let insert = rows_query!(
        "INSERT INTO sent_segment AS p " insert(part in parts.values()) {
            ..sent_part!(part),
         } "
         ON CONFLICT (route, network_id) DO UPDATE
         SET (message_id, total, at, report, early_at) = (
             SELECT CASE WHEN is_kept THEN p.message_id ELSE excluded.message_id END,
                 CASE WHEN is_kept THEN p.total ELSE excluded.total END,
                 CASE WHEN is_kept THEN p.at ELSE excluded.at END,
                 CASE WHEN is_kept OR p.message_id IS NULL THEN p.report END,
                 CASE WHEN p.message_id IS NULL THEN p.at END
             FROM (SELECT p.message_id IS NOT NULL AND p.message_id <> excluded.message_id
                       AS is_kept) AS it)
         RETURNING route, network_id, message_id, total, at, report, early_at, numbers"
    );
    for row in insert.fetch_all(connection).await? {
        let part = part(&row)?;
        if parts.get(&part.id).is_some_and(|own| own.message != part.message) {
            found.former.insert(part.id.clone(), part);
        } else if row.try_get::<Option<&str>, _>("report")?.is_some() {
            found.early.insert(part.id, early_report(&row, "early_at")?);
        }
    }
    Ok(found)
}

/// Moves segments of other messages beside their ids, and writes the new ones over them.
async fn move_beside(
    connection: &mut PgConnection,
    former: &BTreeMap<NetworkId, SentSegment>,
    written: &BTreeMap<NetworkId, SentSegment>,
    messages: &BTreeMap<MessageId, &Message>,
) -> PgResult<()> {
    if former.is_empty() {
        return Ok(());
    }
    let ids = uuids(former.values().map(|part| part.message));
    let rows = sqlx::query("SELECT id, to_number FROM message WHERE id = ANY($1)").bind(ids);
    let rows = rows.fetch_all(&mut *connection).await?;
    let recipient = |row: &PgRow| Ok((row.id("id")?, row.number("to_number")?));
    let recipients = rows.iter().map(recipient).collect::<PgResult<BTreeMap<MessageId, _>>>()?;
    let mut parts = Vec::new();
    for (id, part) in former {
        let Some(own) = written.get(id) else { continue };
        parts.push(own.clone());
        let new = messages.get(&own.message).map(|message| message.to);
        if let Some(to) = recipients.get(&part.message).filter(|to| Some(**to) != new) {
            parts.push(SentSegment { id: id.beside(*to), ..part.clone() });
        }
    }
    parts.sort_by(|one, other| one.id.cmp(&other.id));
    write_parts(connection, &parts.iter().collect::<Vec<_>>()).await
}

/// Writes segments over whatever is there. The caller holds the rows of their ids.
async fn write_parts(connection: &mut PgConnection, parts: &[&SentSegment]) -> PgResult<()> {
    if parts.is_empty() {
        return Ok(());
    }
    let insert = rows_query!(
        "INSERT INTO sent_segment AS p " insert(part in parts) {
            ..sent_part!(part),
            report: text = part.report.map(report_code),
         } "
         ON CONFLICT (route, network_id) DO UPDATE
         SET message_id = excluded.message_id, total = excluded.total, at = excluded.at,
             report = excluded.report, early_at = NULL, numbers = NULL"
    );
    insert.execute(connection).await?;
    Ok(())
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
            ..segment_id!(id),
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
            ..segment_id!(id),
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
        let message = columns::message(row)?;
        let (report, at) = (report(row)?, row.at("left_at")?);
        let part = SentSegment { id: id.clone(), message: message.id, total: 1, report, at };
        Ok((id, (part, message)))
    };
    Ok((rows.iter().map(read).collect::<PgResult<_>>()?, Endpoints::read(&rows)?))
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
        "SELECT p.route, p.network_id, p.message_id, p.total, p.report, p.at
         FROM " rows(id in &alone) as wanted {
            ..segment_id!(id),
         } "
         JOIN sent_segment p ON p.route = wanted.route AND p.network_id = wanted.network_id
         WHERE p.total = 1
         UNION ALL
         SELECT route, network_id, message_id, total, report, at
         FROM sent_segment WHERE message_id = ANY($1) AND total > 1"
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
            ..segment_id!(part.id),
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

fn read_places(rows: &[PgRow]) -> PgResult<BTreeMap<NetworkId, Place>> {
    rows.iter().map(|row| Ok((network_id(row)?, Place::read(row)?))).collect()
}
