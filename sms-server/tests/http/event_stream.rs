//! `/events/stream`: the account's events as they happen.

use std::sync::Arc;
use std::time::Duration;

use poem::http::Method;
use serde_json::{Value, json};
use sms_core::service::operator::NumberInput;
use sms_http::api::StreamLimits;
use sms_http::rate_limit::Gcra;
use sms_http::web::serve::ServeLimits;
use sms_store_memory::MemoryStore;
use sms_store_postgres::{PgSettings, PgStore, PgWake};
use tokio::time::Instant;

use crate::browser::Browser;
use crate::event_reader::Reader;
use crate::process::Process;
use crate::rig::{Account, Ask, Client, Rig, SHARED_NUMBER};
use crate::server_postgres::cluster;
use crate::socket::{Client as Connection, Server, bounded};

fn unlimited() -> Gcra {
    Gcra::new(1_000_000, 1_000_000)
}

async fn in_memory() -> Rig {
    Rig::with(Arc::new(MemoryStore::new()), unlimited()).await
}

async fn postgres() -> PgStore {
    let database = cluster().create(None).await;
    let url = cluster().url(&database);
    let store = PgStore::connect(&url, PgSettings { connections: 4 }).await.unwrap();
    store.migrate().await.unwrap();
    store
}

/// A rig on each kind of store.
async fn on_every_store() -> [Rig; 3] {
    let postgres = Rig::with(Arc::new(postgres().await), unlimited()).await;
    [in_memory().await, Rig::new().await, postgres]
}

fn stream(client: &Client, query: &str) -> Ask {
    client.ask(Method::GET, &format!("/events/stream{query}"))
}

fn after(client: &Client, last_id: &str) -> Ask {
    stream(client, "").header("Last-Event-ID", last_id)
}

/// Raises events: a message is sent and delivered.
async fn text(rig: &Rig, account: &Account) {
    account.send("07700 900123", "Hello").await;
    rig.pass(5).await;
}

/// The whole log, oldest first.
async fn log(account: &Account) -> Vec<Value> {
    let start = "0".repeat(26);
    account.live.pages(&format!("/events?after={start}"), 100).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_shows_what_happens_from_now_on_as_the_list_does() {
    for rig in on_every_store().await {
        let account = rig.account(100).await;
        text(&rig, &account).await;
        let before = log(&account).await.len();
        let mut reader = Reader::open(stream(&account.live, "")).await;
        for (name, value) in [
            ("content-type", "text/event-stream"),
            ("cache-control", "no-store"),
            ("x-accel-buffering", "no"),
        ] {
            assert_eq!(reader.headers[name], value);
        }
        text(&rig, &account).await;
        let all = log(&account).await;
        assert!(all.len() >= before + 2, "{all:?}");
        assert_eq!(reader.events(all.len() - before).await, all[before..]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_reconnects_with_the_last_id_misses_no_event_and_sees_none_twice() {
    for rig in on_every_store().await {
        let account = rig.account(1_000).await;
        // A reader that has not seen an event yet has an id all the same.
        let mut last_id = Reader::open(stream(&account.live, "")).await.last_id;
        let mut seen = Vec::new();
        for round in 1..=6 {
            text(&rig, &account).await;
            let log = log(&account).await;
            let mut reader = Reader::open(after(&account.live, &last_id)).await;
            // One event is left for the next connection.
            seen.extend(reader.events(log.len() - seen.len() - 1).await);
            assert!(seen.len() >= round, "{log:?}");
            last_id = reader.last_id;
        }
        let all = log(&account).await;
        let ask = after(&account.live, &last_id);
        seen.extend(Reader::open(ask).await.events(all.len() - seen.len()).await);
        assert_eq!(seen, all);
        // A browser connects again with the query of the first time.
        let query = format!("?after={}", "0".repeat(26));
        let ask = stream(&account.live, &query).header("Last-Event-ID", &last_id);
        assert_eq!(Reader::open(ask).await.events(1).await, all[all.len() - 1..]);
        let from_start = Reader::open(stream(&account.live, &query)).await.events(all.len()).await;
        assert_eq!(from_start, all);
    }
}

#[tokio::test]
async fn many_pages_come_without_a_wait() {
    let rig = in_memory().await;
    let account = rig.account(1_000).await;
    let to: Vec<String> = (0..150).map(|n| format!("+4477009001{n:02}")).collect();
    for to in to.chunks(50) {
        account.send(json!(to), "Hello").await;
    }
    rig.pass(5).await;
    let all = log(&account).await;
    assert!(all.len() >= 200, "{}", all.len());
    let query = format!("?after={}", "0".repeat(26));
    assert_eq!(Reader::open(stream(&account.live, &query)).await.events(all.len()).await, all);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn types_select_events() {
    for rig in on_every_store().await {
        let account = rig.account(100).await;
        let query = "?types=message.delivered,message.received";
        let mut reader = Reader::open(stream(&account.live, query)).await;
        text(&rig, &account).await;
        let from = json!({
            "from": "07700 900123", "to": SHARED_NUMBER, "body": "Thanks",
        });
        rig.operator().post("/inbound", from).await.assert(201);
        let kinds: Vec<Value> =
            reader.events(2).await.iter().map(|event| event["type"].clone()).collect();
        assert_eq!(kinds, ["message.delivered", "message.received"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_quiet_stream_has_a_comment_with_its_position_every_15_seconds() {
    let rig = in_memory().await;
    let account = rig.account(100).await;
    let query = "?types=link.clicked";
    let mut reader = Reader::open(stream(&account.live, query)).await;
    let mut last_id = reader.last_id.clone();
    for round in 0..3 {
        // Events of other types: whoever goes on after the comment need not read them again.
        text(&rig, &account).await;
        let asked = Instant::now();
        let beat = reader.frame().await.unwrap();
        assert_eq!(asked.elapsed().as_secs(), 15, "in round {round}");
        assert!(beat.has_comment && beat.event.is_none());
        assert!(reader.last_id > last_id);
        last_id.clone_from(&reader.last_id);
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_reads_nothing_for_10_seconds_is_cut_off_and_can_continue() {
    let rig = in_memory().await;
    let account = rig.account(100).await;
    let to: Vec<String> = (0..50).map(|n| format!("+4477009001{n:02}")).collect();
    account.send(json!(to), "Hello").await;
    rig.pass(5).await;
    let all = log(&account).await;
    let query = format!("?after={}", "0".repeat(26));
    let mut reader = Reader::open(stream(&account.live, &query)).await;
    let mut seen = reader.events(1).await;
    // Nothing is asked of the stream meanwhile, as by a connection that cannot be written to.
    tokio::time::advance(Duration::from_secs(11)).await;
    // No more than one page had been read for it.
    seen.extend(reader.events(49).await);
    let ending = reader.ending().await;
    assert_eq!(ending["reason"], "reader_too_slow");
    assert_eq!(ending["after"], seen[49]["position"]);
    let ask = after(&account.live, ending["after"].as_str().unwrap());
    seen.extend(Reader::open(ask).await.events(all.len() - 50).await);
    assert_eq!(seen, all);
}

#[tokio::test]
async fn a_server_that_stops_ends_its_streams_and_says_where_to_go_on() {
    let rig = in_memory().await;
    let account = rig.account(100).await;
    let mut reader = Reader::open(stream(&account.live, "")).await;
    text(&rig, &account).await;
    let seen = reader.events(2).await;
    rig.streams().end();
    let ending = reader.ending().await;
    assert_eq!(ending["reason"], "server_stopping");
    assert_eq!(ending["after"], seen[1]["position"]);
    text(&rig, &account).await;
    let refused = stream(&account.live, "").send().await;
    assert_eq!(refused.header("retry-after"), "1");
    refused.refused(503, "unavailable");
    let last_id = ending["after"].as_str().unwrap();
    let elsewhere = rig.with_streams(StreamLimits::default());
    let client = elsewhere.client(account.live.token.as_deref());
    let rest = Reader::open(after(&client, last_id)).await.events(2).await;
    assert_eq!(rest, log(&account).await[2..]);
}

#[tokio::test(start_paused = true)]
async fn a_revoked_key_and_a_suspended_account_end_their_streams_within_seconds() {
    let rig = in_memory().await;
    let (first, second) = (rig.account(0).await, rig.account(0).await);
    let mut other = Reader::open(stream(&first.test, "")).await;
    let mut revoked = Reader::open(stream(&first.live, "")).await;
    let mut suspended = Reader::open(stream(&second.live, "")).await;
    let keys = format!("/accounts/{}/keys", first.id);
    let listed = rig.operator().get(&keys).await.ok();
    let live = listed.as_array().unwrap().iter().find(|key| key["kind"] == "live").unwrap();
    let path = format!("{keys}/{}", live["id"].as_str().unwrap());
    rig.operator().delete(&path).await.assert(204);
    let status = json!({ "status": "suspended" });
    rig.operator().patch(&format!("/accounts/{}", second.id), status).await.assert(200);
    let asked = Instant::now();
    assert_eq!(revoked.ending().await["reason"], "key_revoked");
    assert_eq!(suspended.ending().await["reason"], "account_suspended");
    assert!(asked.elapsed() <= Duration::from_secs(6), "{:?}", asked.elapsed());
    stream(&first.live, "").send().await.refused(401, "unauthorized");
    stream(&second.live, "").send().await.refused(403, "account_suspended");
    assert!(other.frame().await.unwrap().has_comment);
}

#[tokio::test]
async fn streams_are_bounded_for_each_key_and_in_all() {
    let rig = in_memory().await;
    let limits = StreamLimits { per_key: 2, in_all: 4, ..StreamLimits::default() };
    let rig = rig.with_streams(limits);
    let account = rig.account(0).await;
    let open = async |client: &Client| Reader::open(stream(client, "")).await;
    let mut readers = vec![open(&account.live).await, open(&account.live).await];
    let refused = stream(&account.live, "").send().await;
    assert_eq!(refused.header("retry-after"), "10");
    refused.refused(429, "rate_limited");
    // Another key, and the console with the same one, have places of their own.
    readers.push(open(&account.test).await);
    let browser = Browser::sign_in(&rig, account.live.token.as_ref().unwrap()).await;
    readers.push(Reader::open(browser.ask(Method::GET, "/console/api/v1/events/stream")).await);
    stream(&account.test, "").send().await.refused(503, "unavailable");
    assert_eq!(rig.streams().count(), 4);
    readers.remove(0);
    readers.push(open(&account.live).await);
    drop(readers);
    assert_eq!(rig.streams().count(), 0);
    // HEAD takes a place only while it is answered.
    let head = account.live.ask(Method::HEAD, "/events/stream");
    assert_eq!(head.send().await.assert(200).header("content-type"), "text/event-stream");
    assert_eq!(rig.streams().count(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_shows_the_events_of_its_account_alone_and_those_of_both_kinds_of_keys() {
    for rig in on_every_store().await {
        let (own, other) = (rig.account(100).await, rig.account(100).await);
        let mut live = Reader::open(stream(&own.live, "")).await;
        let mut test = Reader::open(stream(&own.test, "")).await;
        text(&rig, &other).await;
        text(&rig, &own).await;
        own.test.post("/messages", json!({ "to": "07700 900124", "body": "Test" })).await.created();
        rig.pass(5).await;
        text(&rig, &other).await;
        let all = log(&own).await;
        assert!(all.iter().any(|event| event["data"]["test"] == true));
        assert!(all.iter().any(|event| event["data"]["test"] == false));
        assert_eq!(live.events(all.len()).await, all);
        assert_eq!(test.events(all.len()).await, all);
    }
}

#[tokio::test]
async fn mistakes_are_named() {
    let rig = in_memory().await;
    let live = rig.account(0).await.live;
    for bad in ["nonsense", "evt_00000000000000000000000000", "0", ""] {
        let code = if bad.is_empty() { "empty" } else { "invalid_format" };
        after(&live, bad).send().await.mistake("Last-Event-ID", code);
        stream(&live, &format!("?after={bad}")).send().await.mistake("after", code);
    }
    stream(&live, "?types=message.read").send().await.mistake("types", "unknown_value");
    stream(&live, "?limit=1").send().await.refused(422, "unknown_parameter");
    let nobody = rig.client(None);
    stream(&nobody, "").send().await.refused(401, "unauthorized");
}

/// Limits of streams that only a signal wakes.
fn woken_alone() -> StreamLimits {
    let look_every = (Duration::from_millis(1), Duration::from_hours(1));
    StreamLimits { look_every, ..StreamLimits::default() }
}

#[tokio::test(start_paused = true)]
async fn a_commit_of_this_server_wakes_its_streams_at_once() {
    let rig = in_memory().await;
    let account = rig.account(100).await;
    let mut reader = Reader::open(stream(&account.live, "")).await;
    for _ in 0..3 {
        // By now, news are looked for once a second.
        assert!(reader.frame().await.unwrap().has_comment);
        text(&rig, &account).await;
        let asked = Instant::now();
        reader.events(2).await;
        assert!(asked.elapsed() < Duration::from_millis(50), "{:?}", asked.elapsed());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_of_another_server_wakes_the_streams_of_this_one() {
    let database = cluster().create(None).await;
    let url = cluster().url(&database);
    let server = async || {
        let store = PgStore::connect(&url, PgSettings { connections: 4 }).await.unwrap();
        store.migrate().await.unwrap();
        let wake = Arc::new(PgWake::new(&store));
        let rig = Rig::beside_others(Arc::new(store), wake);
        let sms = rig.sms.clone();
        let listening = tokio::spawn(async move { sms.listen_to_others().await });
        (rig, listening)
    };
    let (here, listens_here) = server().await;
    let (there, listens_there) = server().await;
    there.sms.operator().number_create(NumberInput::shared(SHARED_NUMBER)).await.unwrap();
    let account = there.account(100).await;
    let woken = here.with_streams(woken_alone());
    let mut reader = Reader::open(stream(&woken.client(account.live.token.as_deref()), "")).await;
    text(&there, &account).await;
    let all = log(&account).await;
    assert_eq!(reader.events(all.len()).await, all);
    listens_here.abort();
    listens_there.abort();
}

#[tokio::test]
async fn a_server_that_is_asked_to_stop_does_not_wait_for_its_streams() {
    let server = Process::start(&[]);
    let mut client = Connection::of(server.addr()).await;
    let key = server.said("Live key");
    let head = format!(
        "GET /api/v1/events/stream HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n\r\n"
    );
    client.send(head).await;
    assert_eq!(client.answer().await.status, 200);
    server.signal("-TERM");
    let rest = client.closed().await;
    assert!(rest.contains("event: stream.ended\ndata: {\"reason\":\"server_stopping\""), "{rest}");
    assert!(rest.ends_with("\r\n0\r\n\r\n"), "the answer is whole: {rest}");
    let log = server.log_until("stopped");
    assert!(!log.iter().any(|line| line.contains("cut off")), "{log:#?}");
    assert_eq!(server.ended().code(), Some(0));
}

#[tokio::test]
async fn a_reader_that_leaves_frees_its_place() {
    let rig = in_memory().await;
    let account = rig.account(0).await;
    let server = Server::start(rig.app.clone(), ServeLimits::default());
    let key = account.live.token.unwrap();
    let mut reader = server.connect().await;
    let head = format!(
        "GET /api/v1/events/stream HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n\r\n"
    );
    reader.send(head).await;
    assert_eq!(reader.answer().await.status, 200);
    assert_eq!(rig.streams().count(), 1);
    drop(reader);
    bounded(async {
        while rig.streams().count() > 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
}
