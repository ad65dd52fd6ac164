//! A connection that belongs to one task. It opens when it is first needed, and again after it
//! breaks.
//!
//! Each task that commits keeps one. It never waits for the pool, saves the pool's check that a
//! connection is alive, and is never dropped in the middle of a transaction.

use std::time::Duration;

use sqlx::{Connection, Executor, PgConnection, PgPool};
use tokio::time::{Instant, timeout};

use crate::error::{PgError, PgResult};
use crate::retired::is_retired;

/// How long connecting may take.
const LONGEST_CONNECT: Duration = Duration::from_secs(5);
/// How long the database may take to answer BEGIN, COMMIT or ROLLBACK. After that it counts as
/// gone: a host that dies silently closes no connection.
const LONGEST_ANSWER: Duration = Duration::from_secs(20);

/// Waits for an answer, but not longer than `bound`.
pub(crate) async fn within<T, E: Into<PgError>>(
    bound: Duration,
    answer: impl Future<Output = Result<T, E>>,
) -> PgResult<T> {
    timeout(bound, answer).await.map_err(|_| PgError::Silent)?.map_err(Into::into)
}

/// A connection that opens again after it breaks.
pub(crate) struct Wire {
    pool: PgPool,
    connection: Option<PgConnection>,
    opened: Instant,
}

impl Wire {
    /// Connects with the options of this pool, when first needed.
    pub(crate) fn new(pool: PgPool) -> Self {
        Self { pool, connection: None, opened: Instant::now() }
    }

    /// Begins a transaction.
    pub(crate) async fn begin(&mut self) -> PgResult<&mut PgConnection> {
        if self.pool.is_closed() {
            return Err(sqlx::Error::PoolClosed.into());
        }
        let connection = match self.kept() {
            Some(mut connection) => match within(LONGEST_ANSWER, connection.execute("BEGIN")).await
            {
                Ok(_) => connection,
                // It broke while idle, for example because the database restarted.
                Err(_) => self.connect_and_begin().await?,
            },
            None => self.connect_and_begin().await?,
        };
        Ok(self.connection.insert(connection))
    }

    /// The connection, for a statement that is a transaction of its own, and when it was opened.
    pub(crate) async fn open(&mut self) -> PgResult<(&mut PgConnection, Instant)> {
        if self.pool.is_closed() {
            return Err(sqlx::Error::PoolClosed.into());
        }
        let connection = match self.kept() {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        Ok((self.connection.insert(connection), self.opened))
    }

    /// Taken out while in use, so that a broken connection is never kept.
    fn kept(&mut self) -> Option<PgConnection> {
        self.connection.take().filter(|_| !is_retired(self.opened.elapsed()))
    }

    async fn connect_and_begin(&mut self) -> PgResult<PgConnection> {
        let mut connection = self.connect().await?;
        within(LONGEST_ANSWER, connection.execute("BEGIN")).await?;
        Ok(connection)
    }

    async fn connect(&mut self) -> PgResult<PgConnection> {
        self.opened = Instant::now();
        let options = self.pool.connect_options();
        let connecting = timeout(LONGEST_CONNECT, PgConnection::connect_with(&options));
        Ok(connecting.await.map_err(|_| PgError::Silent)??)
    }

    /// Commits. After an error the outcome is unknown, unless the database refused the commit.
    pub(crate) async fn commit(&mut self) -> PgResult<()> {
        let Some(mut connection) = self.connection.take() else {
            return Err(PgError::OutcomeUnknown(Box::new(PgError::Stopped)));
        };
        // COMMIT of a failed transaction rolls back and returns no error. The statement that failed
        // has returned its error by then.
        let committed = within(LONGEST_ANSWER, connection.execute("COMMIT")).await;
        committed.map_err(|error| match error {
            undone @ PgError::Refused { .. } if !undone.is_gone() => undone,
            lost => PgError::OutcomeUnknown(Box::new(lost)),
        })?;
        self.connection = Some(connection);
        Ok(())
    }

    /// Rolls back. Drops the connection if that fails.
    pub(crate) async fn roll_back(&mut self) {
        if let Some(mut connection) = self.connection.take()
            && within(LONGEST_ANSWER, connection.execute("ROLLBACK")).await.is_ok()
        {
            self.connection = Some(connection);
        }
    }

    /// Drops the connection without waiting for what it is doing.
    pub(crate) fn give_up(&mut self) {
        self.connection = None;
    }

    /// Closes the connection until it is needed again.
    pub(crate) async fn close(&mut self) {
        if let Some(connection) = self.connection.take() {
            // An error does not matter: the connection is not used again.
            let _ = connection.close().await;
        }
    }
}
