//! Tidies deliveries in portions: those of removed endpoints, those whose run is over, and those
//! that are old.

use sms_core::ids::{AccountId, EndpointId};
use sms_core::time::Timestamp;
use sqlx::{PgConnection, PgPool};

use super::claim::waiting;
use super::power::{given_up_columns, given_up_values};
use crate::error::PgResult;
use crate::row::{time, uuid};
use crate::rows_query::rows_query;

/// Records that an endpoint is being removed, so that tidying finds its deliveries.
pub(super) async fn remember_removed(
    connection: &mut PgConnection,
    account: AccountId,
    id: EndpointId,
) -> PgResult<()> {
    let insert = sqlx::query(
        "INSERT INTO endpoint_removed (account_id, endpoint_id) VALUES ($1, $2)
         ON CONFLICT DO NOTHING",
    )
    .bind(uuid(account))
    .bind(uuid(id));
    insert.execute(connection).await?;
    Ok(())
}

/// Tidies up to `limit` deliveries and returns how many.
pub(super) async fn tidy(pool: &PgPool, before: Timestamp, limit: usize) -> PgResult<usize> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut left = limit;
    left -= remove_orphans(pool, left).await?;
    left -= give_up_what_is_over(pool, left).await?;
    left -= remove_old(pool, before, left).await?;
    Ok(usize::try_from(limit - left).unwrap_or_default())
}

fn count(done: &sqlx::postgres::PgQueryResult) -> i64 {
    i64::try_from(done.rows_affected()).unwrap_or(i64::MAX)
}

async fn remove_orphans(pool: &PgPool, limit: i64) -> PgResult<i64> {
    let removed = sqlx::query(
        "DELETE FROM delivery WHERE id = ANY(ARRAY(
             SELECT own.id
             FROM endpoint_removed gone
             CROSS JOIN LATERAL (
                 SELECT d.id FROM delivery d
                 WHERE d.account_id = gone.account_id AND d.endpoint_id = gone.endpoint_id
                 LIMIT $1 FOR UPDATE SKIP LOCKED
             ) AS own
             LIMIT $1))",
    )
    .bind(limit)
    .execute(pool)
    .await?;
    if count(&removed) < limit {
        // A commit that began before the endpoint was removed may still insert a delivery.
        sqlx::query(
            "DELETE FROM endpoint_removed gone
             WHERE removed_at < now() - interval '1 minute' AND NOT EXISTS (
                 SELECT FROM delivery d
                 WHERE d.account_id = gone.account_id AND d.endpoint_id = gone.endpoint_id)",
        )
        .execute(pool)
        .await?;
    }
    Ok(count(&removed))
}

/// Writes that deliveries which are pending in a run that is over are given up. A delivery that a
/// worker claimed while its endpoint was being disabled is left to the worker for longer than any
/// lease.
async fn give_up_what_is_over(pool: &PgPool, limit: i64) -> PgResult<i64> {
    let [given_up, delivered, reason] = given_up_values();
    let query = rows_query!(
        [given_up, delivered, reason, limit]
        waiting!()
        "UPDATE delivery SET " given_up_columns!() "
         WHERE id = ANY(ARRAY(
             SELECT own.id
             FROM waiting
             JOIN endpoint e ON e.id = waiting.endpoint_id
             CROSS JOIN LATERAL (
                 SELECT d.id FROM delivery d
                 WHERE d.endpoint_id = e.id AND d.run < e.run AND d.claimable_at IS NOT NULL
                     AND (d.lease IS NULL OR d.leased_until < now() - interval '1 hour')
                 LIMIT $4 FOR UPDATE SKIP LOCKED
             ) AS own
             LIMIT $4))"
    );
    Ok(count(&query.execute(pool).await?))
}

async fn remove_old(pool: &PgPool, before: Timestamp, limit: i64) -> PgResult<i64> {
    let query = sqlx::query(
        "DELETE FROM delivery WHERE id = ANY(ARRAY(
             SELECT id FROM delivery WHERE created_at < $1
             ORDER BY created_at, id LIMIT $2 FOR UPDATE SKIP LOCKED))",
    );
    Ok(count(&query.bind(time(before)).bind(limit).execute(pool).await?))
}
