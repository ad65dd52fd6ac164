//! A connection of a task's own, made when it is needed and made anew when it broke.
//!
//! The tasks that commit keep one each: they never wait for one of the pool, need not ask whether
//! it still lives, and are never dropped in the middle of a transaction.

use std::time::Duration;

use sqlx::{Connection, Executor, PgConnection, PgPool};
use tokio::time::{Instant, timeout};

/// How long connecting may take.
const LONGEST_CONNECT: Duration = Duration::from_secs(5);
/// How long the server may take to answer to the beginning or the end of a transaction. One that
/// takes longer is taken for gone: a host that dies without a word ends no connection.
const LONGEST_ANSWER: Duration = Duration::from_secs(20);
/// A task that has nothing to do for so long ends its connection.
const IDLE: Duration = Duration::from_secs(10);
/// A connection that was used less long ago is taken for alive.
pub(crate) const FRESH: Duration = Duration::from_secs(1);

/// The answer, if it comes in time.
pub(crate) async fn within<T>(
    bound: Duration,
    answer: impl Future<Output = sqlx::Result<T>>,
) -> sqlx::Result<T> {
    let silent = || sqlx::Error::Io(std::io::ErrorKind::TimedOut.into());
    timeout(bound, answer).await.unwrap_or_else(|_| Err(silent()))
}

/// A connection that comes back.
pub(crate) struct Wire {
    pool: PgPool,
    connection: Option<PgConnection>,
    /// When it was last known to live.
    used: Instant,
}

impl Wire {
    /// Connects as this pool does, once it is needed.
    pub(crate) fn new(pool: PgPool) -> Self {
        Self { pool, connection: None, used: Instant::now() }
    }

    /// Waits for work, and ends the connection meanwhile if that takes long. There is none once the
    /// store is closed, or once `work` says so. What `work` returns is dropped while it waits, and
    /// must have taken nothing then.
    pub(crate) async fn waits_for<T, F>(&mut self, work: impl Fn() -> F) -> Option<T>
    where
        F: Future<Output = Option<T>>,
    {
        loop {
            let brought = tokio::select! {
                brought = timeout(IDLE, work()) => brought,
                () = self.pool.close_event() => Ok(None),
            };
            if let Ok(Some(work)) = brought {
                return Some(work);
            }
            self.close().await;
            if brought.is_ok() {
                return None;
            }
        }
    }

    /// The connection, with no transaction begun.
    pub(crate) async fn connected(&mut self) -> sqlx::Result<&mut PgConnection> {
        if self.pool.is_closed() {
            return Err(sqlx::Error::PoolClosed);
        }
        let connection = match self.connection.take() {
            Some(connection) if self.used.elapsed() < FRESH => connection,
            Some(mut connection) => match within(LONGEST_ANSWER, connection.ping()).await {
                Ok(()) => connection,
                Err(_) => self.connect().await?,
            },
            None => self.connect().await?,
        };
        Ok(self.connection.insert(connection))
    }

    /// Begins a transaction.
    pub(crate) async fn begin(&mut self) -> sqlx::Result<&mut PgConnection> {
        if self.pool.is_closed() {
            return Err(sqlx::Error::PoolClosed);
        }
        // Taken out while it is used: whatever goes wrong, a broken one is not kept.
        let connection = match self.connection.take() {
            Some(mut connection) => match within(LONGEST_ANSWER, connection.execute("BEGIN")).await
            {
                Ok(_) => connection,
                // It broke while nobody used it, as when the database was started anew.
                Err(_) => self.connect_and_begin().await?,
            },
            None => self.connect_and_begin().await?,
        };
        Ok(self.connection.insert(connection))
    }

    async fn connect(&self) -> sqlx::Result<PgConnection> {
        let options = self.pool.connect_options();
        let connecting = timeout(LONGEST_CONNECT, PgConnection::connect_with(&options));
        connecting.await.map_err(|_| sqlx::Error::PoolTimedOut)?
    }

    async fn connect_and_begin(&self) -> sqlx::Result<PgConnection> {
        let mut connection = self.connect().await?;
        within(LONGEST_ANSWER, connection.execute("BEGIN")).await?;
        Ok(connection)
    }

    /// Ends what was begun as what was done in it ended: commits, or undoes. An error of the commit
    /// leaves the outcome unknown.
    pub(crate) async fn end<T>(&mut self, done: sqlx::Result<T>) -> sqlx::Result<T> {
        match self.kept(done) {
            Ok(done) => self.commit().await.map(|()| done),
            Err(error) => {
                self.roll_back().await;
                Err(error)
            }
        }
    }

    /// What was done; the connection is let go, with whatever it was doing, if that broke it or
    /// took too long.
    pub(crate) fn kept<T>(&mut self, done: sqlx::Result<T>) -> sqlx::Result<T> {
        self.used = Instant::now();
        if matches!(done, Err(sqlx::Error::Io(_))) {
            self.connection = None;
        }
        done
    }

    /// Commits. An error leaves the outcome unknown.
    pub(crate) async fn commit(&mut self) -> sqlx::Result<()> {
        let Some(mut connection) = self.connection.take() else {
            return Err(sqlx::Error::WorkerCrashed);
        };
        // A transaction that failed answers a COMMIT with a rollback, and no error; the error of
        // the statement that failed has been told by then.
        within(LONGEST_ANSWER, connection.execute("COMMIT")).await?;
        self.used = Instant::now();
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

    /// Ends the connection, until it is needed again.
    pub(crate) async fn close(&mut self) {
        if let Some(connection) = self.connection.take() {
            // It is of no use any more, however it ends.
            let _ = connection.close().await;
        }
    }
}
