//! Searches for words: signatures of spans, as the store has them, beside `pg_trgm`.
//!
//! The same messages go into copies of the table with and without a GIN index of trigrams, in
//! batches and in commits of one row; then the same words are searched for. The signatures are made
//! and asked by the store itself. `ILIKE` answers as the core does but for letters whose lower case
//! differs between Rust and the database, which these messages do not have.

use std::time::{Duration, Instant};

use sms_core::account::Mode;
use sms_core::ids::{AccountId, MessageKind};
use sms_core::message::filter::{MessageFilter, Search};
use sms_core::page::PageRequest;
use sms_test_postgres::Server as Postgres;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, PgPool};

use crate::Failed;
use crate::stock::{Stock, stock};
use crate::table::{Limit, Row, print};

/// The most messages: four copies with their indexes take a minute or two.
pub(crate) const MOST: usize = 300_000;
/// Messages of the small account. The large one has the rest.
const FEW: usize = 3_000;
/// Rows of a batch, and commits of one row.
const BATCH: usize = 1_000;
const SINGLES: usize = 1_000;
/// How often a page is read, and for how long at most.
const REPEATS: usize = 31;
const LONGEST: Duration = Duration::from_secs(3);
/// How many messages are prepared for searches at a time.
const PREPARED: usize = 10_000;

/// Copies of the table: their names, their indexes besides.
const COPIES: [(&str, &str); 4] = [
    ("without", ""),
    ("trigrams", "(body gin_trgm_ops)"),
    ("trigrams_direct", "(body gin_trgm_ops) WITH (fastupdate = off)"),
    ("trigrams_by_account", "(account_id, body gin_trgm_ops)"),
];

/// What is searched for.
const ASKED: [(&str, &str); 7] = [
    ("a word of one message", "walrus"),
    ("a word of one in 2,000", "quixotic"),
    ("a common word", "your"),
    ("two words that all have", "table is"),
    ("two words of one message", "walrus waits"),
    ("a word of none", "zyzzyva"),
    ("two letters of one in 2,000", "xo"),
];

/// Prints what writing, keeping and searching cost.
pub(crate) async fn search(postgres: &Postgres, many: usize) -> Result<(), Failed> {
    postgres.create_database("search").await;
    let url = postgres.url("search");
    let stock = stock(&url, 2).await?;
    let mut connection = PgConnection::connect(&url).await?;
    connection.execute("CREATE EXTENSION pg_trgm; CREATE EXTENSION btree_gin").await?;
    let bodies: Vec<String> = (0..many).map(body).collect();
    let plain = write(&mut connection, &stock, &bodies).await?;
    spans(&stock, many, &plain).await?;
    sizes(&mut connection, many).await?;
    connection.close().await?;
    for (account, name) in [(0, "large"), (1, "small")] {
        for (what, words) in ASKED {
            ask(&stock, account, &format!("{what}, {name} account"), words).await?;
        }
    }
    Ok(())
}

/// A body of some words that follow a law of few and many, with a code in it.
fn body(n: usize) -> String {
    const COMMON: [&str; 24] = [
        "you", "for", "and", "the", "please", "we", "at", "call", "today", "order", "has", "been",
        "now", "with", "our", "reply", "stop", "code", "see", "new", "time", "get", "from", "have",
    ];
    const ONSET: [&str; 16] =
        ["b", "br", "c", "d", "f", "g", "h", "l", "m", "n", "p", "pr", "r", "s", "st", "t"];
    const RHYME: [&str; 16] = [
        "ain", "ale", "ate", "ent", "ell", "ing", "ion", "ock", "old", "ook", "ore", "ound", "owl",
        "ude", "ump", "une",
    ];
    let mut state = n as u64 ^ 0x9e37_79b9_7f4a_7c15;
    let mut next = |most: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % most
    };
    let mut words = vec!["Your table is ready".to_owned()];
    for _ in 0..6 + next(14) {
        let word = if next(5) < 3 {
            COMMON[next(COMMON.len())].to_owned()
        } else {
            // Most of four thousand words are rare.
            let rare = next(256) * next(256) / 16;
            let (first, second) = (rare / 256, rare % 256);
            [ONSET[first], RHYME[second / 16], RHYME[second % 16]].concat()
        };
        words.push(word);
    }
    words.push(format!("{:06}", next(1_000_000)));
    if n % 2_000 == 78 {
        words.push("quixotic".to_owned());
    }
    if n == 1_500 || n == 100_500 {
        words.push("Walrus waits".to_owned());
    }
    words.join(" ")
}

/// Writes messages, counted from `from`, with one statement.
async fn insert(
    connection: &mut PgConnection,
    table: &str,
    stock: &Stock,
    bodies: &[String],
    from: usize,
) -> Result<(), Failed> {
    let each = || from..from + bodies.len();
    // The small account has every second of the oldest.
    let account = |n: usize| usize::from(n.is_multiple_of(2) && n < 2 * FEW);
    let accounts = each().map(|n| uuid(stock.accounts[account(n)].0.as_u128()));
    let ids = each().map(|n| format!("018f0000-0000-7000-8000-{n:012x}"));
    let numbers =
        (447_700_900_000_i64..447_700_901_000).cycle().skip(from % 1_000).take(bodies.len());
    let sql = format!(
        "INSERT INTO {table} (account_id, id, direction, status, to_number, from_number,
             contact_number, body, encoding, segments, credits, route, mode, sent_at, timeline)
         SELECT account_id::uuid, id::uuid, 'outbound', 'delivered', number, 447700900000, number,
             body, 'gsm7', 1, 1, 'simulator', 'live', now(), '[]'
         FROM UNNEST($1::text[], $2::text[], $3::bigint[], $4::text[])
              AS new (account_id, id, number, body)"
    );
    sqlx::query(AssertSqlSafe(sql))
        .bind(accounts.collect::<Vec<_>>())
        .bind(ids.collect::<Vec<_>>())
        .bind(numbers.collect::<Vec<_>>())
        .bind(bodies)
        .execute(connection)
        .await?;
    Ok(())
}

/// Writes the messages into the table and its copies; microseconds of one without an index.
async fn write(
    connection: &mut PgConnection,
    stock: &Stock,
    bodies: &[String],
) -> Result<(Limit, Limit), Failed> {
    for (at, some) in bodies.chunks(BATCH).enumerate() {
        insert(connection, "message", stock, some, at * BATCH).await?;
    }
    let (batches, singles) = bodies.split_at(bodies.len() - SINGLES);
    let mut limits: Option<(Limit, Limit)> = None;
    for (table, index) in COPIES {
        let made = format!("CREATE TABLE {table} (LIKE message INCLUDING ALL)");
        connection.execute(AssertSqlSafe(made)).await?;
        if !index.is_empty() {
            let made = format!("CREATE INDEX {table}_body ON {table} USING gin {index}");
            connection.execute(AssertSqlSafe(made)).await?;
        }
        let started = Instant::now();
        for (at, some) in batches.chunks(BATCH).enumerate() {
            insert(connection, table, stock, some, at * BATCH).await?;
        }
        let in_batches = started.elapsed().as_secs_f64() * 1e6 / batches.len() as f64;
        let started = Instant::now();
        for (at, one) in singles.chunks(1).enumerate() {
            insert(connection, table, stock, one, batches.len() + at).await?;
        }
        let alone = started.elapsed().as_secs_f64() * 1e6 / SINGLES as f64;
        let started = Instant::now();
        connection.execute(AssertSqlSafe(format!("VACUUM (ANALYZE) {table}"))).await?;
        let vacuum = started.elapsed().as_secs_f64() * 1e6 / bodies.len() as f64;
        let name = "without an index of bodies";
        let limit = |figure| Limit { name, figure };
        let (few, one) = limits.get_or_insert_with(|| (limit(in_batches), limit(alone)));
        let note = format!("then {vacuum:.1} µs a message to vacuum");
        let row = Row::new(format!("µs of a message in a batch, {table}"), in_batches);
        print(&row.beside(few).note(note));
        print(&Row::new(format!("µs of a message in its commit, {table}"), alone).beside(one));
    }
    connection.execute("VACUUM (ANALYZE) message").await?;
    limits.ok_or_else(|| "nothing was measured".into())
}

/// What the worker needs for the signatures of a message.
async fn spans(stock: &Stock, many: usize, (plain, _): &(Limit, Limit)) -> Result<(), Failed> {
    let started = Instant::now();
    while stock.sms.prepare_search(PREPARED).await? > 0 {}
    let each = started.elapsed().as_secs_f64() * 1e6 / many as f64;
    print(&Row::new("µs of a message, signatures by the worker", each).beside(plain));
    Ok(())
}

/// Bytes of a message on disk.
async fn sizes(connection: &mut PgConnection, many: usize) -> Result<(), Failed> {
    let of = |what: &str| format!("SELECT pg_total_relation_size('{what}')");
    let table = [("the message without its indexes", "SELECT pg_table_size('without')".to_owned())];
    let indexes = COPIES.iter().skip(1).map(|(name, _)| (*name, of(&format!("{name}_body"))));
    let spans = [("signatures", of("message_span"))];
    for (what, sql) in table.into_iter().chain(indexes).chain(spans) {
        let bytes: i64 = sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(&mut *connection).await?;
        print(&Row::new(format!("bytes of a message, {what}"), bytes as f64 / many as f64));
    }
    Ok(())
}

/// Milliseconds of the newest page with these words, and of the page after it.
async fn ask(stock: &Stock, account: usize, what: &str, words: &str) -> Result<(), Failed> {
    let id = stock.accounts[account].0;
    let handle = stock.sms.account(id, Mode::Live);
    let filter = MessageFilter { search: Search::parse(words), ..MessageFilter::default() };
    let newest = PageRequest::default();
    let first = handle.message_list(&filter, newest).await?;
    let mut pages = vec![("", newest)];
    if first.next.is_some() {
        pages.push((", second page", PageRequest { after: first.next, limit: newest.limit }));
    }
    for (which, page) in pages {
        let found = handle.message_list(&filter, page).await?.items.len();
        let ours = median(async || Ok(handle.message_list(&filter, page).await.map(drop)?)).await?;
        for table in ["trigrams", "trigrams_by_account"] {
            let sql = query(table, id, words, page);
            let theirs = count(&stock.pool, &sql).await?;
            if theirs.min(page.limit.get()) != found {
                return Err(format!("{table} finds {theirs}, not {found}, of {words}").into());
            }
            let figure = median(async || count(&stock.pool, &sql).await.map(drop)).await?;
            let name = if table == "trigrams" { "trigrams" } else { "trigrams by account" };
            let row = Row::new(format!("ms of a search, {what}{which}"), ours);
            print(&row.beside(&Limit { name, figure }));
        }
    }
    Ok(())
}

fn query(table: &str, account: AccountId, words: &str, page: PageRequest) -> String {
    let before = page.after.map_or(u128::MAX, |after| after.id::<MessageKind>().as_u128());
    format!(
        "SELECT * FROM {table} WHERE account_id = '{}' AND body ILIKE '%{words}%' AND id < '{}'
         ORDER BY id DESC LIMIT {}",
        uuid(account.as_u128()),
        uuid(before),
        page.limit.get() + 1
    )
}

async fn count(pool: &PgPool, sql: &str) -> Result<usize, Failed> {
    let query = sqlx::query(AssertSqlSafe(sql.to_owned())).persistent(false);
    Ok(query.fetch_all(pool).await?.len())
}

/// The median of some runs, in milliseconds.
async fn median(once: impl AsyncFn() -> Result<(), Failed>) -> Result<f64, Failed> {
    let mut took = Vec::with_capacity(REPEATS);
    let begun = Instant::now();
    while took.len() < REPEATS && (took.is_empty() || begun.elapsed() < LONGEST) {
        let started = Instant::now();
        once().await?;
        took.push(started.elapsed());
    }
    took.sort_unstable();
    Ok(took[took.len() / 2].as_secs_f64() * 1e3)
}

fn uuid(id: u128) -> String {
    let hex = format!("{id:032x}");
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}
