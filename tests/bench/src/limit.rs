//! What PostgreSQL itself does on this machine: the limits that ours is measured by.

use std::fs;
use std::time::{Duration, Instant};

use sms_test_postgres::Server;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};
use tokio::process::Command;

use crate::Failed;
use crate::table::Limit;

const TABLE: &str = "CREATE TABLE one_row (
    id bigserial PRIMARY KEY, account_id bigint NOT NULL, recipient text NOT NULL,
    body text NOT NULL, status text NOT NULL, created_at timestamptz NOT NULL DEFAULT now())";
const ONE_ROW: &str = "\\set n random(0, 999)
INSERT INTO one_row (account_id, recipient, body, status)
VALUES (1, (447700900000 + :n)::text, 'A text of the measurement', 'queued');
";

/// Commits of one small row a second, as many clients at once.
pub(crate) async fn one_row_commits(
    server: &Server,
    clients: u32,
    during: Duration,
) -> Result<Limit, Failed> {
    let database = format!("one_row_{clients}");
    server.create_database(&database).await;
    let mut connection = PgConnection::connect(&server.url(&database)).await?;
    connection.execute(TABLE).await?;
    connection.close().await?;
    let script = std::env::temp_dir().join(format!("sms-bench-{}.sql", std::process::id()));
    fs::write(&script, ONE_ROW)?;
    let output = Command::new(server.programs().join("pgbench"))
        .args(["-n", "-M", "prepared", "-j", "1", "-c", &clients.to_string()])
        .args(["-T", &during.as_secs().max(1).to_string()])
        .arg("-f")
        .arg(&script)
        .arg(server.socket_url(&database))
        .output()
        .await?;
    fs::remove_file(&script)?;
    let told = String::from_utf8_lossy(&output.stdout);
    let figure = told.lines().find_map(|line| line.strip_prefix("tps = ")?.split(' ').next());
    let figure = figure.ok_or_else(|| String::from_utf8_lossy(&output.stderr).into_owned())?;
    let name = match clients {
        1 => "one-row commits of pgbench, 1 client",
        16 => "one-row commits of pgbench, 16 clients",
        _ => "one-row commits of pgbench, 64 clients",
    };
    Ok(Limit { name, figure: figure.parse()? })
}

/// Messages a second of a raw COPY: the rows that messages left in a database, copied into tables
/// of the same columns, checks and indexes.
pub(crate) async fn copy_of_the_same_rows(url: &str, messages: usize) -> Result<Limit, Failed> {
    let mut connection = PgConnection::connect(url).await?;
    let mut took = Duration::ZERO;
    for table in ["message", "queue", "ledger_entry"] {
        // Written and read by the database server, which may be another user.
        let name = format!("sms-bench-{}-{table}.copy", std::process::id());
        let file = std::env::temp_dir().join(name).display().to_string();
        let copy = format!("CREATE TABLE copied_{table} (LIKE {table} INCLUDING ALL)");
        connection.execute(AssertSqlSafe(copy)).await?;
        connection.execute(AssertSqlSafe(format!("COPY {table} TO '{file}'"))).await?;
        let started = Instant::now();
        connection.execute(AssertSqlSafe(format!("COPY copied_{table} FROM '{file}'"))).await?;
        took += started.elapsed();
        connection.execute(AssertSqlSafe(format!("DROP TABLE copied_{table}"))).await?;
        fs::remove_file(file)?;
    }
    connection.close().await?;
    let figure = messages as f64 / took.as_secs_f64();
    Ok(Limit { name: "COPY of the same rows", figure })
}

/// Which PostgreSQL is measured.
pub(crate) async fn version(server: &Server) -> Result<String, Failed> {
    let mut connection = PgConnection::connect(&server.url("postgres")).await?;
    let version: String =
        sqlx::query_scalar("SHOW server_version").fetch_one(&mut connection).await?;
    connection.close().await?;
    Ok(format!("PostgreSQL {version}, fsync on"))
}
