//! The migrations, in order. Forward only, and never edited once merged.

use std::borrow::Cow;

use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::{Connection, PgConnection, PgPool, SqlSafeStr};

use crate::error::ConnectFailed;

/// Runs what is missing, on a connection of its own without time limits: an index takes its time,
/// and a program that starts while another migrates waits for it.
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

/// Every change of the schema, in order: version, name, statements.
const MIGRATIONS: [(i64, &str, &str); 26] = [
    (
        20_261_121_100_000,
        "account and credits",
        include_str!("../migrations/20261121100000_account_and_credits.sql"),
    ),
    (
        20_261_121_100_100,
        "message and queue",
        include_str!("../migrations/20261121100100_message_and_queue.sql"),
    ),
    (
        20_261_121_100_200,
        "number and inbound",
        include_str!("../migrations/20261121100200_number_and_inbound.sql"),
    ),
    (20_261_121_100_300, "webhook", include_str!("../migrations/20261121100300_webhook.sql")),
    (
        20_261_121_101_000,
        "ledger without reference",
        include_str!("../migrations/20261121101000_ledger_without_reference.sql"),
    ),
    (20_261_121_110_100, "rate limit", include_str!("../migrations/20261121110100_rate_limit.sql")),
    (
        20_261_121_120_000,
        "webhook run",
        include_str!("../migrations/20261121120000_webhook_run.sql"),
    ),
    (20_261_121_120_100, "tidying", include_str!("../migrations/20261121120100_tidying.sql")),
    (20_261_121_130_000, "search", include_str!("../migrations/20261121130000_search.sql")),
    (20_261_121_140_000, "comments", include_str!("../migrations/20261121140000_comments.sql")),
    (20_261_121_200_000, "template", include_str!("../migrations/20261121200000_template.sql")),
    (
        20_261_121_200_100,
        "sender name",
        include_str!("../migrations/20261121200100_sender_name.sql"),
    ),
    (
        20_261_121_200_200,
        "opt-out list",
        include_str!("../migrations/20261121200200_opt_out_list.sql"),
    ),
    (
        20_261_121_210_000,
        "contact and list",
        include_str!("../migrations/20261121210000_contact_and_list.sql"),
    ),
    (20_261_121_220_000, "rent", include_str!("../migrations/20261121220000_rent.sql")),
    (20_261_121_220_100, "statistics", include_str!("../migrations/20261121220100_statistics.sql")),
    (20_261_121_223_000, "link", include_str!("../migrations/20261121223000_link.sql")),
    (
        20_261_121_230_000,
        "conversation",
        include_str!("../migrations/20261121230000_conversation.sql"),
    ),
    (20_261_121_233_000, "campaign", include_str!("../migrations/20261121233000_campaign.sql")),
    (20_261_121_235_000, "vacuum", include_str!("../migrations/20261121235000_vacuum.sql")),
    (20_261_122_000_000, "sent part", include_str!("../migrations/20261122000000_sent_part.sql")),
    (
        20_261_122_000_100,
        "queue by route",
        include_str!("../migrations/20261122000100_queue_by_route.sql"),
    ),
    (
        20_261_122_010_000,
        "queue claims",
        include_str!("../migrations/20261122010000_queue_claims.sql"),
    ),
    (20_261_122_020_000, "unanswered", include_str!("../migrations/20261122020000_unanswered.sql")),
    (
        20_261_122_020_100,
        "queue route default",
        include_str!("../migrations/20261122020100_queue_route_default.sql"),
    ),
    (
        20_261_122_020_200,
        "early report",
        include_str!("../migrations/20261122020200_early_report.sql"),
    ),
];

fn migrations() -> Vec<Migration> {
    MIGRATIONS.into_iter().map(|(version, name, sql)| migration(version, name, sql)).collect()
}

fn migration(version: i64, name: &'static str, sql: &'static str) -> Migration {
    let name = Cow::Borrowed(name);
    Migration::new(version, name, MigrationType::Simple, sql.into_sql_str(), false)
}
