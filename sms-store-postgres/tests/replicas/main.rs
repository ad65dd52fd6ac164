//! What several programs on one database need besides a store: wake-ups, the database's time and
//! the shared rate limit. Each test uses a real PostgreSQL server.

mod cache;
mod clock;
mod event_position;
mod failover;
mod rate_limit;
mod silence;
mod wake;

use std::sync::OnceLock;
use std::time::Duration;

use sms_store_postgres::{PgSettings, PgStore};
use sms_test_postgres::Cluster;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, Row};
use tokio::time::timeout;

/// A migrated database for one test.
pub(crate) struct Database {
    name: String,
}

impl Database {
    pub(crate) async fn new() -> Self {
        sms_test_log::watch();
        let database = Self { name: cluster().create(None).await };
        let store = database.store().await;
        store.migrate().await.expect("the migrations run");
        store.close().await;
        database
    }

    /// A new store on this database, as another program would open.
    pub(crate) async fn store(&self) -> PgStore {
        let settings = PgSettings { connections: 4 };
        let store = PgStore::connect(&cluster().url(&self.name), settings).await;
        store.expect("the server answers")
    }

    pub(crate) async fn connect(&self) -> PgConnection {
        let url = cluster().url(&self.name);
        PgConnection::connect(&url).await.expect("the server answers")
    }

    /// The value in the first column of the first row.
    pub(crate) async fn ask<T>(&self, sql: &str) -> T
    where
        T: for<'r> sqlx::Decode<'r, sqlx::Postgres> + sqlx::Type<sqlx::Postgres>,
    {
        let mut connection = self.connect().await;
        let row = sqlx::query(AssertSqlSafe(sql.to_owned())).fetch_one(&mut connection).await;
        let answer = row.expect("the statement runs").get(0);
        connection.close().await.expect("the connection ends");
        answer
    }

    /// Runs a statement that returns no rows.
    pub(crate) async fn run(&self, sql: &str) {
        let mut connection = self.connect().await;
        let run = connection.execute(AssertSqlSafe(sql.to_owned())).await;
        run.expect("the statement runs");
        connection.close().await.expect("the connection ends");
    }

    pub(crate) async fn drop(self) {
        cluster().drop(&self.name).await;
    }
}

fn cluster() -> &'static Cluster {
    static CLUSTER: OnceLock<Cluster> = OnceLock::new();
    CLUSTER.get_or_init(Cluster::start)
}

/// Waits for something that must happen, but not forever.
pub(crate) async fn bounded<T>(wait: impl Future<Output = T>) -> T {
    timeout(Duration::from_secs(20), wait).await.expect("it happens within twenty seconds")
}
