//! The migrations, in order. They are only added: one that a database may have run is never edited.

use std::borrow::Cow;

use sqlx::migrate::{Migrate, Migration, MigrationType, Migrator};
use sqlx::{AssertSqlSafe, Connection, PgConnection, PgPool, SqlSafeStr};

use crate::compatibility::Older::{MayNotServe, MayServeFrom};
use crate::compatibility::{self, Fit, Older};
use crate::error::ConnectFailed;

/// Runs what is missing, on a connection without time limits: an index takes its time, and a
/// program that starts while another migrates waits for it.
pub(crate) async fn run(pool: &PgPool) -> Result<(), ConnectFailed> {
    let options = pool.connect_options();
    let unlimited = [("statement_timeout", "0"), ("lock_timeout", "0")];
    let mut connection = PgConnection::connect_with(&(*options).clone().options(unlimited))
        .await
        .map_err(ConnectFailed::new)?;
    // Closing the connection gives the lock back, however this ends.
    connection.lock().await.map_err(ConnectFailed::migration)?;
    let fit = run_alone(&mut connection).await?;
    connection.close().await.map_err(ConnectFailed::new)?;
    if let Fit::Newer(database) = fit {
        tracing::warn!(
            schema = SCHEMA,
            database,
            "a newer version of this program has migrated the database; this version may still \
             serve it, but update it soon"
        );
    }
    Ok(())
}

/// Runs what is missing while no other program does.
async fn run_alone(connection: &mut PgConnection) -> Result<Fit, ConnectFailed> {
    connection.ensure_migrations_table(TABLE).await.map_err(ConnectFailed::migration)?;
    let versions = MIGRATIONS.map(|file| file.version);
    let unknown = compatibility::unknown(connection, &versions).await;
    let fit = compatibility::fit(SCHEMA, &unknown.map_err(ConnectFailed::new)?);
    let fit = fit.map_err(ConnectFailed::because)?;
    let mut migrator = Migrator::with_migrations(MIGRATIONS.into_iter().map(migration).collect());
    // This function has checked what this program does not have, and its caller holds the lock.
    migrator.set_ignore_missing(true).set_locking(false);
    migrator.run(&mut *connection).await.map_err(ConnectFailed::migration)?;
    let lowest = MIGRATIONS.map(|file| file.older.lowest(file.version));
    compatibility::declare(connection, &versions, &lowest).await.map_err(ConnectFailed::new)?;
    Ok(fit)
}

/// The table in which sqlx keeps what has run.
const TABLE: &str = "_sqlx_migrations";

/// A file of `migrations/`.
#[derive(Clone, Copy)]
struct File {
    version: i64,
    name: &'static str,
    /// Which programs without it may serve once it has run. A server that is replaced by a newer
    /// one goes on until then, and may have to start again.
    older: Older,
    statements: &'static str,
}

macro_rules! file {
    ($version:literal, $name:literal, $older:expr) => {
        File {
            version: $version,
            name: $name,
            older: $older,
            statements: include_str!(concat!("../migrations/", $version, "_", $name, ".sql")),
        }
    };
}

const MIGRATIONS: [File; 33] = [
    file!(20_261_122_120_000, "account_and_credits", MayNotServe),
    file!(20_261_122_120_100, "message", MayNotServe),
    file!(20_261_122_120_200, "dispatch", MayNotServe),
    file!(20_261_122_120_300, "sending", MayNotServe),
    file!(20_261_122_120_400, "number_and_inbound", MayNotServe),
    file!(20_261_122_120_500, "conversation", MayNotServe),
    file!(20_261_122_120_600, "address_book", MayNotServe),
    file!(20_261_122_120_700, "campaign", MayNotServe),
    file!(20_261_122_120_800, "webhook", MayNotServe),
    file!(20_261_122_120_900, "statistics", MayNotServe),
    file!(20_261_122_121_000, "search", MayNotServe),
    file!(20_261_122_121_100, "rate_limit", MayNotServe),
    // A program without it cannot read the error codes of messages whose sender is gone.
    file!(20_261_122_130_100, "released_number", MayNotServe),
    file!(20_261_122_131_000, "webhook_pause", MayServeFrom(20_261_122_121_100)),
    file!(20_261_122_131_100, "webhook_old_secret", MayServeFrom(20_261_122_121_100)),
    file!(20_261_122_132_000, "idempotency_key_answer", MayServeFrom(20_261_122_121_100)),
    file!(20_261_122_133_000, "schema_compatibility", MayServeFrom(20_261_122_121_100)),
    // Older programs find the same rows, some of them more slowly.
    file!(20_261_122_134_000, "look_up_indexes", MayServeFrom(20_261_122_121_100)),
    // Older programs find the same messages, pages by status more slowly. They show no times in
    // the timelines of messages that newer ones write.
    file!(20_261_123_010_000, "message_in_place", MayServeFrom(20_261_122_121_100)),
    file!(20_261_123_010_100, "overtaken", MayServeFrom(20_261_122_121_100)),
    // Older programs put what they accept into the first lane, and claim by time alone.
    file!(20_261_123_020_000, "lane_and_share", MayServeFrom(20_261_122_121_100)),
    // The database counts the version up for older programs as well, but nobody has tried them.
    file!(20_261_123_031_000, "account_version", MayNotServe),
    file!(20_261_123_070_000, "session", MayServeFrom(20_261_122_121_100)),
    // What older programs raise is missing in the log.
    file!(20_261_123_080_000, "event", MayServeFrom(20_261_123_031_000)),
    // Older programs do not go on with replays.
    file!(20_261_123_100_000, "replay", MayServeFrom(20_261_123_031_000)),
    // Older programs find the same messages.
    file!(20_261_127_030_000, "queue_turn", MayServeFrom(20_261_123_031_000)),
    // Older programs cannot keep segments of long inbound messages. They refuse them, and the
    // network sends them again.
    file!(20_261_127_040_000, "what_networks_send", MayNotServe),
    // Older programs do not count their replies, and cannot read the event of a pause.
    file!(20_261_127_050_000, "reply_count", MayNotServe),
    // Older programs neither keep nor tell what merge fields could not show.
    file!(20_261_127_070_000, "field_gaps", MayServeFrom(20_261_123_031_000)),
    file!(20_261_127_080_000, "conversation_begins", MayServeFrom(20_261_123_031_000)),
    // Older programs do not look beside ids that networks use again, and do not trim receipts.
    file!(20_261_127_090_000, "unmatched_receipts", MayServeFrom(20_261_123_031_000)),
    file!(20_261_127_100_000, "event_horizon", MayServeFrom(20_261_123_031_000)),
    // Older programs keep no messages from short codes and names, and show the stand-ins of those
    // that newer ones keep.
    file!(20_261_127_110_000, "originators", MayServeFrom(20_261_123_031_000)),
];

/// The schema of this program.
const SCHEMA: i64 = MIGRATIONS[MIGRATIONS.len() - 1].version;

/// Tables that are locked before a migration runs. It lets others lock rows at first, and then
/// waits for them while they wait for it.
const LOCKED_FIRST: [(i64, &str); 1] = [(20_261_127_030_000, "queue")];

fn migration(file: File) -> Migration {
    let File { version, name, older: _, statements } = file;
    let (name, sql) = (Cow::Borrowed(name), statements.into_sql_str());
    // Its checksum stays that of the file.
    let mut migration = Migration::new(version, name, MigrationType::Simple, sql, false);
    if let Some((_, table)) = LOCKED_FIRST.iter().find(|(locked, _)| *locked == version) {
        let locked = format!("LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE;\n{statements}");
        migration.sql = AssertSqlSafe(locked).into_sql_str();
    }
    migration
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn migrations_are_in_order_and_exclude_no_program_that_has_them() {
        assert!(MIGRATIONS.is_sorted_by(|one, next| one.version < next.version));
        for File { version, older, .. } in MIGRATIONS {
            assert!(older.lowest(version) <= version, "{version}");
        }
    }

    /// What a statement does to a table that is there.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Locks {
        /// Others may still read and lock its rows.
        Writes,
        Everything,
    }

    /// The tables that a migration locks, in the order of its statements.
    fn locks(
        statements: &'static str,
        tables: &mut BTreeMap<&'static str, &'static str>,
    ) -> Vec<(&'static str, Locks)> {
        let mut found = Vec::new();
        for statement in statements.split(';') {
            let lines = statement.lines().filter(|line| !line.trim_start().starts_with("--"));
            let words: Vec<&str> = lines.flat_map(str::split_whitespace).collect();
            match words[..] {
                ["CREATE", "INDEX", index, "ON", table, ..]
                | ["CREATE", "UNIQUE", "INDEX", index, "ON", table, ..] => {
                    tables.insert(index, table);
                    found.push((table, Locks::Writes));
                }
                ["DROP", "INDEX", index, ..] => {
                    let table = tables.get(index);
                    found.extend(table.map(|table| (*table, Locks::Everything)));
                }
                ["ALTER", "INDEX", index, "RENAME", "TO", new] => {
                    let table = tables.remove(index);
                    tables.extend(table.map(|table| (new, table)));
                }
                ["CREATE" | "ALTER", "TABLE", table, ..] => found.push((table, Locks::Everything)),
                _ => {}
            }
        }
        found
    }

    /// A claim locks rows before it writes. If a migration lets it do so, it must not wait for the
    /// claim later: the claim waits for the migration.
    #[test]
    fn no_migration_waits_for_what_it_has_let_in() {
        let mut tables = BTreeMap::new();
        let mut waiting = Vec::new();
        for File { version, statements, .. } in MIGRATIONS {
            let locks = locks(statements, &mut tables);
            for (place, (table, kind)) in locks.iter().enumerate() {
                let first = locks.iter().position(|(locked, _)| locked == table);
                if *kind == Locks::Everything
                    && first.is_some_and(|first| first < place && locks[first].1 == Locks::Writes)
                {
                    waiting.push((version, *table));
                }
            }
        }
        assert_eq!(waiting, LOCKED_FIRST, "lock the table first");
    }

    #[test]
    fn a_migration_that_locks_a_table_first_is_known_by_the_text_of_its_file() {
        for (version, table) in LOCKED_FIRST {
            let file = MIGRATIONS.into_iter().find(|file| file.version == version);
            let file = file.expect("it is a migration");
            let whole = migration(file);
            assert!(whole.sql.as_str().starts_with(&format!("LOCK TABLE {table} ")));
            assert!(whole.sql.as_str().ends_with(file.statements));
            let name = Cow::Borrowed(file.name);
            let sql = file.statements.into_sql_str();
            let plain = Migration::new(version, name, MigrationType::Simple, sql, false);
            assert_eq!(whole.checksum, plain.checksum);
        }
    }
}
