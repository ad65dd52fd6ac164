//! Webhook deliveries a second, beside bare reqwest posting the same bodies to the same receiver.

use std::sync::Arc;
use std::time::{Duration, Instant};

use sms_core::Sms;
use sms_core::account::Mode;
use sms_core::event::EventType;
use sms_core::ids::AccountId;
use sms_core::page::PageRequest;
use sms_core::sending::request::SendRequest;
use sms_core::service::webhook::Attempted;
use sms_core::store::Store;
use sms_core::webhook::endpoint::EndpointInput;
use sms_store_memory::MemoryStore;
use sms_store_postgres::{PgSettings, PgStore};
use sms_test_postgres::Server as Postgres;
use sms_webhooks::client::tls_config;
use sms_webhooks::{Courier, HttpSender, Reach};
use tokio::task::JoinSet;

use crate::Failed;
use crate::server::Server;
use crate::stock::{drama_numbers, people};
use crate::table::print;
use crate::taker::Taker;
use crate::turns::{TURNS, Turns};

/// Deliveries of a turn.
const DELIVERIES: usize = 2_000;
/// Posts under way at once: as many as an endpoint that answers may earn.
const AT_ONCE: usize = 32;

pub(crate) async fn deliveries(postgres: &Postgres) -> Result<(), Failed> {
    let memory: Arc<dyn Store> = Arc::new(MemoryStore::new());
    beside_reqwest("memory store", memory).await?;
    postgres.create_database("webhooks").await;
    let store = PgStore::connect(&postgres.url("webhooks"), PgSettings::default()).await?;
    store.migrate().await?;
    beside_reqwest("PostgreSQL", Arc::new(store)).await
}

async fn beside_reqwest(on: &str, store: Arc<dyn Store>) -> Result<(), Failed> {
    let receiver = Server::bare(2).await?;
    let url = format!("http://{}/", receiver.addr);
    let sender = HttpSender::new(Reach::AnyAddress, Duration::from_secs(8))?;
    let sms = Sms::builder(store).webhooks(Arc::new(sender)).route(Arc::new(Taker::new())).build();
    let (account, _) = people(&sms, 1).await?.remove(0);
    let handle = sms.account(account, Mode::Live);
    let input = EndpointInput::new(url.clone(), [EventType::MessageSent]);
    let endpoint = handle.webhook_create(input).await?.0.id;
    let mut courier = Courier::new(sms.clone());
    // The endpoint earns its slots, and shows what a body is.
    raise(&sms, account).await?;
    deliver(&mut courier).await?;
    let page = handle.delivery_list(endpoint, PageRequest::default()).await?;
    let body = page.items.first().ok_or("no delivery")?.body.as_str().to_owned();
    let pooled = builder()?.build()?;
    let unpooled = builder()?.pool_max_idle_per_host(0).build()?;
    let (mut beside_unpooled, mut beside_pooled) = (Turns::default(), Turns::default());
    for _ in 0..TURNS {
        raise(&sms, account).await?;
        let ours = deliver(&mut courier).await?;
        beside_unpooled.add(ours, post(&unpooled, &url, &body).await?);
        beside_pooled.add(ours, post(&pooled, &url, &body).await?);
    }
    let what = format!("deliveries/s to one endpoint, {on}, each recorded");
    let peer = "posts/s of reqwest, a connection each, as ours";
    print(&beside_unpooled.row(&what, peer));
    print(&beside_pooled.row(&what, "posts/s of reqwest, connections kept"));
    Ok(())
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

/// Delivers everything; deliveries a second.
async fn deliver(courier: &mut Courier) -> Result<f64, Failed> {
    let started = Instant::now();
    let mut done = 0;
    while done < DELIVERIES {
        if courier.under_way() <= AT_ONCE / 2 {
            courier.fill().await?;
        }
        if courier.next_done().await? == Attempted::Delivered {
            done += 1;
        }
    }
    Ok(DELIVERIES as f64 / started.elapsed().as_secs_f64())
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
