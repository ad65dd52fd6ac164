//! How far a search looks for one page.

use sms_core::page::LOOKED_AT;
use sqlx::{PgPool, Postgres, QueryBuilder, Row};
use uuid::Uuid;

use crate::error::PgResult;

/// The last of the rows that a search may look at for a page; `None` if there are fewer. The query
/// selects the ids of the rows, in their order.
pub(crate) async fn end(pool: &PgPool, mut ids: QueryBuilder<Postgres>) -> PgResult<Option<Uuid>> {
    ids.push(" OFFSET ").push_bind(i64::try_from(LOOKED_AT - 1).unwrap_or(i64::MAX));
    let query = ids.push(" LIMIT 1").build().persistent(false);
    query.fetch_optional(pool).await?.map(|row| Ok(row.try_get(0)?)).transpose()
}
