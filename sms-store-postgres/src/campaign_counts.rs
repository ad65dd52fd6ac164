//! Campaign counts. Each commit inserts differences, which are folded into the totals later.

use sms_core::campaign::counts::CountDelta;
use sms_core::store::StoreError;
use sqlx::{PgConnection, PgPool, Row};

use crate::error::{Context, PgResult};
use crate::rows_query::rows_query;

/// The columns of a difference, in an `INSERT INTO campaign_delta`.
macro_rules! count_delta {
    (($delta:expr) $($query:tt)+) => {
        // `by` is in the order of `Counts::STATUSES`.
        $crate::rows_query::rows_query!(@spread {
            account_id: uuid = $crate::row::uuid($delta.account),
            campaign_id: uuid = $crate::row::uuid($delta.campaign),
            settled_at: timestamptz = $delta.settled_at.map($crate::row::time),
            scheduled: bigint = $delta.by[0],
            queued: bigint = $delta.by[1],
            sending: bigint = $delta.by[2],
            sent: bigint = $delta.by[3],
            delivered: bigint = $delta.by[4],
            undelivered: bigint = $delta.by[5],
            failed: bigint = $delta.by[6],
            cancelled: bigint = $delta.by[7],
        } $($query)+)
    };
}
pub(crate) use count_delta;

/// Inserts the differences that a commit makes to counts.
pub(crate) async fn insert(connection: &mut PgConnection, deltas: Vec<CountDelta>) -> PgResult<()> {
    if deltas.is_empty() {
        return Ok(());
    }
    let insert = rows_query!(
        "INSERT INTO campaign_delta " insert(delta in &deltas) {
            ..count_delta!(delta),
        }
    );
    insert.execute(connection).await?;
    Ok(())
}

/// Adds up to `limit` differences to the totals of their campaigns. Returns how many.
pub(crate) async fn fold(pool: &PgPool, limit: usize) -> Result<usize, StoreError> {
    let doing = "folding campaign counts";
    let rows = sqlx::query(
        "WITH taken AS (
             DELETE FROM campaign_delta WHERE (account_id, campaign_id, id) IN (
                 SELECT account_id, campaign_id, id FROM campaign_delta
                 ORDER BY account_id, campaign_id, id LIMIT $1 FOR UPDATE SKIP LOCKED)
             RETURNING *),
         sums AS (
             SELECT account_id, campaign_id, count(*) AS folded, max(settled_at) AS settled_at,
                    sum(scheduled)::bigint AS scheduled, sum(queued)::bigint AS queued,
                    sum(sending)::bigint AS sending, sum(sent)::bigint AS sent,
                    sum(delivered)::bigint AS delivered, sum(undelivered)::bigint AS undelivered,
                    sum(failed)::bigint AS failed, sum(cancelled)::bigint AS cancelled
             FROM taken GROUP BY account_id, campaign_id)
         UPDATE campaign c
         SET scheduled = c.scheduled + s.scheduled, queued = c.queued + s.queued,
             sending = c.sending + s.sending, sent = c.sent + s.sent,
             delivered = c.delivered + s.delivered, undelivered = c.undelivered + s.undelivered,
             failed = c.failed + s.failed, cancelled = c.cancelled + s.cancelled,
             last_settled_at = GREATEST(c.last_settled_at, s.settled_at)
         FROM sums s WHERE c.account_id = s.account_id AND c.id = s.campaign_id
         RETURNING s.folded",
    )
    .bind(i64::try_from(limit).unwrap_or(i64::MAX))
    .fetch_all(pool)
    .await
    .context(doing)?;
    let mut folded = 0;
    for row in rows {
        folded += row.try_get::<i64, _>("folded").context(doing)?;
    }
    Ok(usize::try_from(folded).unwrap_or(usize::MAX))
}
