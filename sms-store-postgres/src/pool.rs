//! Pools of connections. Before each use a connection is checked: whether it is
//! [retired](crate::retired), and whether its server answers.

use std::time::Duration;

use sqlx::Connection;
use sqlx::postgres::{PgConnection, PgPoolOptions};
use tokio::time::timeout;

use crate::retired::is_retired;

/// How long the server may take to show that a connection is alive.
const PATIENCE: Duration = Duration::from_secs(2);

/// A pool of this size, in which a caller waits this long for a connection.
pub(crate) fn pool(connections: u32, patience: Duration) -> PgPoolOptions {
    PgPoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(patience)
        // Done below: a connection that is to be closed need not answer.
        .test_before_acquire(false)
        .before_acquire(|connection, metadata| {
            Box::pin(async move { Ok(!is_retired(metadata.age) && answers(connection).await) })
        })
}

async fn answers(connection: &mut PgConnection) -> bool {
    matches!(timeout(PATIENCE, connection.ping()).await, Ok(Ok(())))
}
