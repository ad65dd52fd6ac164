//! Admission: a request is admitted or refused by its head, before it may send a body.

use serde_json::json;
use sms_http::web::serve::ServeLimits;

use crate::rig::{Rig, TOKEN};
use crate::socket::{Answer, Client, Server};

const MEGABYTE: usize = 1_048_576;

/// A POST of JSON.
fn head(path: &str, headers: &str) -> String {
    format!("POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n{headers}\r\n")
}

fn with_key(key: &str) -> String {
    format!("Authorization: Bearer {key}\r\n")
}

fn a_text(key: &str) -> String {
    let body = json!({ "to": "07700 900123", "body": "Your table is ready" }).to_string();
    let headers = format!("{}Content-Length: {}\r\n", with_key(key), body.len());
    head("/api/v1/messages", &headers) + &body
}

fn said(answer: &Answer) -> (u16, String) {
    (answer.status, answer.code())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_without_a_key_are_answered_before_they_send_and_their_bodies_take_no_room() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let key = account.live.token.clone().unwrap();
    let server = Server::start(rig.app.clone(), ServeLimits::default());
    // More than all bodies together may take.
    let mut strangers: Vec<Client> = Vec::new();
    for _ in 0..300 {
        let mut stranger = server.connect().await;
        let length = format!("Content-Length: {MEGABYTE}\r\n");
        stranger.send(head("/api/v1/messages", &length)).await;
        assert_eq!(said(&stranger.answer().await), (401, "unauthorized".to_owned()));
        strangers.push(stranger);
    }
    let most_of_it = vec![b' '; MEGABYTE - 1];
    for stranger in &mut strangers {
        stranger.send(&most_of_it).await;
    }
    let sent = server.ask(a_text(&key)).await;
    assert_eq!(sent.status, 201, "{}", sent.body);
    drop(strangers);
}

#[tokio::test]
async fn without_a_key_nothing_is_said_of_the_body() {
    let rig = Rig::new().await;
    let server = Server::start(rig.app.clone(), ServeLimits::default());
    let too_large = format!("Content-Length: {}\r\n", 100 * MEGABYTE);
    for path in ["/api/v1/messages", "/api/v1/nothing", "/api/v1", "/admin/v1/accounts"] {
        for headers in [
            too_large.clone(),
            "Content-Length: 10\r\n".to_owned(),
            "Transfer-Encoding: chunked\r\n".to_owned(),
            "Content-Length: 10\r\nContent-Encoding: gzip\r\n".to_owned(),
            format!("Content-Length: 10\r\n{}", with_key("cc_live_x")),
            // The answer comes at once, instead of `100 Continue`.
            "Content-Length: 10\r\nExpect: 100-continue\r\n".to_owned(),
        ] {
            let answer = server.ask(head(path, &headers)).await;
            assert_eq!(said(&answer), (401, "unauthorized".to_owned()), "{path} {headers}");
        }
    }
    let broken = head("/api/v1/messages", "Transfer-Encoding: chunked\r\n") + "xyz\r\n";
    assert_eq!(server.ask(broken).await.status, 401);
}

#[tokio::test]
async fn a_key_over_its_rate_is_refused_before_it_sends() {
    let rig = Rig::with_rate(1, 2).await;
    let account = rig.account(10).await;
    let key = with_key(&account.live.token.clone().unwrap());
    let server = Server::start(rig.app.clone(), ServeLimits::default());
    let large = format!("{key}Expect: 100-continue\r\nContent-Length: {}\r\n", 2 * MEGABYTE);
    // A request that is refused for its body has been counted, as its headers show.
    for remaining in ["1", "0"] {
        let refused = server.ask(head("/api/v1/messages", &large)).await;
        assert_eq!(said(&refused), (413, "payload_too_large".to_owned()));
        assert_eq!(refused.header("ratelimit-remaining"), Some(remaining));
    }
    let length = format!("{key}Content-Length: {MEGABYTE}\r\n");
    let refused = server.ask(head("/api/v1/messages", &length)).await;
    assert_eq!(said(&refused), (429, "rate_limited".to_owned()));
    assert_eq!(refused.header("ratelimit-remaining"), Some("0"));
}

#[tokio::test]
async fn a_path_without_a_body_does_not_wait_for_one() {
    let rig = Rig::new().await;
    let server = Server::start(rig.app.clone(), ServeLimits::default());
    let length = format!("Content-Length: {MEGABYTE}\r\n");
    for (path, status, code) in [
        ("/nowhere", 404, "not_found"),
        ("/healthz", 405, "method_not_allowed"),
        ("/api/v1/openapi.json", 405, "method_not_allowed"),
    ] {
        let answer = server.ask(head(path, &length)).await;
        assert_eq!(said(&answer), (status, code.to_owned()), "{path}");
    }
}

#[tokio::test]
async fn a_client_that_reads_after_sending_gets_the_answer_and_may_reuse_the_connection() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let key = account.live.token.clone().unwrap();
    let server = Server::start(rig.app.clone(), ServeLimits::default());
    let mut client = server.connect().await;
    // More than the buffers between the two hold.
    let body = vec![b' '; 12 * MEGABYTE];
    let length = format!("Content-Length: {}\r\n", body.len());
    for path in ["/api/v1/messages", "/admin/v1/accounts", "/nowhere"] {
        client.send(head(path, &length)).await;
        client.send(&body).await;
        let status = if path == "/nowhere" { 404 } else { 401 };
        assert_eq!(client.answer().await.status, status, "{path}");
    }
    client.send(a_text(&key)).await;
    assert_eq!(client.answer().await.status, 201);
    let account = r#"{"name":"Bistro"}"#;
    let headers = format!("{}Content-Length: {}\r\n", with_key(TOKEN), account.len());
    client.send(head("/admin/v1/accounts", &headers) + account).await;
    assert_eq!(client.answer().await.status, 201);
}
