//! Begins transactions safely, and retries commands that met a conflict.

use sqlx::{PgPool, Postgres, Transaction};

use crate::error::{PgError, PgResult};

/// `Pool::begin` that a dropped future cannot interrupt. sqlx's own, dropped in the middle, can
/// return a connection to the pool inside a transaction (transact-rs/sqlx#4393). So this one runs
/// as a task.
pub(crate) async fn begin(pool: &PgPool) -> PgResult<Transaction<'static, Postgres>> {
    let pool = pool.clone();
    #[expect(clippy::disallowed_methods, reason = "the one place that begins transactions")]
    let begun = tokio::spawn(async move { pool.begin().await });
    Ok(begun.await.map_err(|_| PgError::Stopped)??)
}

/// Ends a transaction that changes nothing, and returns the answer to its caller. So when the
/// caller has the answer, no row is locked any more, and no reader of the event log waits for the
/// transaction. If it were dropped, it would end a moment later.
pub(crate) async fn give_up<T>(tx: Transaction<'static, Postgres>, answer: T) -> T {
    // If the connection is lost, so are its locks.
    let _ = tx.rollback().await;
    answer
}

/// How often a command runs at most while it meets conflicts.
pub(crate) const MOST_TRIES: usize = 3;

/// Runs a command again after a conflict: a serialisation failure, a deadlock, or a key that
/// another transaction has just inserted. The command is an expression that is evaluated again each
/// time.
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
