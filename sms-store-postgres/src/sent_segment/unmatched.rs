//! Reports that match no message, for the operator.

use std::collections::BTreeSet;

use sms_core::receipt::report::{EarlyReport, NetworkReport};
use sms_core::receipt::unmatched::{UNMATCHED_MOST, Unmatched, UnmatchedReport};
use sms_core::route::RouteName;
use sms_core::time::Timestamp;
use sqlx::postgres::PgRow;
use sqlx::{PgPool, Row};

use super::early::early_report;
use super::row::{network_id, segment_id};
use crate::error::{PgError, PgResult};
use crate::row::{Read, time};
use crate::rows_query::rows_query;

/// The newest early reports of a route from before `before`, and how many there are.
pub(crate) async fn unmatched(
    pool: &PgPool,
    route: &RouteName,
    before: Timestamp,
    limit: usize,
) -> PgResult<Unmatched> {
    let count = sqlx::query(
        "SELECT count(*) FROM (
             SELECT FROM sent_segment
             WHERE route = $1 AND message_id IS NULL AND at < $2 LIMIT $3) AS it",
    )
    .bind(route.as_str())
    .bind(time(before))
    .bind(i64::try_from(UNMATCHED_MOST).unwrap_or(i64::MAX))
    .fetch_one(pool)
    .await?;
    let count = usize::try_from(count.try_get::<i64, _>("count")?).unwrap_or(UNMATCHED_MOST);
    let rows = sqlx::query(
        "SELECT route, network_id, report, at, numbers FROM sent_segment
         WHERE route = $1 AND message_id IS NULL AND at < $2
         ORDER BY at DESC, network_id DESC LIMIT $3",
    )
    .bind(route.as_str())
    .bind(time(before))
    .bind(i64::try_from(limit).unwrap_or(i64::MAX))
    .fetch_all(pool)
    .await?;
    let read = |row: &PgRow| {
        let EarlyReport { status, at, numbers } = early_report(row, "at")?;
        Ok(UnmatchedReport { id: network_id(row)?, status, at, numbers })
    };
    Ok(Unmatched { count, newest: rows.iter().map(read).collect::<PgResult<_>>()? })
}

/// Deletes some early reports of a route from before `before` beyond the newest ones, which are
/// kept: `(keep, limit)`. Skips rows that others hold.
pub(crate) async fn trim(
    pool: &PgPool,
    route: &RouteName,
    before: Timestamp,
    (keep, limit): (usize, usize),
) -> PgResult<usize> {
    let deleted = sqlx::query(
        "DELETE FROM sent_segment WHERE (route, network_id) IN (
             SELECT route, network_id FROM sent_segment
             WHERE route = $1 AND message_id IS NULL AND (at, network_id) <= (
                 SELECT at, network_id FROM sent_segment
                 WHERE route = $1 AND message_id IS NULL AND at < $2
                 ORDER BY at DESC, network_id DESC LIMIT 1 OFFSET $3)
             ORDER BY at DESC, network_id DESC LIMIT $4 FOR UPDATE SKIP LOCKED)",
    )
    .bind(route.as_str())
    .bind(time(before))
    .bind(i64::try_from(keep).unwrap_or(i64::MAX))
    .bind(i64::try_from(limit).unwrap_or(i64::MAX))
    .execute(pool)
    .await?;
    Ok(usize::try_from(deleted.rows_affected()).unwrap_or(usize::MAX))
}

/// Whether each report would be about a segment that is recorded.
pub(crate) async fn are_sent(pool: &PgPool, reports: &[NetworkReport]) -> PgResult<Vec<bool>> {
    let query = rows_query!(
        "SELECT wanted.place, m.to_number
         FROM " rows(report in reports) with_ordinality(place) as wanted {
            ..segment_id!(report.id),
         } "
         JOIN sent_segment p ON p.route = wanted.route AND p.network_id = wanted.network_id
         JOIN message m ON m.id = p.message_id"
    );
    let mut sent = BTreeSet::new();
    for row in query.fetch_all(pool).await? {
        let place = usize::try_from(row.try_get::<i64, _>("place")?).ok();
        let place = place.and_then(|place| place.checked_sub(1));
        let place = place.ok_or_else(|| PgError::invalid("place"))?;
        let to = row.number("to_number")?;
        if reports.get(place).is_some_and(|report| report.may_concern(to)) {
            sent.insert(place);
        }
    }
    Ok((0..reports.len()).map(|place| sent.contains(&place)).collect())
}
