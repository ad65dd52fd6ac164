//! A connection of a task's own, made when it is needed and made anew when it broke.
//!
//! The tasks that commit keep one each: they never wait for one of the pool, need not ask whether
//! it still lives, and are never dropped in the middle of a transaction.

use std::time::Duration;

use sqlx::{Connection, Executor, PgConnection, PgPool};
use tokio::time::timeout;

use crate::error::{PgError, PgResult};

/// How long connecting may take.
const LONGEST_CONNECT: Duration = Duration::from_secs(5);
/// How long the server may take to answer to the beginning or the end of a transaction. One that
/// takes longer is taken for gone: a host that dies without a word ends no connection.
const LONGEST_ANSWER: Duration = Duration::from_secs(20);

/// The answer, if it comes in time.
pub(crate) async fn within<T, E: Into<PgError>>(
    bound: Duration,
    answer: impl Future<Output = Result<T, E>>,
) -> PgResult<T> {
    timeout(bound, answer).await.map_err(|_| PgError::Silent)?.map_err(Into::into)
}

/// A connection that comes back.
pub(crate) struct Wire {
    pool: PgPool,
    connection: Option<PgConnection>,
}

impl Wire {
    /// Connects as this pool does, once it is needed.
    pub(crate) fn new(pool: PgPool) -> Self {
        Self { pool, connection: None }
    }

    /// Begins a transaction.
    pub(crate) async fn begin(&mut self) -> PgResult<&mut PgConnection> {
        if self.pool.is_closed() {
            return Err(sqlx::Error::PoolClosed.into());
        }
        // Taken out while it is used: whatever goes wrong, a broken one is not kept.
        let connection = match self.connection.take() {
            Some(mut connection) => match within(LONGEST_ANSWER, connection.execute("BEGIN")).await
            {
                Ok(_) => connection,
                // It broke while nobody used it, as when the database was started anew.
                Err(_) => self.connect().await?,
            },
            None => self.connect().await?,
        };
        Ok(self.connection.insert(connection))
    }

    async fn connect(&self) -> PgResult<PgConnection> {
        let options = self.pool.connect_options();
        let connecting = timeout(LONGEST_CONNECT, PgConnection::connect_with(&options));
        let mut connection = connecting.await.map_err(|_| PgError::Silent)??;
        within(LONGEST_ANSWER, connection.execute("BEGIN")).await?;
        Ok(connection)
    }

    /// Commits. An error leaves the outcome unknown, unless the database refused.
    pub(crate) async fn commit(&mut self) -> PgResult<()> {
        let Some(mut connection) = self.connection.take() else {
            return Err(PgError::OutcomeUnknown(Box::new(PgError::Stopped)));
        };
        // A transaction that failed answers a COMMIT with a rollback, and no error; the error of
        // the statement that failed has been told by then.
        let committed = within(LONGEST_ANSWER, connection.execute("COMMIT")).await;
        committed.map_err(|error| match error {
            undone @ PgError::Refused { .. } if !undone.is_gone() => undone,
            lost => PgError::OutcomeUnknown(Box::new(lost)),
        })?;
        self.connection = Some(connection);
        Ok(())
    }

    /// Undoes what was begun. The connection is given up should that fail.
    pub(crate) async fn roll_back(&mut self) {
        if let Some(mut connection) = self.connection.take()
            && within(LONGEST_ANSWER, connection.execute("ROLLBACK")).await.is_ok()
        {
            self.connection = Some(connection);
        }
    }

    /// Lets the connection go without a word, with whatever it was doing.
    pub(crate) fn give_up(&mut self) {
        self.connection = None;
    }

    /// Ends the connection, until it is needed again.
    pub(crate) async fn close(&mut self) {
        if let Some(connection) = self.connection.take() {
            // It is of no use any more, however it ends.
            let _ = connection.close().await;
        }
    }
}
