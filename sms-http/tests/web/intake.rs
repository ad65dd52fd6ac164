//! What happens to every request: ids, limits, time, panics, clients that go, logs, metrics.

use std::time::Duration;

use metrics_exporter_prometheus::PrometheusBuilder;
use poem::http::StatusCode;
use sms_http::web::intake::IntakeLimits;
use sms_http::web::serve::ServeLimits;

use crate::sample::{Sample, json, limits};
use crate::socket::{Server, bounded};
use crate::watched::logged;

/// Longer than the text of any request of these tests.
const MEGABYTE: usize = 1_048_576;

fn post(path: &str, headers: &str) -> String {
    format!("POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n{headers}\r\n")
}

#[tokio::test]
async fn a_valid_request_id_is_returned_and_an_invalid_one_is_not() {
    let client = Sample::new().client();
    let sane = client.get("/nowhere").header("X-Request-Id", "My.id_1-2").send().await;
    sane.assert_header("x-request-id", "My.id_1-2");
    for other in ["has space", "é", "", &"a".repeat(129)] {
        let response = client.get("/nowhere").header("X-Request-Id", other).send().await;
        let given = response.0.headers()["x-request-id"].to_str().unwrap();
        assert!(given.starts_with("req_"), "{given}");
    }
    let path = "/api/v1/messages/request_id";
    let seen = client.get(path).header("X-Request-Id", "abc").send().await;
    assert_eq!(json(seen).await["data"]["id"], "abc");
}

#[tokio::test]
async fn a_declared_body_over_the_limit_is_413() {
    let server = Server::start(Sample::new().app, ServeLimits::default());
    let mut client = server.connect().await;
    // More than the buffers between the two hold: unread, it would cost the client the answer.
    let length = 12 * MEGABYTE;
    client.send(post("/api/v1/messages", &format!("Content-Length: {length}\r\n"))).await;
    client.send(vec![b' '; length]).await;
    let answer = client.answer().await;
    assert_eq!((answer.status, answer.code().as_str()), (413, "payload_too_large"));
}

#[tokio::test]
async fn a_chunked_body_over_the_limit_is_413() {
    let server = Server::start(Sample::new().app, ServeLimits::default());
    let mut client = server.connect().await;
    client.send(post("/api/v1/messages", "Transfer-Encoding: chunked\r\n")).await;
    for _ in 0..32 {
        client.send(format!("10000\r\n{}\r\n", " ".repeat(0x10000))).await;
    }
    client.send("0\r\n\r\n").await;
    let answer = client.answer().await;
    assert_eq!((answer.status, answer.code().as_str()), (413, "payload_too_large"));
}

#[tokio::test]
async fn a_client_that_waits_for_100_continue_is_answered_at_once() {
    let server = Server::start(Sample::new().app, ServeLimits::default());
    let headers = format!("Content-Length: {}\r\nExpect: 100-continue\r\n", 2 * MEGABYTE);
    let refused = server.ask(post("/api/v1/messages", &headers)).await;
    assert_eq!(refused.status, 413);
    let mut client = server.connect().await;
    let headers = "Content-Length: 21\r\nExpect: 100-continue\r\n";
    client.send(post("/api/v1/messages", headers)).await;
    assert_eq!(client.answer().await.status, 100);
    client.send(r#"{"to":"a","body":"x"}"#).await;
    assert_eq!(client.answer().await.status, 201);
}

#[tokio::test]
async fn the_limit_is_exact_and_a_route_may_have_its_own() {
    let client = Sample::new().client();
    let at_limit = format!("{{{}}}", " ".repeat(MEGABYTE - 2));
    for (path, extra, status) in [
        ("/api/v1/messages", "", StatusCode::UNPROCESSABLE_ENTITY),
        ("/api/v1/messages", " ", StatusCode::PAYLOAD_TOO_LARGE),
        ("/api/v1/messages/m/cancel", " ", StatusCode::CREATED),
        ("/nowhere", " ", StatusCode::PAYLOAD_TOO_LARGE),
    ] {
        let body = format!("{at_limit}{extra}");
        let request = client.post(path).content_type("application/json").body(body);
        request.send().await.assert_status(status);
    }
}

#[tokio::test]
async fn a_body_takes_room_until_its_handler_has_ended() {
    // One caller may take a fifth: a quarter of what it leaves free.
    let sample = Sample::with_limits(IntakeLimits { small_bodies_in_all: 500, ..limits() });
    let client = sample.client();
    let send = |path: &'static str, length: usize| {
        let body = format!("{{{}}}", " ".repeat(length - 2));
        client.post(path).content_type("application/json").body(body).send()
    };
    send("/api/v1/messages/m/cancel", 101).await.assert_status(StatusCode::SERVICE_UNAVAILABLE);
    for _ in 0..3 {
        // The room of an answered request is there again.
        send("/api/v1/messages/m/cancel", 100).await.assert_status(StatusCode::CREATED);
    }
    let other = sample.client();
    let waiting =
        tokio::spawn(async move { other.post("/api/v1/messages/wait").body(" ").send().await });
    bounded(sample.gate.entered.notified()).await;
    send("/api/v1/messages/m/cancel", 100).await.assert_status(StatusCode::SERVICE_UNAVAILABLE);
    send("/api/v1/messages/m/cancel", 99).await.assert_status(StatusCode::CREATED);
    sample.gate.open.notify_one();
    bounded(waiting).await.unwrap().assert_status(StatusCode::NO_CONTENT);
}

#[tokio::test]
async fn answers_must_not_be_cached_or_sniffed() {
    let client = Sample::new().client();
    let answer = client.get("/api/v1/messages/msg_1").send().await;
    answer.assert_header("cache-control", "no-store");
    answer.assert_header("x-content-type-options", "nosniff");
    client.get("/docs").send().await.assert_header("cache-control", "no-cache");
}

#[tokio::test]
async fn a_body_that_does_not_arrive_is_408() {
    let limits = IntakeLimits { body_timeout: Duration::from_millis(100), ..limits() };
    let server = Server::start(Sample::with_limits(limits).app, ServeLimits::default());
    let answer = server.ask(post("/api/v1/messages", "Content-Length: 10\r\n") + "{").await;
    assert_eq!((answer.status, answer.code().as_str()), (408, "request_timeout"));
}

#[tokio::test]
async fn a_body_that_violates_http_framing_is_refused() {
    let server = Server::start(Sample::new().app, ServeLimits::default());
    let request = post("/api/v1/messages", "Transfer-Encoding: chunked\r\n") + "xyz\r\n";
    let answer = server.ask(request).await;
    assert_eq!((answer.status, answer.code().as_str()), (422, "validation_failed"));
}

#[tokio::test]
async fn a_slow_handler_is_answered_with_503_and_still_runs() {
    let limits = IntakeLimits { handler_timeout: Duration::from_millis(50), ..limits() };
    let sample = Sample::with_limits(limits);
    let response = sample.client().post("/api/v1/messages/wait").send().await;
    response.assert_status(StatusCode::SERVICE_UNAVAILABLE);
    response.assert_header("retry-after", "5");
    assert_eq!(json(response).await["error"]["code"], "unavailable");
    let running = sample.app.running_handlers();
    assert_eq!(running.count(), 1);
    sample.gate.open.notify_one();
    bounded(sample.gate.finished.notified()).await;
    bounded(running.ended()).await;
}

#[tokio::test]
async fn a_panic_is_a_500_that_tells_nothing() {
    let response = Sample::new().client().post("/api/v1/messages/panic").send().await;
    response.assert_status(StatusCode::INTERNAL_SERVER_ERROR);
    let body = json(response).await;
    assert_eq!(body["error"]["code"], "internal_error");
    assert!(!body.to_string().contains("07700"));
}

#[tokio::test]
async fn a_client_that_hangs_up_does_not_cancel_the_handler() {
    let sample = Sample::new();
    let server = Server::start(sample.app.clone(), ServeLimits::default());
    let mut client = server.connect().await;
    client.send(post("/api/v1/messages/wait", "Content-Length: 0\r\n")).await;
    bounded(sample.gate.entered.notified()).await;
    drop(client);
    // A request on another connection is answered after the server has seen the first one go.
    server.ask("GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n").await;
    sample.gate.open.notify_one();
    bounded(sample.gate.finished.notified()).await;
    bounded(sample.app.running_handlers().ended()).await;
}

fn block_on<F: Future>(future: F) -> F::Output {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().unwrap().block_on(future)
}

#[test]
fn every_request_is_one_log_line_without_its_content() {
    let text = logged(|| {
        block_on(async {
            let client = Sample::new().client();
            let request = client.get("/api/v1/messages/+447700900123?cursor=canary");
            request.header("X-Request-Id", "abc").send().await;
            let request = client.post("/api/v1/messages").header("Authorization", "canary");
            request.content_type("application/json").body(r#"{"to":"canary"}"#).send().await;
            client.get("/canary").send().await;
            client.post("/api/v1/messages/panic").send().await;
        });
    });
    let lines: Vec<&str> = text.lines().filter(|line| line.contains(" INFO ")).collect();
    assert_eq!(lines.len(), 4, "{text}");
    for (line, parts) in lines.iter().zip([
        ["GET /api/v1/messages/{id} 404 in", "id=\"abc\"", "status=404"],
        ["POST /api/v1/messages 422 in", "method=\"POST\"", "duration_ms="],
        ["GET unmatched 404 in", "route=\"unmatched\"", "status=404"],
        ["POST /api/v1/messages/panic 500 in", "id=\"req_", "status=500"],
    ]) {
        for part in parts {
            assert!(line.contains(part), "{line}");
        }
    }
    for told in ["canary", "7700"] {
        assert!(!text.contains(told), "{text}");
    }
}

#[test]
fn a_proxy_that_nobody_named_is_logged_once() {
    let text = logged(|| {
        block_on(async {
            let server = Server::start(Sample::new().app, ServeLimits::default());
            server.ask("GET /docs HTTP/1.1\r\nHost: x\r\n\r\n").await;
            for _ in 0..3 {
                let request =
                    "GET /docs HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 203.0.113.9\r\n\r\n";
                server.ask(request).await;
            }
        });
    });
    assert_eq!(text.matches("SMS_TRUSTED_PROXIES").count(), 1, "{text}");
    assert!(text.contains("peer=127.0.0.1"), "{text}");
}

#[test]
fn requests_are_counted_by_pattern() {
    let recorder = PrometheusBuilder::new().build_recorder();
    metrics::with_local_recorder(&recorder, || {
        block_on(async {
            let client = Sample::new().client();
            for id in ["msg_1", "msg_2"] {
                client.get(format!("/api/v1/messages/{id}")).send().await;
            }
            let made_up = poem::http::Method::from_bytes(b"CANARY").unwrap();
            client.request(made_up, "/canary").send().await;
        });
    });
    let text = recorder.handle().render();
    let labels = r#"method="GET",route="/api/v1/messages/{id}",status="200""#;
    assert!(text.contains(&format!("http_requests_total{{{labels}}} 2")), "{text}");
    assert!(text.contains("http_request_duration_seconds"), "{text}");
    assert!(text.contains(r#"method="OTHER",route="unmatched",status="404""#), "{text}");
    assert!(!text.contains("anary"), "{text}");
}
