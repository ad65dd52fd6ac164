//! Positions of events rise whatever becomes of the server that numbers its transactions: it
//! crashes, a standby takes over, or its numbers pass 32 bits.

use std::sync::Arc;
use std::time::Duration;

use sms_core::event::kinds::Kinds;
use sms_core::event::log::{EventRequest, LoggedEvent, ReadFrom};
use sms_core::event::position::Position;
use sms_core::page::Limit;
use sms_core::phone::E164;
use sms_core::prelude::*;
use sms_core::service::AccountHandle;
use sms_core::store::Health as _;
use sms_store_postgres::{PgSettings, PgStore};
use sms_test_postgres::{Durability, Server, Stop};
use sqlx::{Connection as _, Executor as _, PgConnection};
use tokio::time::sleep;

use crate::bounded;

/// A service with one account.
struct Business {
    store: PgStore,
    sms: Sms,
    account: AccountHandle,
    number: E164,
}

impl Business {
    async fn new(url: &str) -> Self {
        let store = PgStore::connect(url, PgSettings { connections: 4 }).await;
        let store = store.expect("it takes writes");
        store.migrate().await.expect("it takes writes");
        let sms = Sms::builder(Arc::new(store.clone())).build();
        let operator = sms.operator();
        let account = operator.account_create(NewAccountInput::active("Bistro", 0)).await;
        let account = account.expect("made").id;
        let number = NumberInput::dedicated("07700 900001", account);
        let number = operator.number_create(number).await.expect("made").phone;
        Self { store, account: sms.account(account, Mode::Live), sms, number }
    }

    /// Raises an event.
    async fn raise(&self, words: &str) {
        let person: E164 = "+447700900999".parse().expect("a number");
        let taken = self.sms.operator().inbound(person, self.number, words).await;
        taken.expect("taken in").expect("it has an account");
    }

    async fn events_after(&self, after: Position) -> Vec<LoggedEvent> {
        let (kinds, from, limit) = (Kinds::all(), ReadFrom::After(after), Limit::default());
        let page = self.account.event_list(EventRequest { kinds, from, limit }).await;
        page.expect("read").items
    }

    async fn until_it_answers(&self) {
        let answers = async {
            while self.store.health_check().await.is_err() {
                sleep(Duration::from_millis(50)).await;
            }
        };
        bounded(answers).await;
    }
}

/// A connection in a transaction that has a number.
async fn open(url: &str) -> (PgConnection, u64) {
    let mut connection = PgConnection::connect(url).await.expect("the server answers");
    connection.execute("BEGIN").await.expect("it begins");
    let number = sqlx::query_scalar("SELECT pg_current_xact_id()::text");
    let number: String = number.fetch_one(&mut connection).await.expect("it has a number");
    (connection, number.parse().expect("it is one"))
}

/// Uses up numbers of transactions, of which nothing is left on the disk yet.
async fn use_up(url: &str, transactions: usize) {
    let mut connection = PgConnection::connect(url).await.expect("the server answers");
    for _ in 0..transactions {
        for statement in ["BEGIN", "SELECT pg_current_xact_id()", "ROLLBACK"] {
            connection.execute(statement).await.expect("it runs");
        }
    }
    connection.close().await.expect("the connection ends");
}

/// Has nothing written to disk that no commit waits for.
async fn write_late(server: &Server) {
    server.set("wal_writer_delay", "10s").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_follower_from_the_end_of_the_log_misses_no_event_after_a_crash() {
    sms_test_log::watch();
    let server = Server::start(Durability::Full);
    write_late(&server).await;
    server.create_database("sms").await;
    let url = server.url("sms");
    let business = Business::new(&url).await;
    business.raise("Before").await;
    use_up(&url, 50).await;
    let end = business.account.event_end().await.expect("read");
    assert_eq!(business.events_after(end).await, []);
    server.stop(Stop::Immediate);
    server.start_again();
    business.until_it_answers().await;
    business.raise("After").await;
    let missed = business.events_after(Position::START).await;
    let seen = business.events_after(end).await;
    assert_eq!(seen.len(), 1, "{end:?} is the end, of {missed:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_follower_from_the_end_of_the_log_misses_no_event_after_a_failover() {
    sms_test_log::watch();
    let first = Server::start(Durability::Full);
    write_late(&first).await;
    first.create_database("sms").await;
    let standby = first.standby();
    let hosts = [&first, &standby].map(|host| format!("127.0.0.1:{}", host.port())).join(",");
    let url = format!("postgres://postgres@{hosts}/sms?target_session_attrs=read-write");
    first.set("synchronous_standby_names", "*").await;
    let business = Business::new(&url).await;
    business.raise("Before").await;
    // The standby has all that anybody was told of, and nothing else.
    standby.stop(Stop::Fast);
    use_up(&first.url("sms"), 50).await;
    let end = business.account.event_end().await.expect("read");
    first.stop(Stop::Immediate);
    standby.start_again();
    standby.promote();
    business.until_it_answers().await;
    business.raise("After").await;
    let all = business.events_after(Position::START).await;
    assert_eq!(all.len(), 2, "{all:?}");
    assert_eq!(business.events_after(end).await, all[1..], "{end:?} is the end");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn positions_rise_when_the_numbers_of_transactions_pass_32_bits() {
    sms_test_log::watch();
    let server = Server::start(Durability::None);
    server.create_database("sms").await;
    let url = server.url("sms");
    let business = Business::new(&url).await;
    business.raise("Long before").await;
    server.number_transactions_from(&["sms"], u32::MAX - 60).await;
    business.until_it_answers().await;
    business.raise("Before").await;
    let (older, number) = open(&url).await;
    assert!(number < 1 << 32, "{number}");
    use_up(&url, 80).await;
    business.raise("After").await;
    let (newer, number) = open(&url).await;
    assert!(number > 1 << 32, "{number}");
    business.raise("Long after").await;
    let shown = async || business.events_after(Position::START).await;
    assert_eq!(shown().await.len(), 2, "the third may not be the next");
    let end = business.account.event_end().await.expect("read");
    older.close().await.expect("the connection ends");
    bounded(async { while shown().await.len() < 3 {} }).await;
    newer.close().await.expect("the connection ends");
    bounded(async { while shown().await.len() < 4 {} }).await;
    let all = shown().await;
    assert!(all.is_sorted_by(|one, next| one.position < next.position), "{all:?}");
    assert!(all[2].position.commit > 1 << 32 && end < all[2].position, "{all:?}");
    assert_eq!(business.events_after(end).await, all[2..]);
}
