//! How long a page takes when there are more messages.

use std::time::{Duration, Instant};

use sms_core::account::Mode;
use sms_core::message::MessageStatus;
use sms_core::message::filter::{MessageFilter, Search};
use sms_core::page::PageRequest;
use sms_core::service::AccountHandle;
use sms_test_postgres::Server as Postgres;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

use crate::Failed;
use crate::stock::{Stock, stock};
use crate::table::{Limit, Row, print};

const REPEATS: usize = 200;
/// How many messages are prepared for searches at a time.
const PREPARED: usize = 10_000;

/// Median microseconds of pages at ten thousand and at a million messages of one account.
pub(crate) async fn pages(postgres: &Postgres, many: usize) -> Result<(), Failed> {
    postgres.create_database("pages").await;
    let url = postgres.url("pages");
    let stock = stock(&url, 1).await?;
    fill(&url, &stock, 0, 10_000).await?;
    let few = measure(&stock).await?;
    fill(&url, &stock, 10_000, many).await?;
    let all = measure(&stock).await?;
    for ((what, few), (_, all)) in few.into_iter().zip(all) {
        let limit = Limit { name: "at 10,000", figure: few };
        print(&Row::new(format!("µs of a page, {what}, at {many}"), all).beside(&limit));
    }
    Ok(())
}

/// Writes messages as they are a while after they were sent, one in a hundred failed, and lets the
/// worker prepare searches among them.
pub(crate) async fn fill(url: &str, stock: &Stock, from: usize, to: usize) -> Result<(), Failed> {
    let mut connection = PgConnection::connect(url).await?;
    let account = uuid(stock.accounts[0].0.as_u128());
    connection
        .execute(AssertSqlSafe(format!(
            "INSERT INTO message (account_id, id, direction, status, to_number, from_number,
                 contact_number, body, encoding, segments, credits, route, mode, batch_id,
                 error_code, sent_at, timeline)
             SELECT '{account}'::uuid,
                 ('018f0000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'outbound',
                 CASE WHEN n % 100 = 7 THEN 'failed' ELSE 'delivered' END,
                 447700900000 + n % 1000, 447700900000, 447700900000 + n % 1000,
                 'Your table number ' || n || ' is ready', 'gsm7', 1, 1, 'simulator', 'live',
                 ('018f0000-0000-7000-9000-' || lpad(to_hex(n / 100), 12, '0'))::uuid,
                 CASE WHEN n % 100 = 7 THEN 'expired' END, now(), '[]'
             FROM generate_series({from}, {}) AS n",
            to - 1
        )))
        .await?;
    connection.execute("VACUUM ANALYZE message").await?;
    connection.close().await?;
    while stock.sms.prepare_search(PREPARED).await? > 0 {}
    Ok(())
}

pub(crate) fn uuid(id: u128) -> String {
    let hex = format!("{id:032x}");
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

async fn measure(stock: &Stock) -> Result<Vec<(&'static str, f64)>, Failed> {
    let handle = stock.sms.account(stock.accounts[0].0, Mode::Live);
    let newest = PageRequest::default();
    let all = MessageFilter::default();
    let mut deep = newest;
    for _ in 0..20 {
        let page = handle.message_list(&all, PageRequest { limit: newest.limit, ..deep }).await?;
        deep.after = page.next;
    }
    let failed = MessageFilter { status: Some(MessageStatus::Failed), ..all.clone() };
    let one = searching("07700 900500");
    let word = searching("is ready");
    let rare = searching("number 4711 ");
    Ok(vec![
        ("newest", median(&handle, &all, newest).await?),
        ("deep", median(&handle, &all, deep).await?),
        ("failed ones", median(&handle, &failed, newest).await?),
        ("of one number", median(&handle, &one, newest).await?),
        ("with words that all have", median(&handle, &word, newest).await?),
        ("with words that one has", median(&handle, &rare, newest).await?),
    ])
}

fn searching(q: &str) -> MessageFilter {
    MessageFilter { search: Search::parse(q), ..MessageFilter::default() }
}

pub(crate) async fn median(
    handle: &AccountHandle,
    filter: &MessageFilter,
    page: PageRequest,
) -> Result<f64, Failed> {
    let mut took: Vec<Duration> = Vec::with_capacity(REPEATS);
    for _ in 0..REPEATS {
        let started = Instant::now();
        handle.message_list(filter, page).await?;
        took.push(started.elapsed());
    }
    took.sort_unstable();
    Ok(took[REPEATS / 2].as_secs_f64() * 1e6)
}
