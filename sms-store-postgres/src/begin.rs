//! Beginning transactions safely.

use sqlx::{PgPool, Postgres, Transaction};

/// `Pool::begin` that a dropped future cannot interrupt. Dropped in the middle, sqlx's own can give
/// a connection back inside a transaction (transact-rs/sqlx#4393); so it runs as a task.
pub(crate) async fn begin(pool: &PgPool) -> sqlx::Result<Transaction<'static, Postgres>> {
    let pool = pool.clone();
    #[expect(clippy::disallowed_methods, reason = "the one place that begins transactions")]
    let begun = tokio::spawn(async move { pool.begin().await });
    begun.await.map_err(|_| sqlx::Error::WorkerCrashed)?
}
