//! Webhook deliveries a second on each store, beside bare reqwest posting the same bodies to the
//! same receiver, and beside the store in memory.
//!
//! The loops of a server deliver a backlog that was raised before, so nothing but claiming,
//! sending and recording is measured.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sms_core::Sms;
use sms_core::account::Mode;
use sms_core::event::EventType;
use sms_core::ids::AccountId;
use sms_core::page::PageRequest;
use sms_core::sending::request::SendRequest;
use sms_core::service::Work;
use sms_core::store::Store;
use sms_core::webhook::endpoint::EndpointInput;
use sms_store_memory::MemoryStore;
use sms_store_postgres::{PgSettings, PgStore};
use sms_store_sqlite::SqliteStore;
use sms_test_postgres::Server as Postgres;
use sms_webhooks::client::tls_config;
use sms_webhooks::{HttpSender, Reach};
use sms_workers::{WorkerOptions, Workers};
use tokio::task::JoinSet;

use crate::Failed;
use crate::folder::Folder;
use crate::server::Server;
use crate::stock::{drama_numbers, people};
use crate::table::{Row, print};
use crate::taker::Taker;
use crate::turns::{TURNS, Turns};
use crate::usage::{cpu, cpu_with_children};

/// Deliveries of a turn.
const DELIVERIES: usize = 4_000;
/// Posts under way at once: as many as an endpoint that answers may earn.
const AT_ONCE: usize = 32;
/// How often it is asked whether everything is delivered.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// The longest that a turn may take.
const LONGEST_TURN: Duration = Duration::from_mins(1);

pub(crate) async fn deliveries(postgres: &Postgres) -> Result<(), Failed> {
    let database = postgres.pid();
    let memory = measure("memory", Arc::new(MemoryStore::new()), None, None).await?;
    let folder = Folder::new("webhooks")?;
    let sqlite = SqliteStore::open(folder.path().join("sms.db"))?;
    measure("SQLite", Arc::new(sqlite), Some(memory), None).await?;
    postgres.create_database("webhooks").await;
    let store = PgStore::connect(&postgres.url("webhooks"), PgSettings::default()).await?;
    store.migrate().await?;
    measure("PostgreSQL", Arc::new(store), Some(memory), database).await?;
    Ok(())
}

/// Measures a store beside reqwest; deliveries a second. `memory` is what the store in memory did.
async fn measure(
    on: &str,
    store: Arc<dyn Store>,
    memory: Option<f64>,
    database: Option<u32>,
) -> Result<f64, Failed> {
    let receiver = Server::bare(2).await?;
    let url = format!("http://{}/", receiver.addr);
    let sender = HttpSender::new(Reach::AnyAddress, Duration::from_secs(8))?;
    let sms = Sms::builder(store).webhooks(Arc::new(sender)).route(Arc::new(Taker::new())).build();
    let (account, _) = people(&sms, 1).await?.remove(0);
    let handle = sms.account(account, Mode::Live);
    let input = EndpointInput::new(url.clone(), [EventType::MessageSent]);
    let endpoint = handle.webhook_create(input).await?.0.id;
    // What a body is, and the statements are prepared.
    raise(&sms, account).await?;
    deliver(&sms).await?;
    let page = handle.delivery_list(endpoint, PageRequest::default()).await?;
    let body = page.items.first().ok_or("no delivery")?.body.as_str().to_owned();
    let unpooled = builder()?.pool_max_idle_per_host(0).build()?;
    let mut beside = Turns::default();
    let mut used = [0.0; 2];
    for _ in 0..TURNS {
        raise(&sms, account).await?;
        let before = cpu_of(database);
        let ours = deliver(&sms).await?;
        used.iter_mut().zip(cpu_of(database)).zip(before).for_each(|((used, after), before)| {
            *used += after - before;
        });
        beside.add(ours, post(&unpooled, &url, &body).await?);
    }
    let what = format!("deliveries/s to one endpoint, {on}, each recorded");
    let row = beside.row(&what, "posts/s of reqwest, a connection each, as ours");
    let per_second = row.ours;
    print(&Row { note: note(memory.map(|memory| per_second / memory), used, database), ..row });
    Ok(per_second)
}

/// CPU seconds of this program, which is the server here, and of PostgreSQL.
fn cpu_of(database: Option<u32>) -> [f64; 2] {
    [cpu(std::process::id()), database.map_or(0.0, cpu_with_children)]
}

fn note(of_memory: Option<f64>, used: [f64; 2], database: Option<u32>) -> String {
    let micros = |seconds: f64| seconds * 1e6 / (f64::from(TURNS) * DELIVERIES as f64);
    let mut note = format!("CPU a delivery: server {:.0} µs", micros(used[0]));
    if database.is_some() {
        let _ = write!(note, ", PostgreSQL {:.0} µs", micros(used[1]));
    }
    if let Some(ratio) = of_memory {
        let _ = write!(note, "; {ratio:.2} of the memory store");
    }
    note
}

fn builder() -> Result<reqwest::ClientBuilder, Failed> {
    let builder = reqwest::Client::builder().tls_backend_preconfigured(tls_config(&[])?);
    Ok(builder.no_proxy().http1_only())
}

/// Sends messages, each of which raises an event.
async fn raise(sms: &Sms, account: AccountId) -> Result<(), Failed> {
    for _ in 0..DELIVERIES / 1_000 {
        let mut request = SendRequest::new("A text of the measurement");
        request.to = drama_numbers();
        sms.account(account, Mode::Live).send(request).await?;
    }
    while sms.dispatch_due(500).await?.claimed > 0 {}
    Ok(())
}

/// Lets the loops of a server deliver everything; deliveries a second.
async fn deliver(sms: &Sms) -> Result<f64, Failed> {
    let started = Instant::now();
    let workers = Workers::start(sms, WorkerOptions::new());
    while sms.next_work(Work::Webhooks).await?.is_some() {
        if started.elapsed() > LONGEST_TURN {
            return Err("the backlog of deliveries did not end".into());
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    let took = started.elapsed();
    workers.stop(LONGEST_TURN).await?;
    Ok(DELIVERIES as f64 / took.as_secs_f64())
}

/// Posts as many; posts a second.
async fn post(client: &reqwest::Client, url: &str, body: &str) -> Result<f64, Failed> {
    let started = Instant::now();
    let mut posting: JoinSet<Result<(), Failed>> = JoinSet::new();
    for task in 0..AT_ONCE {
        let (client, url, body) = (client.clone(), url.to_owned(), body.to_owned());
        let share = (DELIVERIES + task) / AT_ONCE;
        posting.spawn(async move {
            for _ in 0..share {
                let answer = client.post(&url).body(body.clone()).send().await?;
                answer.error_for_status()?.bytes().await?;
            }
            Ok(())
        });
    }
    while let Some(done) = posting.join_next().await {
        done??;
    }
    Ok(DELIVERIES as f64 / started.elapsed().as_secs_f64())
}
