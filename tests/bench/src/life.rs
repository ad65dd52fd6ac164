//! What a message's life costs PostgreSQL, counted: statements, rows, entries of indexes and bytes
//! of the log, at each step from the send to the receipt, for sends without an idempotency key and
//! with one.
//!
//! Rows, entries and bytes are read from the log itself (`pg_walinspect`), statements from
//! `pg_stat_statements`, which counts BEGIN and COMMIT and not sqlx's question whether a connection
//! lives. So the figures do not depend on the machine's speed.

use std::future::ready;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use sms_core::Sms;
use sms_core::account::Mode;
use sms_core::ids::AccountId;
use sms_core::receipt::ReceiptStatus;
use sms_core::receipt::report::{NetworkId, NetworkReport};
use sms_core::route::{
    HandOver, HandOvers, OutboundMessage, Route, RouteKind, RouteName, RouteSink, all_at_once,
};
use sms_core::sending::request::SendRequest;
use sms_store_postgres::{PgSettings, PgStore};
use sms_test_postgres::{Server as Postgres, Stop};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, Row};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;

use crate::Failed;
use crate::page;
use crate::stock::people;

/// Messages that wait at the same time.
const AT_ONCE: [usize; 3] = [1, 12, 50];
/// How often each number of them is measured.
const ROUNDS: usize = 40;
/// How many messages are written together before the second measurement.
const PORTION: usize = 100_000;

/// How messages reach their network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leaves {
    /// From the queue, by a claim.
    Claimed,
    /// Through the memory of the program, which holds them from the start.
    Held,
}

/// How a message is sent.
#[derive(Debug, Clone, Copy)]
struct Way {
    leaves: Leaves,
    /// Each send has an idempotency key.
    has_key: bool,
    at_once: usize,
}

/// A network that accepts each message as one segment, and names the segments. It takes its time
/// until it is opened.
#[derive(Debug)]
struct Namer {
    name: RouteName,
    named: Mutex<Vec<NetworkId>>,
    is_open: watch::Sender<bool>,
}

impl Namer {
    fn new() -> Self {
        let is_open = watch::Sender::new(true);
        Self { name: RouteName::new("simulator"), named: Mutex::default(), is_open }
    }

    fn take(&self) -> Vec<NetworkId> {
        std::mem::take(&mut *self.named.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[async_trait]
impl Route for Namer {
    fn name(&self) -> &RouteName {
        &self.name
    }

    fn kind(&self) -> RouteKind {
        RouteKind::Real
    }

    fn hand_over<'a>(
        &'a self,
        messages: &'a [OutboundMessage],
        _sink: &'a dyn RouteSink,
    ) -> HandOvers<'a> {
        let id = |one: &OutboundMessage| NetworkId::new(self.name.clone(), one.message.to_string());
        let ids: Vec<_> = messages.iter().map(id).collect();
        self.named.lock().unwrap_or_else(PoisonError::into_inner).extend(ids.iter().cloned());
        let submitted = |id: NetworkId| HandOver::Submitted { parts: vec![id] };
        let mut is_open = self.is_open.subscribe();
        all_at_once(async move {
            // The sender lives as long as this does.
            let _ = is_open.wait_for(|is_open| *is_open).await;
            ids.into_iter().map(submitted).collect()
        })
    }

    async fn run(&self, _sink: Arc<dyn RouteSink>) {}
}

/// What a step wrote.
#[derive(Debug, Clone, Copy, Default)]
struct Counted {
    statements: i64,
    inserted: i64,
    updated: i64,
    hot: i64,
    deleted: i64,
    locked: i64,
    entries: i64,
    bytes: i64,
    pages: i64,
    read: i64,
}

impl Counted {
    fn add(&mut self, more: Self) {
        let Self { statements, inserted, updated, hot, deleted, locked, entries, bytes, .. } = more;
        self.statements += statements;
        self.inserted += inserted;
        self.updated += updated;
        self.hot += hot;
        self.deleted += deleted;
        self.locked += locked;
        self.entries += entries;
        self.bytes += bytes;
        self.pages += more.pages;
        self.read += more.read;
    }

    fn print(&self, step: &str, way: Way) {
        let Way { has_key, at_once, .. } = way;
        let key = if has_key { "each" } else { "" };
        let messages = (at_once * ROUNDS) as f64;
        let each = |count: i64| format!("{:.2}", count as f64 / messages);
        println!(
            "| {step} | {key} | {at_once} | {} | {} | {} | {} | {} | {} | {} | {:.0} | {} | {} |",
            each(self.statements),
            each(self.inserted),
            each(self.updated),
            each(self.hot),
            each(self.deleted),
            each(self.locked),
            each(self.entries),
            self.bytes as f64 / messages,
            each(self.pages),
            each(self.read),
        );
    }
}

/// Looks at the log and at the statements.
struct Watch {
    connection: PgConnection,
    since: String,
}

impl Watch {
    async fn new(url: &str) -> Result<Self, Failed> {
        let mut connection = PgConnection::connect(url).await?;
        connection.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements").await?;
        connection.execute("CREATE EXTENSION IF NOT EXISTS pg_walinspect").await?;
        let mut watch = Self { connection, since: String::new() };
        watch.start().await?;
        Ok(watch)
    }

    async fn start(&mut self) -> Result<(), Failed> {
        self.connection.execute("SELECT pg_stat_statements_reset()").await?;
        let now = sqlx::query_scalar("SELECT pg_current_wal_insert_lsn()::text");
        self.since = now.fetch_one(&mut self.connection).await?;
        Ok(())
    }

    /// What was written since the last call.
    async fn counted(&mut self) -> Result<Counted, Failed> {
        let statements = sqlx::query(
            "SELECT coalesce(sum(calls), 0)::bigint AS calls,
                 coalesce(sum(shared_blks_hit + shared_blks_read), 0)::bigint AS pages,
                 coalesce(sum(shared_blks_read), 0)::bigint AS read
             FROM pg_stat_statements
             WHERE query NOT LIKE '%pg_stat_statements%' AND query NOT LIKE '%pg_current_wal%'
               AND dbid = (SELECT oid FROM pg_database WHERE datname = current_database())",
        );
        let statements = statements.fetch_one(&mut self.connection).await?;
        let end = self.end().await?;
        // The log can be read up to where it is on the disk.
        self.connection.execute("CREATE TABLE flushed (); DROP TABLE flushed").await?;
        let row = sqlx::query(
            "WITH records AS (
                 SELECT resource_manager AS of, record_type AS did, record_length AS bytes
                 FROM pg_get_wal_records_info($1::pg_lsn, $2::pg_lsn))
             SELECT count(*) FILTER (WHERE of = 'Heap' AND did LIKE 'INSERT%') AS inserted,
                 count(*) FILTER (WHERE of = 'Heap' AND did LIKE 'UPDATE%') AS updated,
                 count(*) FILTER (WHERE of = 'Heap' AND did LIKE 'HOT_UPDATE%') AS hot,
                 count(*) FILTER (WHERE of = 'Heap' AND did LIKE 'DELETE%') AS deleted,
                 count(*) FILTER (WHERE of = 'Heap' AND did LIKE 'LOCK%') AS locked,
                 count(*) FILTER (WHERE of = 'Btree' AND did LIKE 'INSERT_%') AS entries,
                 coalesce(sum(bytes), 0)::bigint AS bytes
             FROM records",
        )
        .bind(&self.since)
        .bind(end)
        .fetch_one(&mut self.connection)
        .await?;
        let read = |name: &str| row.try_get::<i64, _>(name);
        let counted = Counted {
            statements: statements.try_get("calls")?,
            pages: statements.try_get("pages")?,
            read: statements.try_get("read")?,
            inserted: read("inserted")?,
            updated: read("updated")? + read("hot")?,
            hot: read("hot")?,
            deleted: read("deleted")?,
            locked: read("locked")?,
            entries: read("entries")?,
            bytes: read("bytes")?,
        };
        self.start().await?;
        Ok(counted)
    }

    /// Where the log ended before this looked.
    async fn end(&mut self) -> Result<String, Failed> {
        let end = sqlx::query_scalar("SELECT pg_current_wal_insert_lsn()::text");
        Ok(end.fetch_one(&mut self.connection).await?)
    }
}

pub(crate) async fn life(postgres: &Postgres, messages: usize) -> Result<(), Failed> {
    postgres.set("shared_preload_libraries", "pg_stat_statements").await;
    postgres.set("autovacuum", "off").await;
    postgres.stop(Stop::Fast);
    postgres.start_again();
    postgres.create_database("life").await;
    let url = postgres.url("life");
    let store = PgStore::connect(&url, PgSettings::default()).await?;
    store.migrate().await?;
    let namer = Arc::new(Namer::new());
    let sms = Sms::builder(Arc::new(store)).route(Arc::clone(&namer) as Arc<dyn Route>).build();
    let (account, _) = people(&sms, 1).await?.remove(0);
    println!(
        "| step | key | at once | statements | rows inserted | updated | of these HOT | deleted | \
         locked | index entries | log, bytes | pages | of these read |\n\
         |---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
    );
    let mut watch = Watch::new(&url).await?;
    all_steps(&sms, &namer, account, &mut watch).await?;
    grow(&mut watch.connection, account, messages).await?;
    println!("Among {messages} messages:");
    all_steps(&sms, &namer, account, &mut watch).await
}

/// Measures all steps, for each way of sending.
async fn all_steps(
    sms: &Sms,
    namer: &Namer,
    account: AccountId,
    watch: &mut Watch,
) -> Result<(), Failed> {
    for (leaves, leaving) in [(Leaves::Claimed, "claim and record"), (Leaves::Held, "record held")]
    {
        let ways = [false, true]
            .into_iter()
            .flat_map(|has_key| AT_ONCE.map(|at_once| Way { leaves, has_key, at_once }));
        for way in ways {
            let mut steps = [Counted::default(); 4];
            // The first rounds prepare the statements.
            for round in 0..ROUNDS + 10 {
                let counted = lives(sms, namer, account, way, watch).await?;
                if round >= 10 {
                    steps.iter_mut().zip(counted).for_each(|(step, more)| step.add(more));
                }
            }
            let mut sum = Counted::default();
            for (step, counted) in ["accept", leaving, "receipt", "fold"].iter().zip(steps) {
                counted.print(step, way);
                sum.add(counted);
            }
            sum.print("sum", way);
        }
    }
    Ok(())
}

/// Writes messages as they are a while after they were delivered, with their ledger entries and the
/// ids of their segments.
async fn grow(
    connection: &mut PgConnection,
    account: AccountId,
    messages: usize,
) -> Result<(), Failed> {
    let account = page::uuid(account.as_u128());
    for from in (0..messages).step_by(PORTION) {
        let to = messages.min(from + PORTION) - 1;
        let all = format!("generate_series({from}, {to}) AS n");
        // Ids of a week ago, in the order in which they were made.
        let id = |kind: u8| {
            format!("('018f0000-0000-7000-{kind}000-' || lpad(to_hex(n), 12, '0'))::uuid")
        };
        let (message, batch, entry) = (id(8), id(9), "gen_random_uuid()");
        let write = format!(
            "INSERT INTO message (account_id, id, direction, status, to_number, from_number,
                 contact_number, body, encoding, segments, credits, route, mode, batch_id,
                 sending_at, sent_at, delivered_at, timeline)
             SELECT '{account}'::uuid, {message}, 'outbound', 'delivered', 447700900000 + n % 1000,
                 447700900000, 447700900000 + n % 1000, 'Your table number ' || n || ' is ready',
                 'gsm7', 1, 1, 'simulator', 'live', {batch}, now(), now(), now(), '[]' FROM {all};
             INSERT INTO sent_segment (route, network_id, message_id, total, at, report)
             SELECT 'simulator', '{account}' || n, {message}, 1, now(), 'delivered' FROM {all};
             INSERT INTO ledger_entry (account_id, seq, id, kind, amount, balance_after, batch_id,
                 created_at)
             SELECT '{account}'::uuid, 1000000000 + n, {entry}, 'send', -1, 1, {batch}, now()
             FROM {all}"
        );
        connection.execute(AssertSqlSafe(write)).await?;
    }
    // As a nightly vacuum leaves it. Pages that are not looked at for a while leave the memory by
    // themselves: the tables are larger than what PostgreSQL keeps.
    connection.execute("VACUUM ANALYZE").await?;
    Ok(())
}

/// The lives of some messages, step by step.
async fn lives(
    sms: &Sms,
    namer: &Namer,
    account: AccountId,
    way: Way,
    watch: &mut Watch,
) -> Result<[Counted; 4], Failed> {
    let at_once = way.at_once;
    watch.start().await?;
    let (accepted, recorded) = match way.leaves {
        Leaves::Claimed => {
            send(sms, account, way).await?;
            let accepted = watch.counted().await?;
            let mut left = 0;
            while left < at_once {
                left += sms.dispatch_due(500).await?.claimed;
            }
            (accepted, watch.counted().await?)
        }
        Leaves::Held => {
            // A claim has to have found the queue empty.
            sms.dispatch_due(500).await?;
            namer.is_open.send_replace(false);
            let (stop, stopped) = oneshot::channel::<()>();
            let stopped = async { drop(stopped.await) };
            let recording = sms.dispatch_held(stopped, || ready(()), |_| {});
            let accepting = async {
                watch.start().await?;
                send(sms, account, way).await?;
                let accepted = watch.counted().await;
                namer.is_open.send_replace(true);
                drop(stop);
                accepted
            };
            let ((), accepted) = tokio::join!(recording, accepting);
            (accepted?, watch.counted().await?)
        }
    };
    let reports: Vec<_> = namer.take();
    if reports.len() != at_once {
        return Err("not all messages were handed over".into());
    }
    let status = ReceiptStatus::Delivered;
    let reports = reports.into_iter().map(|id| NetworkReport::new(id, status)).collect();
    for reported in sms.sink().reports(reports).await {
        reported?;
    }
    let reported = watch.counted().await?;
    sms.fold_statistics(500).await?;
    Ok([accepted, recorded, reported, watch.counted().await?])
}

/// A key as clients make them: a UUID, and after no order.
fn new_key() -> String {
    static MADE: AtomicU64 = AtomicU64::new(1);
    // Odd, so that no product of the first 2^64 comes twice.
    const SPREAD: u128 = 0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835;
    page::uuid(u128::from(MADE.fetch_add(1, Ordering::Relaxed)).wrapping_mul(SPREAD))
}

/// Sends so many messages at the same time, each with a call of its own.
async fn send(sms: &Sms, account: AccountId, way: Way) -> Result<(), Failed> {
    let mut sending: JoinSet<Result<(), Failed>> = JoinSet::new();
    for index in 0..way.at_once {
        let handle = sms.account(account, Mode::Live);
        let mut request = SendRequest::new("A text of the measurement");
        if way.has_key {
            request = request.idempotency_key(new_key().parse()?);
        }
        request.to = vec![format!("07700900{index:03}")];
        sending.spawn(async move { Ok(handle.send(request).await.map(drop)?) });
    }
    while let Some(done) = sending.join_next().await {
        done??;
    }
    Ok(())
}
