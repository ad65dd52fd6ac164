//! A server on a database that a newer version of the program has migrated.

use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

use crate::process::{TOKEN, run};
use crate::server_postgres::{cluster, start};

async fn execute(url: &str, sql: &str) {
    let mut connection = PgConnection::connect(url).await.unwrap();
    connection.execute(AssertSqlSafe(sql)).await.unwrap();
    connection.close().await.unwrap();
}

const MIGRATED_BY_A_NEWER_VERSION: &str =
    "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
     VALUES (20991231000000, 'new', true, '\\x00', 0);
     INSERT INTO schema_compatibility (migration, lowest)
     SELECT 20991231000000, max(migration) FROM schema_compatibility";

const EXCLUDE_THIS_VERSION: &str =
    "UPDATE schema_compatibility SET lowest = migration WHERE migration = 20991231000000";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_older_server_warns_where_it_may_still_serve_and_refuses_where_it_may_not() {
    let database = cluster().create(None).await;
    let url = cluster().url(&database);
    drop(start(&url));
    execute(&url, MIGRATED_BY_A_NEWER_VERSION).await;
    let server = start(&url);
    let warning = server.wait_for_log("a newer version of this program has migrated");
    assert!(warning.contains("WARN") && warning.contains("20991231000000"), "{warning}");
    drop(server);

    execute(&url, EXCLUDE_THIS_VERSION).await;
    let output = run(&[], &[("DATABASE_URL", &url), ("SMS_ADMIN_TOKEN", TOKEN)]);
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("run a version with schema 20991231000000 or later"), "{told}");
    cluster().drop(&database).await;
}
