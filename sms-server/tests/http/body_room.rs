//! Room for request bodies: one account cannot take what others need, and bodies keep moving.

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use serde_json::json;
use sms_http::web::intake::IntakeLimits;
use sms_http::web::serve::ServeLimits;

use crate::rig::Rig;
use crate::socket::{Answer, Client, Server};

const MEGABYTE: usize = 1_048_576;
/// The largest body of an import.
const IMPORT: usize = 8 * MEGABYTE;
/// Long enough that no body of a test is too slow.
const LONG: Duration = Duration::from_mins(10);

fn head(path: &str, key: &str, length: usize) -> String {
    format!(
        "POST /api/v1{path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    )
}

/// A request with this body, with spaces up to a length.
fn padded(path: &str, key: &str, body: &serde_json::Value, length: usize) -> Vec<u8> {
    let mut body = body.to_string();
    body.push_str(&" ".repeat(length.saturating_sub(body.len())));
    [head(path, key, body.len()), body].concat().into_bytes()
}

async fn half_sent_import(server: &Server, key: &str) -> Client {
    let mut client = server.connect().await;
    client.send(head("/contacts/import", key, IMPORT)).await;
    client.send(vec![b' '; IMPORT - 1]).await;
    client
}

fn is_refused_with_advice(answer: &Answer) {
    assert_eq!((answer.status, answer.code().as_str()), (429, "rate_limited"), "{}", answer.body);
    assert_eq!(answer.header("retry-after"), Some("5"));
    assert!(answer.body.contains("still in progress"), "{}", answer.body);
}

/// Limits with the usual room, and time without end.
fn patient() -> IntakeLimits {
    IntakeLimits { body_timeout: LONG, body_stall: LONG, ..IntakeLimits::default() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn half_sent_imports_of_one_account_leave_room_for_the_others() {
    let rig = Rig::with_limits(patient()).await;
    let attacker = rig.account(0).await;
    let others = [rig.account(10).await, rig.account(10).await];
    let [one, other] = others.each_ref().map(|account| account.live.token.clone().unwrap());
    let server = Server::start(rig.app.clone(), ServeLimits::default());
    // Through both of its keys, which share one room.
    let keys = [&attacker.test, &attacker.live].map(|client| client.token.clone().unwrap());
    let mut half_sent = Vec::new();
    for number in 0..33 {
        half_sent.push(half_sent_import(&server, &keys[number % 2]).await);
    }
    let mut refused: FuturesUnordered<_> = half_sent.iter_mut().map(Client::answer).collect();
    is_refused_with_advice(&refused.next().await.unwrap());
    let send = json!({ "to": "07700 900123", "body": "Your table is ready" });
    let sent = server.ask(padded("/messages", &one, &send, 0)).await;
    assert_eq!(sent.status, 201, "{}", sent.body);
    let rows = json!({ "rows": [{ "phone": "07700 900123" }] });
    let imported = server.ask(padded("/contacts/import", &other, &rows, IMPORT)).await;
    assert_eq!(imported.status, 200, "{}", imported.body);
    // A quarter of what is free, for one account alone, is a fifth: four imports of 192 MB.
    for _ in 1..33 - 4 {
        is_refused_with_advice(&refused.next().await.unwrap());
    }
    // A large body of its own is refused, and a small one is not.
    let again = server.ask(padded("/contacts/import", &keys[0], &rows, IMPORT)).await;
    is_refused_with_advice(&again);
    let small = server.ask(padded("/contacts/import", &keys[0], &rows, 0)).await;
    assert_eq!(small.status, 200, "{}", small.body);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_bodies_of_many_accounts_leave_room_for_small_ones() {
    let limits = IntakeLimits { large_bodies_in_all: MEGABYTE, ..patient() };
    let rig = Rig::with_limits(limits).await;
    let server = Server::start(rig.app.clone(), ServeLimits::default());
    let token = async || rig.account(10).await.live.token.clone().unwrap();
    let mut refused = 0;
    let mut holding = Vec::new();
    while refused < 10 {
        let mut client = server.connect().await;
        let length = 150_000;
        client.send(head("/messages", &token().await, length)).await;
        client.send(vec![b' '; length - 1]).await;
        // The last byte makes it a whole body, which is refused as no JSON.
        let mut probe = server.connect().await;
        probe.send(padded("/messages", &token().await, &json!(null), length)).await;
        if probe.answer().await.status == 503 {
            refused += 1;
        }
        holding.push(client);
    }
    let send = json!({ "to": "07700 900123", "body": "Your table is ready" });
    let sent = server.ask(padded("/messages", &token().await, &send, 65_536)).await;
    assert_eq!(sent.status, 201, "{}", sent.body);
    let too_large = server.ask(padded("/messages", &token().await, &send, 200_000)).await;
    assert_eq!((too_large.status, too_large.code().as_str()), (503, "unavailable"));
    assert_eq!(too_large.header("retry-after"), Some("5"));
}

#[tokio::test]
async fn a_large_body_that_stops_moving_is_408_and_gives_its_room_back() {
    let limits = IntakeLimits {
        body_stall: Duration::from_millis(200),
        large_bodies_in_all: 5 * MEGABYTE,
        ..patient()
    };
    let rig = Rig::with_limits(limits).await;
    let key = rig.account(10).await.live.token.clone().unwrap();
    let server = Server::start(rig.app.clone(), ServeLimits::default());
    for _ in 0..3 {
        let mut client = server.connect().await;
        client.send(head("/messages", &key, MEGABYTE)).await;
        client.send(vec![b' '; MEGABYTE - 1]).await;
        let answer = client.answer().await;
        assert_eq!((answer.status, answer.code().as_str()), (408, "request_timeout"));
    }
}

#[tokio::test]
async fn a_large_body_that_drips_is_408() {
    let limits = IntakeLimits { body_stall: Duration::from_millis(200), ..patient() };
    let rig = Rig::with_limits(limits).await;
    let key = rig.account(10).await.live.token.clone().unwrap();
    let server = Server::start(rig.app.clone(), ServeLimits::default());
    let mut client = server.connect().await;
    client.send(head("/messages", &key, MEGABYTE)).await;
    client.send(vec![b' '; 100_000]).await;
    let Client { socket, .. } = &mut client;
    let (_, mut writer) = socket.split();
    let drip = async {
        use tokio::io::AsyncWriteExt;
        while writer.write_all(b" ").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    // It ends once the server has closed the connection.
    crate::socket::bounded(drip).await;
    let came = client.closed().await;
    assert!(came.starts_with("HTTP/1.1 408 ") || came.is_empty(), "{came}");
}
