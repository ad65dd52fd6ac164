//! The connections: some for what is asked, some for what workers write.

use std::time::Duration;

use sqlx::pool::PoolConnectionMetadata;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{Connection, PgConnection, PgPool};

use crate::PgSettings;
use crate::wire::FRESH;

/// Statements of workers and of sends look up what they are about by its key, whatever the size of
/// tables and batches. So each is planned once a connection, not anew for each size of a batch,
/// which would take a tenth of the server's time; and nothing may be chosen that reads a table
/// whole because it happens to be small at that moment.
const BY_KEY: [(&str, &str); 4] = [
    ("plan_cache_mode", "force_generic_plan"),
    ("enable_seqscan", "off"),
    ("enable_hashjoin", "off"),
    ("enable_mergejoin", "off"),
];

/// Connects, for what is asked and for what workers write.
pub(crate) async fn connect(url: &str, settings: PgSettings) -> sqlx::Result<(PgPool, PgPool)> {
    let options: PgConnectOptions = url.parse()?;
    // Nothing may hold a transaction open, or a lock, for long: a stuck one would stop others.
    let options = options.application_name("sms-store-postgres").options([
        ("idle_in_transaction_session_timeout", "10s"),
        ("statement_timeout", "10s"),
        ("lock_timeout", "5s"),
        ("tcp_keepalives_idle", "30"),
        ("tcp_keepalives_interval", "10"),
        ("tcp_keepalives_count", "3"),
        // Every query is a look-up or the beginning of an index's range, in its order. A bitmap
        // reads a range whole first, which is wrong just where a range is long.
        ("enable_bitmapscan", "off"),
    ]);
    let workers = (settings.connections / 4).max(1);
    let askers = settings.connections.saturating_sub(workers).max(1);
    let pool = of(askers).connect_with(options.clone()).await?;
    let work = of(workers).connect_lazy_with(options.options(BY_KEY));
    Ok((pool, work))
}

fn of(most: u32) -> PgPoolOptions {
    PgPoolOptions::new()
        .max_connections(most)
        .acquire_timeout(Duration::from_secs(5))
        // sqlx asks a connection whether it lives each time it is given back, and would again each
        // time it is taken.
        .test_before_acquire(false)
        .before_acquire(|connection, known| Box::pin(is_alive(connection, known)))
}

async fn is_alive(
    connection: &mut PgConnection,
    known: PoolConnectionMetadata,
) -> sqlx::Result<bool> {
    if known.idle_for > FRESH {
        connection.ping().await?;
    }
    Ok(true)
}
