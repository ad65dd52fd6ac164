//! The rule of the indexes: only the primary key can serve the look-up of a row by its account and
//! its key.
//!
//! While a table is small, an index that begins with the account and contains the key looks as good
//! for such a look-up as the primary key does. It then reads all of the account's rows, and a
//! connection keeps that plan while the table grows. A predicate that the look-up does not imply
//! keeps the planner from using the index.

use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, Row};

use super::hot::connect;
use crate::Own;

/// An index that contains the primary key of its table, and begins with the account.
struct Index {
    name: String,
    table: String,
    /// The columns of the look-up: the account, and those of the primary key.
    columns: Vec<String>,
}

async fn indexes(connection: &mut PgConnection) -> Vec<Index> {
    let rows = sqlx::query(
        "SELECT i.indexrelid::regclass::text AS name, i.indrelid::regclass::text AS table,
             ARRAY(SELECT DISTINCT a.attname::text FROM pg_attribute a
                   WHERE a.attrelid = i.indrelid
                     AND (a.attnum = ANY(p.indkey) OR a.attnum = i.indkey[0])
                   ORDER BY 1) AS columns
         FROM pg_index i
         JOIN pg_class t ON t.oid = i.indrelid AND t.relnamespace = 'public'::regnamespace
         JOIN pg_attribute first ON first.attrelid = i.indrelid AND first.attnum = i.indkey[0]
         JOIN pg_index p ON p.indrelid = i.indrelid AND p.indisprimary
         WHERE NOT i.indisprimary AND first.attname = 'account_id'
           AND string_to_array(p.indkey::text, ' ') <@ string_to_array(i.indkey::text, ' ')
         ORDER BY 1",
    )
    .fetch_all(connection)
    .await
    .expect("the catalogue is read");
    let read = |row: &sqlx::postgres::PgRow| Index {
        name: row.get("name"),
        table: row.get("table"),
        columns: row.get("columns"),
    };
    rows.iter().map(read).collect()
}

/// Whether the planner could use this index for the look-up of a row by its key, if there were no
/// other.
async fn serves_look_ups(connection: &mut PgConnection, index: &Index) -> bool {
    let Index { name, table, columns } = index;
    #[expect(clippy::disallowed_methods, reason = "nothing drops what a test does")]
    let mut tx = connection.begin().await.expect("it begins");
    let drop_others = format!(
        "DO $$ DECLARE one text; BEGIN
             FOR one IN SELECT conname FROM pg_constraint
                 WHERE conrelid = '{table}'::regclass AND contype IN ('p', 'u')
             LOOP EXECUTE 'ALTER TABLE {table} DROP CONSTRAINT ' || one || ' CASCADE'; END LOOP;
             FOR one IN SELECT indexrelid::regclass::text FROM pg_index
                 WHERE indrelid = '{table}'::regclass AND indexrelid <> '{name}'::regclass
             LOOP EXECUTE 'DROP INDEX ' || one; END LOOP;
         END $$;
         SET LOCAL enable_seqscan = off;
         SET LOCAL plan_cache_mode = force_generic_plan"
    );
    tx.execute(AssertSqlSafe(drop_others)).await.expect("the others go");
    let conditions: Vec<String> =
        columns.iter().enumerate().map(|(n, column)| format!("{column} = ${}", n + 1)).collect();
    let prepare =
        format!("PREPARE look_up AS SELECT 1 FROM {table} WHERE {}", conditions.join(" AND "));
    tx.execute(AssertSqlSafe(prepare)).await.expect("it is prepared");
    let nothing = vec!["NULL"; columns.len()].join(", ");
    let explain = format!("EXPLAIN EXECUTE look_up ({nothing})");
    let plan = tx.fetch_all(AssertSqlSafe(explain)).await.expect("it is explained");
    let uses = plan.iter().any(|row| row.get::<&str, _>(0).contains(name));
    tx.execute("DEALLOCATE look_up").await.expect("it is forgotten");
    tx.rollback().await.expect("nothing is left");
    uses
}

async fn broken(connection: &mut PgConnection) -> Vec<String> {
    let mut broken = Vec::new();
    for index in indexes(connection).await {
        if serves_look_ups(connection, &index).await {
            broken.push(index.name);
        }
    }
    broken
}

pub(crate) async fn only_the_primary_key_serves_look_ups_by_account_and_key(own: Own) {
    let mut connection = connect(&own.url).await;
    assert!(indexes(&mut connection).await.len() > 5, "the catalogue names the indexes");
    assert_eq!(broken(&mut connection).await, Vec::<String>::new(), "give them a predicate");
    // What breaks the rule is found.
    for breaking in [
        "CREATE INDEX breaking ON message (account_id, to_number, id)",
        "CREATE INDEX breaking ON message (account_id, to_number, id) WHERE id IS NOT NULL",
        "CREATE INDEX breaking ON queue (account_id, route, message_id)",
    ] {
        connection.execute(breaking).await.expect("it is made");
        assert_eq!(broken(&mut connection).await, ["breaking"], "{breaking}");
        connection.execute("DROP INDEX breaking").await.expect("it goes");
    }
    connection.close().await.expect("closed");
}
