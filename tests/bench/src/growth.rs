//! What grows with the messages that are there: the same work among ten thousand, a hundred
//! thousand and a million of one account, and on PostgreSQL ten million.

use std::sync::Arc;
use std::time::{Duration, Instant};

use sms_core::Sms;
use sms_core::account::Mode;
use sms_core::ids::{AccountId, MessageId};
use sms_core::message::filter::MessageFilter;
use sms_core::page::PageRequest;
use sms_core::receipt::{Receipt, ReceiptStatus};
use sms_core::sending::request::SendRequest;
use sms_store_memory::MemoryStore;
use sms_test_postgres::Server as Postgres;
use tokio::task::JoinSet;

use crate::Failed;
use crate::page::{fill, median};
use crate::send::library;
use crate::stock::{drama_numbers, later, people, stock};
use crate::table::{Limit, Row, print};
use crate::taker::Taker;

const SIZES: [usize; 4] = [10_000, 100_000, 1_000_000, 10_000_000];
/// The most messages in the memory store, which takes about 2 KB for each.
const MOST_IN_MEMORY: usize = 1_000_000;
/// Messages that leave and are reported at each size.
const LEAVING: usize = 5_000;
/// Receipts that come at the same time.
const AT_ONCE: usize = 64;

/// One figure each, in the order of [`WHAT`].
type Figures = [f64; 4];
const WHAT: [&str; 4] = [
    "messages/s sent one by one, library, 32 callers",
    "messages/s claimed and recorded, 1 worker",
    "receipts/s recorded, 64 at a time",
    "µs of the newest page",
];

pub(crate) async fn growth(
    postgres: &Postgres,
    most: usize,
    during: Duration,
) -> Result<(), Failed> {
    let sizes: Vec<usize> = SIZES.into_iter().filter(|size| *size <= most).collect();
    let sms = service(Sms::builder(Arc::new(MemoryStore::new())));
    let people = people(&sms, 1).await?;
    let (mut there, mut figures) = (0, Vec::new());
    let in_memory = sizes.iter().filter(|size| **size <= MOST_IN_MEMORY);
    for size in in_memory {
        while there < *size {
            there += send(&sms, people[0].0, Some(())).await?.len();
        }
        let measured = measure(&sms, &people, during).await?;
        there += LEAVING;
        figures.push(measured);
    }
    drop(sms);
    show("memory store", &sizes, &figures);
    postgres.create_database("growth").await;
    let url = postgres.url("growth");
    let stock = stock(&url, 1).await?;
    let (mut there, mut figures) = (0, Vec::new());
    for size in &sizes {
        fill(&url, &stock, there, *size).await?;
        there = *size;
        figures.push(measure(&stock.sms, &stock.accounts, during).await?);
    }
    show("PostgreSQL", &sizes, &figures);
    Ok(())
}

fn service(builder: sms_core::SmsBuilder) -> Sms {
    builder.route(Arc::new(Taker::new())).build()
}

fn show(on: &str, sizes: &[usize], figures: &[Figures]) {
    let Some(first) = figures.first() else { return };
    for (index, what) in WHAT.iter().enumerate() {
        let limit = Limit { name: "at 10,000", figure: first[index] };
        for (size, figures) in sizes.iter().zip(figures).skip(1) {
            let row = Row::new(format!("{what}, {on}, at {size}"), figures[index]);
            print(&row.beside(&limit));
        }
    }
}

/// Sends to a thousand numbers, for later where that is said; the messages.
async fn send(
    sms: &Sms,
    account: AccountId,
    scheduled: Option<()>,
) -> Result<Vec<MessageId>, Failed> {
    let mut request = SendRequest::new("A text of the measurement");
    request.to = drama_numbers();
    request.schedule_at = scheduled.map(|()| later(sms));
    let sent = sms.account(account, Mode::Live).send(request).await?;
    Ok(sent.messages.iter().map(|message| message.id).collect())
}

async fn measure(
    sms: &Sms,
    people: &[(AccountId, String)],
    during: Duration,
) -> Result<Figures, Failed> {
    let account = people[0].0;
    let sent = library(sms, people, during).await?;
    let mut leaving = Vec::new();
    while leaving.len() < LEAVING {
        leaving.extend(send(sms, account, None).await?);
    }
    let started = Instant::now();
    while sms.dispatch_due(500).await?.claimed > 0 {}
    let claimed = leaving.len() as f64 / started.elapsed().as_secs_f64();
    let messages = leaving.len();
    let started = Instant::now();
    let mut reporting: JoinSet<Result<(), Failed>> = JoinSet::new();
    for part in leaving.chunks(messages.div_ceil(AT_ONCE)) {
        let (sink, part) = (sms.sink(), part.to_vec());
        reporting.spawn(async move {
            for message in part {
                sink.receipt(Receipt::new(message, ReceiptStatus::Delivered)).await?;
            }
            Ok(())
        });
    }
    while let Some(done) = reporting.join_next().await {
        done??;
    }
    let reported = messages as f64 / started.elapsed().as_secs_f64();
    let handle = sms.account(account, Mode::Live);
    let page = median(&handle, &MessageFilter::default(), PageRequest::default()).await?;
    Ok([sent, claimed, reported, page])
}
