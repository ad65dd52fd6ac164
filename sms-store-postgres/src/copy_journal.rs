//! The journal of a copy into a database. While there is one, the database is incomplete.

use sms_copy::Journal;
use sqlx::{PgConnection, PgPool};

use crate::error::{ConnectFailed, PgError, PgResult};

/// Refuses a database into which a copy was begun that has not ended.
pub(crate) async fn refuse(pool: &PgPool) -> Result<(), ConnectFailed> {
    if exists(pool).await.map_err(ConnectFailed::new)? {
        return Err(ConnectFailed::because(
            "the database holds a part of a copy: start `sms-server copy` again with the same \
             source and target",
        ));
    }
    Ok(())
}

async fn exists(pool: &PgPool) -> PgResult<bool> {
    let found = sqlx::query_scalar("SELECT to_regclass('copy_journal') IS NOT NULL");
    Ok(found.fetch_one(pool).await?)
}

pub(crate) async fn read(pool: &PgPool) -> PgResult<Option<Journal>> {
    if !exists(pool).await? {
        return Ok(None);
    }
    let kept: Option<String> =
        sqlx::query_scalar("SELECT journal FROM copy_journal").fetch_optional(pool).await?;
    kept.map(|text| Journal::from_text(&text).ok_or_else(|| PgError::invalid("journal")))
        .transpose()
}

pub(crate) async fn create(connection: &mut PgConnection) -> PgResult<()> {
    let create = sqlx::query(
        "CREATE TABLE IF NOT EXISTS copy_journal (
             is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
             journal text NOT NULL)",
    );
    create.execute(connection).await?;
    Ok(())
}

pub(crate) async fn write(connection: &mut PgConnection, journal: &Journal) -> PgResult<()> {
    let put = sqlx::query(
        "INSERT INTO copy_journal (journal) VALUES ($1)
         ON CONFLICT (is_only) DO UPDATE SET journal = excluded.journal",
    );
    put.bind(journal.to_text()).execute(connection).await?;
    Ok(())
}

pub(crate) async fn remove(pool: &PgPool) -> PgResult<()> {
    sqlx::query("DROP TABLE copy_journal").execute(pool).await?;
    Ok(())
}
