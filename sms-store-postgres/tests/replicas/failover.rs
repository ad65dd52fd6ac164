//! A store on several hosts, of which one takes writes.

use std::sync::Arc;
use std::time::Duration;

use sms_core::Sms;
use sms_core::account::Mode;
use sms_core::clock::Clock;
use sms_core::service::operator::NewAccountInput;
use sms_core::store::{Health, StoreError};
use sms_store_postgres::{PgClock, PgRateLimit, PgSettings, PgStore, RateLot};
use sms_test_postgres::{Durability, Server, Stop};
use tokio::time::sleep;

use crate::bounded;

fn url(hosts: [&Server; 2]) -> String {
    let hosts = hosts.map(|host| format!("127.0.0.1:{}", host.port())).join(",");
    format!("postgres://postgres@{hosts}/sms?target_session_attrs=read-write")
}

async fn connect(url: &str) -> PgStore {
    PgStore::connect(url, PgSettings { connections: 2 }).await.expect("one host takes writes")
}

async fn until_writable(store: &PgStore) {
    let writable = async {
        while store.health_check().await.is_err() {
            sleep(Duration::from_millis(50)).await;
        }
    };
    bounded(writable).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_uses_the_host_that_takes_writes_and_follows_when_another_does() {
    sms_test_log::watch();
    let first = Server::start(Durability::None);
    first.create_database("sms").await;
    let standby = first.standby();
    // The standby stands first.
    let store = connect(&url([&standby, &first])).await;
    store.migrate().await.expect("it takes writes");
    let clock = PgClock::start(&store).await.expect("it answers");
    let limit = PgRateLimit::new(&store);
    let lot = RateLot { key: sms_core::ids::Id::from_u128(1), charge: 1, ahead: 1, most: 100 };
    limit.add(lot).await.expect("it takes writes");
    let alone = connect(&standby.url("sms")).await;
    let refused = alone.health_check().await.expect_err("a standby takes no writes");
    assert!(matches!(refused, StoreError::Unavailable { .. }), "{refused:?}");

    let before = clock.now();
    first.stop(Stop::Immediate);
    standby.promote();
    until_writable(&store).await;
    store.migrate().await.expect("it takes writes");
    bounded(async { while limit.add(lot).await.is_err() {} }).await;
    assert!(clock.now() >= before);
    until_writable(&alone).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn noting_the_use_of_a_key_does_not_wait_for_a_standby_that_is_gone() {
    sms_test_log::watch();
    let server = Server::start(Durability::Full);
    server.create_database("sms").await;
    let store = connect(&server.url("sms")).await;
    store.migrate().await.expect("it takes writes");
    let sms = Sms::builder(Arc::new(store)).build();
    let account = sms.operator().account_create(NewAccountInput::active("Bistro", 0)).await;
    let account = account.expect("made").id;
    let made = sms.operator().api_key_create(account, Mode::Live, None).await.expect("made");
    // From now on no other commit returns.
    server.set("synchronous_standby_names", "nobody").await;
    let caller = bounded(sms.authenticate(made.key.reveal())).await.expect("read");
    assert_eq!(caller.map(|caller| caller.account), Some(account));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hosts_of_which_none_takes_writes_are_reported() {
    sms_test_log::watch();
    let server = Server::start(Durability::None);
    server.create_database("sms").await;
    server.set("default_transaction_read_only", "on").await;
    let url = url([&server, &server]);
    let refused = PgStore::connect(&url, PgSettings::default()).await.expect_err("read-only");
    assert_eq!(refused.to_string(), "the database takes no writes now");
}
