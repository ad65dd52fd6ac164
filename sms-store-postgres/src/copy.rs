//! The store as the source or the target of a copy.

use std::time::Duration;

use async_trait::async_trait;
use sms_copy::{Journal, Place, Portable, Portion, Row, Table};
use sms_core::store::{Reads, StoreError};
use sms_core::time::Timestamp;
use sqlx::{AssertSqlSafe, PgPool, Row as _};
use tokio::time::sleep;

use crate::begin::begin;
use crate::connect::Purpose;
use crate::error::{ConnectFailed, Context, PgResult};
use crate::{PgSettings, PgStore, copy_journal, event, migrate};

mod hooks;
mod rows;
mod tables;

use tables::{NOT_COPIED, TABLES};

/// How much is tidied in one commit.
const PORTION: usize = 1_000;
/// How often, a tenth of a second apart, the connections of other programs are counted before they
/// count: those of a program that was killed end a moment later.
const LOOKS: u32 = 50;

impl PgStore {
    /// Connects to a `postgres://` address to copy from it or to it, and migrates it. In contrast
    /// to [`connect`](PgStore::connect) and [`migrate`](PgStore::migrate) the database may hold an
    /// unfinished copy, and statements may take as long as they need.
    ///
    /// # Errors
    ///
    /// As these two.
    pub async fn connect_to_copy(url: &str) -> Result<Self, ConnectFailed> {
        let store = Self::connect_for(url, PgSettings { connections: 4 }, Purpose::Copy).await?;
        migrate::run(&store.pool).await?;
        Ok(store)
    }
}

/// How many connections other programs of the platform have. Each copy has a name of its own.
async fn others(pool: &PgPool) -> PgResult<i64> {
    let others = sqlx::query_scalar(
        "SELECT count(*) FROM pg_stat_activity
         WHERE datname = current_database() AND starts_with(application_name, 'sms-')
             AND application_name <> current_setting('application_name')",
    );
    Ok(others.fetch_one(pool).await?)
}

/// Tables and columns that are neither copied nor known to follow from what is.
async fn unknown(pool: &PgPool) -> PgResult<Vec<String>> {
    let columns = sqlx::query(
        "SELECT c.table_name::text AS of, c.column_name::text AS name
         FROM information_schema.columns c
         JOIN information_schema.tables t USING (table_schema, table_name)
         WHERE table_schema = current_schema() AND t.table_type = 'BASE TABLE'
         ORDER BY c.table_name, c.ordinal_position",
    );
    let mut unknown = Vec::new();
    for column in columns.fetch_all(pool).await? {
        let (of, name) = (column.try_get::<&str, _>("of")?, column.try_get::<&str, _>("name")?);
        if NOT_COPIED.iter().any(|(table, _)| *table == of) {
            continue;
        }
        let kept = TABLES.iter().find(|kept| kept.table == of);
        let table = kept.and_then(|kept| sms_copy::TABLES.iter().find(|one| one.name == kept.name));
        let is_known =
            kept.zip(table).is_some_and(|(kept, table)| kept.columns(table).contains(&name));
        if !is_known {
            unknown.push(format!("{of}.{name}"));
        }
    }
    Ok(unknown)
}

async fn write(
    pool: &PgPool,
    table: &'static Table,
    rows: &[Row],
    journal: &Journal,
) -> PgResult<()> {
    let mut tx = begin(pool).await?;
    if rows.is_empty() {
        copy_journal::create(&mut tx).await?;
    } else {
        rows::write(&mut tx, table, rows).await?;
    }
    copy_journal::write(&mut tx, journal).await?;
    Ok(tx.commit().await?)
}

async fn derive(pool: &PgPool) -> PgResult<()> {
    let mut tx = begin(pool).await?;
    for statement in [
        "UPDATE account a SET has_conversations =
             EXISTS (SELECT FROM conversation c WHERE c.account_id = a.id)",
        "DELETE FROM inbox",
        "INSERT INTO inbox (account_id, unread)
         SELECT account_id, sum(unread) FROM conversation GROUP BY account_id",
    ] {
        sqlx::query(statement).execute(&mut *tx).await?;
    }
    event::base::go_on_after_copy(&mut tx).await?;
    tx.commit().await?;
    // The planner knows nothing yet of the tables.
    let tables = TABLES.map(|kept| kept.table).join(", ");
    sqlx::query(AssertSqlSafe(format!("ANALYZE {tables}"))).execute(pool).await?;
    Ok(())
}

async fn count(pool: &PgPool, table: &Table) -> PgResult<u64> {
    let kept = rows::kept(table)?;
    let query = format!("SELECT count(*) FROM {} t WHERE {}", kept.table, kept.only);
    let count: i64 = sqlx::query_scalar(AssertSqlSafe(query)).fetch_one(pool).await?;
    Ok(u64::try_from(count).unwrap_or_default())
}

#[async_trait]
impl Portable for PgStore {
    fn lists(&self) -> &dyn Reads {
        self
    }

    async fn other_programs(&self) -> Result<u64, StoreError> {
        let doing = "counting the connections of other programs";
        let mut found = others(&self.pool).await.context(doing)?;
        for _ in 0..LOOKS {
            if found == 0 {
                break;
            }
            sleep(Duration::from_millis(100)).await;
            found = others(&self.pool).await.context(doing)?;
        }
        Ok(u64::try_from(found).unwrap_or_default())
    }

    async fn unknown(&self) -> Result<Vec<String>, StoreError> {
        unknown(&self.pool).await.context("reading the schema")
    }

    async fn settle(&self) -> Result<(), StoreError> {
        while self.deliveries_tidy(Timestamp::from_millis(0), PORTION).await? > 0 {}
        while self.statistics_fold(PORTION).await? > 0 {}
        while self.campaign_counts_tidy(PORTION).await? > 0 {}
        Ok(())
    }

    async fn count(&self, table: &'static Table) -> Result<u64, StoreError> {
        count(&self.pool, table).await.context("counting rows")
    }

    async fn read(
        &self,
        table: &'static Table,
        after: Option<&Place>,
        limit: usize,
    ) -> Result<Portion, StoreError> {
        let doing = "reading rows to copy";
        let mut connection = self.pool.acquire().await.context(doing)?;
        rows::read(&mut connection, table, after, limit).await.context(doing)
    }

    async fn journal(&self) -> Result<Option<Journal>, StoreError> {
        copy_journal::read(&self.pool).await.context("reading how far the copy has come")
    }

    async fn write(
        &self,
        table: &'static Table,
        rows: Vec<Row>,
        journal: Journal,
    ) -> Result<(), StoreError> {
        write(&self.pool, table, &rows, &journal).await.context("writing copied rows")
    }

    async fn derive(&self) -> Result<(), StoreError> {
        derive(&self.pool).await.context("adding up what follows from the copied rows")
    }

    async fn finish(&self) -> Result<(), StoreError> {
        copy_journal::remove(&self.pool).await.context("ending the copy")
    }
}
