//! Beginning transactions safely, and again where they met others.

use sqlx::{PgPool, Postgres, Transaction};

use crate::error::{PgError, PgResult};

/// `Pool::begin` that a dropped future cannot interrupt. Dropped in the middle, sqlx's own can give
/// a connection back inside a transaction (transact-rs/sqlx#4393); so it runs as a task.
pub(crate) async fn begin(pool: &PgPool) -> PgResult<Transaction<'static, Postgres>> {
    let pool = pool.clone();
    #[expect(clippy::disallowed_methods, reason = "the one place that begins transactions")]
    let begun = tokio::spawn(async move { pool.begin().await });
    Ok(begun.await.map_err(|_| PgError::Stopped)??)
}

/// How often a command is run while others are in its way.
pub(crate) const MOST_TRIES: usize = 3;

/// Runs a command again when it could not be put in a row with others, or waited for one that
/// waited for it. The command is an expression, evaluated anew each time.
macro_rules! again_on_conflict {
    ($command:expr) => {{
        let mut tries = 1;
        loop {
            match $command.await {
                Err(error)
                    if tries < $crate::begin::MOST_TRIES && $crate::error::is_conflict(&error) =>
                {
                    tries += 1;
                }
                result => break result,
            }
        }
    }};
}
pub(crate) use again_on_conflict;
