//! Reports that came before their segments were recorded.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use sms_core::ids::MessageId;
use sms_core::receipt::report::{Beside, EARLY_FOR, EarlyReport, EarlyReports, NetworkId};
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, PgExecutor, Row};

use super::row::{Place, early_part, network_id, report, segment_id};
use crate::error::{PgError, PgResult};
use crate::row::{Read, uuid};
use crate::rows_query::rows_query;

/// The early reports under these names beside ids. The caller holds the rows of the ids.
pub(super) async fn early_reports(
    connection: &mut PgConnection,
    names: &[NetworkId],
) -> PgResult<EarlyReports> {
    if names.is_empty() {
        return Ok(EarlyReports::new());
    }
    let query = rows_query!(
        "SELECT p.route, p.network_id, p.report, p.at, p.numbers
         FROM " rows(id in names) as wanted {
            ..segment_id!(id),
         } "
         JOIN sent_segment p ON p.route = wanted.route AND p.network_id = wanted.network_id
         WHERE p.message_id IS NULL"
    );
    let rows = query.fetch_all(connection).await?;
    rows.iter().map(|row| Ok((network_id(row)?, early_report(row, "at")?))).collect()
}

/// Writes early reports beside ids, and removes those that have counted. The caller holds the rows
/// of the ids.
pub(super) async fn write_beside(connection: &mut PgConnection, beside: Beside) -> PgResult<()> {
    let mut kept = Vec::new();
    let mut counted = Vec::new();
    for (name, report) in beside {
        match report {
            Some(report) => kept.push((name, report)),
            None => counted.push(name),
        }
    }
    if !kept.is_empty() {
        let insert = rows_query!(
            "INSERT INTO sent_segment AS p " insert(kept in &kept) {
                ..early_part!(kept),
             } "
             ON CONFLICT (route, network_id) DO UPDATE
             SET report = excluded.report, at = excluded.at, numbers = excluded.numbers
             WHERE p.message_id IS NULL"
        );
        insert.execute(&mut *connection).await?;
    }
    if !counted.is_empty() {
        let delete = rows_query!(
            "DELETE FROM sent_segment p USING " rows(name in &counted) as gone {
                ..segment_id!(name),
             } "
             WHERE p.route = gone.route AND p.network_id = gone.network_id
                 AND p.message_id IS NULL"
        );
        delete.execute(connection).await?;
    }
    Ok(())
}

/// What stood in the way of early reports.
#[derive(Debug, Default)]
pub(crate) struct InTheWay {
    /// Segments that have become known meanwhile.
    pub(crate) places: BTreeMap<NetworkId, Place>,
    /// Ids under which reports on other recipients wait already.
    pub(crate) others: BTreeSet<NetworkId>,
}

/// Stores reports on unknown segments. Waits for segments that are being recorded, so the caller
/// must hold no locks, or those of the ids that these names are beside.
pub(crate) async fn keep_early<'e>(
    executor: impl PgExecutor<'e>,
    reports: &BTreeMap<NetworkId, EarlyReport>,
) -> PgResult<InTheWay> {
    let mut found = InTheWay::default();
    if reports.is_empty() {
        return Ok(found);
    }
    // Follows `EarlyReport::gives_way` and `EarlyReport::may_be_of`. A row that does not give way
    // is written unchanged, so that it is locked and returned.
    let insert = rows_query!(
        [EARLY_FOR.as_secs_f64()]
        "WITH kept AS (
             INSERT INTO sent_segment AS p " insert(kept in reports) {
                ..early_part!(kept),
             } "
             ON CONFLICT (route, network_id) DO UPDATE
             SET (report, at, numbers) = (
                 SELECT CASE WHEN gives_way THEN excluded.report ELSE p.report END,
                     CASE WHEN gives_way THEN excluded.at ELSE p.at END,
                     CASE WHEN gives_way THEN excluded.numbers ELSE p.numbers END
                 FROM (SELECT p.message_id IS NULL
                           AND (p.report <> 'delivered'
                                OR p.at <= excluded.at - make_interval(secs => $1))
                           AND (position(chr(31) IN p.network_id) > 0
                                OR p.numbers IS NULL OR excluded.numbers IS NULL
                                OR split_part(p.numbers, ' ', 1)
                                   = split_part(excluded.numbers, ' ', 1)) AS gives_way)
                     AS it)
             RETURNING route, network_id, message_id, total, numbers)
         SELECT route, network_id, message_id, total, numbers
         FROM kept WHERE message_id IS NOT NULL OR numbers IS NOT NULL"
    );
    for row in insert.fetch_all(executor).await? {
        let id = network_id(&row)?;
        if row.try_get::<Option<uuid::Uuid>, _>("message_id")?.is_some() {
            found.places.insert(id, Place::read(&row)?);
        } else if let Some(report) = reports.get(&id)
            && !id.is_beside()
            && !may_be_of(&row, report)?
        {
            found.others.insert(id);
        }
    }
    Ok(found)
}

/// Whether the early report of this row may be about the same message as another.
fn may_be_of(row: &PgRow, other: &EarlyReport) -> PgResult<bool> {
    let numbers = EarlyReport::numbers_of(row.try_get("numbers")?);
    let numbers = numbers.ok_or_else(|| PgError::invalid("numbers"))?;
    Ok(other.may_be_of(&numbers))
}

/// A report that waits beside its id.
#[derive(Debug)]
pub(crate) struct Aside {
    pub(crate) id: NetworkId,
    /// The message that has the id; `None` if an early report on another recipient has it.
    pub(crate) holder: Option<MessageId>,
    pub(crate) name: NetworkId,
    pub(crate) report: EarlyReport,
}

/// Locks the rows of ids, in key order.
pub(crate) async fn hold(connection: &mut PgConnection, ids: &BTreeSet<NetworkId>) -> PgResult<()> {
    if ids.is_empty() {
        return Ok(());
    }
    let query = rows_query!(
        "SELECT FROM " rows(id in ids) as wanted {
            ..segment_id!(id),
         } "
         JOIN sent_segment p ON p.route = wanted.route AND p.network_id = wanted.network_id
         ORDER BY p.route, p.network_id FOR UPDATE OF p"
    );
    query.execute(connection).await?;
    Ok(())
}

/// Stores reports beside ids.
///
/// # Errors
///
/// [`PgError::Overtaken`] if another message has got an id meanwhile, for which the report may have
/// come.
pub(crate) async fn keep_aside(connection: &mut PgConnection, aside: Vec<Aside>) -> PgResult<()> {
    if aside.is_empty() {
        return Ok(());
    }
    let query = rows_query!(
        "SELECT p.message_id
         FROM " rows(one in &aside) as wanted {
            ..segment_id!(one.id),
            holder: uuid = one.holder.map(uuid),
         } "
         JOIN sent_segment p ON p.route = wanted.route AND p.network_id = wanted.network_id
         WHERE p.message_id IS NOT DISTINCT FROM wanted.holder
         ORDER BY p.route, p.network_id FOR UPDATE OF p"
    );
    if query.fetch_all(&mut *connection).await?.len() != aside.len() {
        return Err(PgError::Overtaken);
    }
    let mut reports: BTreeMap<NetworkId, EarlyReport> = BTreeMap::new();
    for Aside { name, report, .. } in aside {
        keep_newer(&mut reports, name, report);
    }
    keep_early(connection, &reports).await.map(drop)
}

/// Adds a report, unless the one that is there does not give way.
pub(crate) fn keep_newer(
    reports: &mut BTreeMap<NetworkId, EarlyReport>,
    name: NetworkId,
    report: EarlyReport,
) {
    match reports.entry(name) {
        Entry::Vacant(entry) => {
            entry.insert(report);
        }
        Entry::Occupied(mut entry) if entry.get().gives_way(report.at) => {
            entry.insert(report);
        }
        Entry::Occupied(_) => {}
    }
}

pub(super) fn early_report(row: &PgRow, at: &'static str) -> PgResult<EarlyReport> {
    let status = report(row)?.ok_or_else(|| PgError::invalid("report"))?;
    let numbers = EarlyReport::numbers_of(row.try_get("numbers")?);
    let numbers = numbers.ok_or_else(|| PgError::invalid("numbers"))?;
    Ok(EarlyReport { status, at: row.at(at)?, numbers })
}
