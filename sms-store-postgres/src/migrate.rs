//! The migrations, in order. They are only added: one that a database may have run is never edited.

use std::borrow::Cow;

use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::{Connection, PgConnection, PgPool, SqlSafeStr};

use crate::error::ConnectFailed;

/// Runs what is missing, on a connection without time limits: an index takes its time, and a
/// program that starts while another migrates waits for it.
pub(crate) async fn run(pool: &PgPool) -> Result<(), ConnectFailed> {
    let options = pool.connect_options();
    let unlimited = [("statement_timeout", "0"), ("lock_timeout", "0")];
    let mut connection = PgConnection::connect_with(&(*options).clone().options(unlimited))
        .await
        .map_err(ConnectFailed::new)?;
    let migrator = Migrator::with_migrations(migrations());
    let run = migrator.run(&mut connection).await;
    run.map_err(ConnectFailed::migration)?;
    connection.close().await.map_err(ConnectFailed::new)
}

/// A file of `migrations/`: its version, its name, its statements.
macro_rules! file {
    ($version:literal, $name:literal) => {
        ($version, $name, include_str!(concat!("../migrations/", $version, "_", $name, ".sql")))
    };
}

const MIGRATIONS: [(i64, &str, &str); 12] = [
    file!(20_261_122_120_000, "account_and_credits"),
    file!(20_261_122_120_100, "message"),
    file!(20_261_122_120_200, "dispatch"),
    file!(20_261_122_120_300, "sending"),
    file!(20_261_122_120_400, "number_and_inbound"),
    file!(20_261_122_120_500, "conversation"),
    file!(20_261_122_120_600, "address_book"),
    file!(20_261_122_120_700, "campaign"),
    file!(20_261_122_120_800, "webhook"),
    file!(20_261_122_120_900, "statistics"),
    file!(20_261_122_121_000, "search"),
    file!(20_261_122_121_100, "rate_limit"),
];

fn migrations() -> Vec<Migration> {
    MIGRATIONS.into_iter().map(|(version, name, sql)| migration(version, name, sql)).collect()
}

fn migration(version: i64, name: &'static str, sql: &'static str) -> Migration {
    let name = Cow::Borrowed(name);
    Migration::new(version, name, MigrationType::Simple, sql.into_sql_str(), false)
}
