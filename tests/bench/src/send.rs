//! Messages accepted a second.

use std::time::{Duration, Instant};

use sms_core::Sms;
use sms_core::account::Mode;
use sms_core::ids::AccountId;
use sms_core::sending::request::SendRequest;
use sms_test_postgres::Server as Postgres;
use sqlx::PgPool;
use tokio::task::JoinSet;

use crate::Failed;
use crate::drive::{Driven, Load, drive, post};
use crate::limit::copy_of_the_same_rows;
use crate::server::Server;
use crate::stock::{Stock, drama_numbers, later, stock};
use crate::table::{Limit, Row, print};
use crate::usage::{cpu, cpu_with_children, peak_memory};

const CONNECTIONS: usize = 32;
const BULK_CALLERS: usize = 4;

/// One text a request, accepted for later, so that nothing but accepting is measured.
pub(crate) async fn singles(
    postgres: &Postgres,
    limit: &Limit,
    during: Duration,
) -> Result<(), Failed> {
    for accounts in [1, 16] {
        let database = format!("library_{accounts}");
        postgres.create_database(&database).await;
        let stock = stock(&postgres.url(&database), accounts).await?;
        let sent = library(&stock.sms, &stock.accounts, during).await?;
        let row =
            Row::new(format!("one message a call, library, 32 callers, {accounts} accounts"), sent);
        print(&row.beside(limit));
    }
    for accounts in [1, 16] {
        let database = format!("http_{accounts}");
        postgres.create_database(&database).await;
        let url = postgres.url(&database);
        let stock = stock(&url, accounts).await?;
        let server = Server::start(&url).await?;
        let schedule = format!(r#","schedule_at":"{}""#, later(&stock.sms));
        http(postgres, &server, &stock, &schedule, Duration::from_secs(1)).await?;
        let (driven, note) = http(postgres, &server, &stock, &schedule, during).await?;
        let what = format!("one message a request, HTTP, 32 connections, {accounts} accounts");
        print(&Row::new(what, driven.per_second()).beside(limit).note(note));
    }
    Ok(())
}

/// One text a request that leaves at once, is received, and reported, while more are accepted.
pub(crate) async fn end_to_end(
    postgres: &Postgres,
    limit: &Limit,
    during: Duration,
) -> Result<(), Failed> {
    postgres.create_database("end_to_end").await;
    let url = postgres.url("end_to_end");
    let stock = stock(&url, 1).await?;
    let server = Server::start(&url).await?;
    let database = postgres.pid().unwrap_or_default();
    let used = || [cpu(server.pid()), cpu_with_children(database)];
    let (before, log) = (used(), log_bytes(&stock.pool).await?);
    let started = Instant::now();
    let (driven, note) = http(postgres, &server, &stock, "", during).await?;
    let what = "the same, while messages leave and come to their receipts, accepted";
    print(&Row::new(what, driven.per_second()).beside(limit).note(note));
    let messages = i64::try_from(driven.answered)?;
    let reached = async |statuses: [&str; 3], look_every| -> Result<f64, Failed> {
        while count(&stock.pool, statuses).await? < messages {
            if started.elapsed() > during * 20 {
                return Err(format!("not all of {messages} messages became {statuses:?}").into());
            }
            tokio::time::sleep(look_every).await;
        }
        Ok(driven.answered as f64 / started.elapsed().as_secs_f64())
    };
    let handed_over =
        reached(["sent", "delivered", "undelivered"], Duration::from_millis(20)).await?;
    print(&Row::new("the same, handed over, first request to last message", handed_over));
    // Seldom, so that looking costs next to nothing.
    let reported =
        reached(["delivered", "undelivered", "failed"], Duration::from_millis(500)).await?;
    // Statistics are folded every 10 s.
    tokio::time::sleep(Duration::from_secs(11)).await;
    let (after, log) = (used(), log_bytes(&stock.pool).await? - log);
    let micros = |index: usize| (after[index] - before[index]) * 1e6 / driven.answered as f64;
    let note = format!(
        "{messages} messages; CPU of a message's life: server {:.0} µs, PostgreSQL {:.0} µs; \
         its log {} bytes",
        micros(0),
        micros(1),
        log / messages,
    );
    print(&Row::new("the same, first request to last receipt", reported).note(note));
    Ok(())
}

/// How many messages have one of these statuses.
async fn count(pool: &PgPool, statuses: [&str; 3]) -> Result<i64, Failed> {
    let count = sqlx::query_scalar("SELECT count(*) FROM message WHERE status = ANY($1)");
    Ok(count.bind(statuses).fetch_one(pool).await?)
}

/// Bytes of the write-ahead log so far.
async fn log_bytes(pool: &PgPool) -> Result<i64, Failed> {
    let bytes = sqlx::query_scalar("SELECT (pg_current_wal_lsn() - '0/0')::bigint");
    Ok(bytes.fetch_one(pool).await?)
}

/// Sends of 1,000 recipients.
pub(crate) async fn bulk(postgres: &Postgres, during: Duration) -> Result<(), Failed> {
    postgres.create_database("bulk").await;
    let url = postgres.url("bulk");
    let stock = stock(&url, BULK_CALLERS).await?;
    let until = Instant::now() + during;
    let started = Instant::now();
    let mut callers: JoinSet<Result<usize, Failed>> = JoinSet::new();
    for (account, _) in &stock.accounts {
        let handle = stock.sms.account(*account, Mode::Live);
        let mut request = SendRequest::new("A text of the measurement");
        request.to = drama_numbers();
        request.schedule_at = Some(later(&stock.sms));
        callers.spawn(async move {
            let mut messages = 0;
            while Instant::now() < until {
                messages += handle.send(request.clone()).await?.messages.len();
            }
            Ok(messages)
        });
    }
    let mut messages = 0;
    while let Some(done) = callers.join_next().await {
        messages += done??;
    }
    let per_second = messages as f64 / started.elapsed().as_secs_f64();
    let limit = copy_of_the_same_rows(&url, messages).await?;
    print(&Row::new("messages in sends of 1,000, library, 4 callers", per_second).beside(&limit));
    Ok(())
}

/// Messages sent one by one in a second, by as many callers as there are connections otherwise.
pub(crate) async fn library(
    sms: &Sms,
    accounts: &[(AccountId, String)],
    during: Duration,
) -> Result<f64, Failed> {
    let started = Instant::now();
    let until = started + during;
    let mut clients: JoinSet<Result<usize, Failed>> = JoinSet::new();
    for client in 0..CONNECTIONS {
        let (account, _) = accounts[client % accounts.len()];
        let handle = sms.account(account, Mode::Live);
        let mut request = SendRequest::new("A text of the measurement");
        request.to = vec![format!("07700900{client:03}")];
        request.schedule_at = Some(later(sms));
        clients.spawn(async move {
            let mut sent = 0;
            while Instant::now() < until {
                handle.send(request.clone()).await?;
                sent += 1;
            }
            Ok(sent)
        });
    }
    let mut sent = 0;
    while let Some(done) = clients.join_next().await {
        sent += done??;
    }
    Ok(sent as f64 / started.elapsed().as_secs_f64())
}

async fn http(
    postgres: &Postgres,
    server: &Server,
    stock: &Stock,
    more: &str,
    during: Duration,
) -> Result<(Driven, String), Failed> {
    let loads = (0..CONNECTIONS).map(|client| {
        let (_, key) = &stock.accounts[client % stock.accounts.len()];
        let body =
            format!(r#"{{"to":"07700900{client:03}","body":"A text of the measurement"{more}}}"#);
        Load::keyless(post("/api/v1/messages", key, &body), "201")
    });
    let database = postgres.pid().unwrap_or_default();
    let used = || [cpu(server.pid()), cpu_with_children(database), cpu(std::process::id())];
    let before = used();
    let driven = drive(server.addr, loads.collect(), during).await?;
    let after = used();
    let micros = |index: usize| {
        let seconds: f64 = after[index] - before[index];
        seconds * 1e6 / driven.answered as f64
    };
    let note = format!(
        "p50 {:.1} ms, p99 {:.1} ms; CPU a text: server {:.0} µs, PostgreSQL {:.0} µs, client \
         {:.0} µs; server {:.0} MiB",
        driven.quantile(0.5).as_secs_f64() * 1_000.0,
        driven.quantile(0.99).as_secs_f64() * 1_000.0,
        micros(0),
        micros(1),
        micros(2),
        peak_memory(server.pid()),
    );
    Ok((driven, note))
}
