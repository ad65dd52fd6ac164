//! Deletes rows that are past their retention, the oldest first and a portion at a time.

use sms_core::time::Timestamp;
use sqlx::PgPool;

use crate::error::PgResult;
use crate::row::time;

/// The statement that deletes rows of a table by its key and its age: `$1` is the time, `$2` the
/// most rows. It skips rows that another transaction has locked.
macro_rules! delete_older {
    ($table:literal, key: $key:literal, age: $age:literal) => {
        concat!(
            "DELETE FROM ",
            $table,
            " WHERE (",
            $key,
            ") IN (SELECT ",
            $key,
            " FROM ",
            $table,
            " WHERE ",
            $age,
            " < $1 ORDER BY ",
            $age,
            " LIMIT $2 FOR UPDATE SKIP LOCKED)"
        )
    };
}
pub(crate) use delete_older;

/// Deletes up to `limit` rows from before `before`, with a [`delete_older!`]. Returns how many.
pub(crate) async fn delete(
    pool: &PgPool,
    delete_older: &'static str,
    before: Timestamp,
    limit: usize,
) -> PgResult<usize> {
    let delete =
        sqlx::query(delete_older).bind(time(before)).bind(i64::try_from(limit).unwrap_or(i64::MAX));
    let deleted = delete.execute(pool).await?;
    Ok(usize::try_from(deleted.rows_affected()).unwrap_or(usize::MAX))
}
