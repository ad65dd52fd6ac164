//! Heads at their limits and one past them, over real sockets: what is too large is refused with
//! the envelope, and only what is no HTTP with a bare 400.

use sms_http::web::serve::ServeLimits;

use crate::sample::Sample;
use crate::socket::{Answer, Server};

/// The most bytes of a head.
const HEAD: usize = 64 * 1_024;
/// The most bytes of path and query.
const PATH: usize = 16 * 1_024;
/// The most header lines.
const LINES: usize = 200;

const MESSAGE: &str = "/api/v1/messages/msg_1";

fn server() -> Server {
    Server::start(Sample::new().app, ServeLimits::default())
}

/// A head of exactly this many bytes.
fn head_of(bytes: usize) -> String {
    let start = format!("GET {MESSAGE} HTTP/1.1\r\nHost: x\r\nX-Long: ");
    let filling = "y".repeat(bytes - start.len() - 4);
    format!("{start}{filling}\r\n\r\n")
}

/// A head of so many header lines.
fn head_of_lines(lines: usize) -> String {
    let more = "X: y\r\n".repeat(lines - 1);
    format!("GET {MESSAGE} HTTP/1.1\r\nHost: x\r\n{more}\r\n")
}

/// A head whose path and query have exactly this many bytes.
fn head_of_path(bytes: usize) -> String {
    let start = format!("{MESSAGE}?x=");
    let filling = "y".repeat(bytes - start.len());
    format!("GET {start}{filling} HTTP/1.1\r\nHost: x\r\n\r\n")
}

fn is_refused(answer: &Answer, status: u16, code: &str) {
    assert_eq!((answer.status, answer.code()), (status, code.to_owned()), "{}", answer.head);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert!(answer.header("x-request-id").is_some_and(|id| id.starts_with("req_")));
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert!(answer.header("date").is_some());
}

#[tokio::test]
async fn a_head_may_have_64_kib_200_lines_and_a_path_of_16_kib() {
    let server = server();
    for head in [head_of(HEAD), head_of_lines(LINES), head_of_path(PATH)] {
        assert_eq!(server.ask(head).await.status, 200);
    }
    for (head, status, code) in [
        (head_of(HEAD + 1), 431, "headers_too_large"),
        (head_of_lines(LINES + 1), 431, "headers_too_large"),
        (head_of_path(PATH + 1), 414, "uri_too_long"),
        // So long that nothing else of the head was read.
        (head_of_path(2 * HEAD), 414, "uri_too_long"),
        (head_of(HEAD + 1).replace("HTTP/1.1", "HTTP/1.0"), 431, "headers_too_large"),
    ] {
        is_refused(&server.ask(head).await, status, code);
    }
}

#[tokio::test]
async fn a_refused_head_ends_the_connection_after_its_answer() {
    let server = server();
    for head in [head_of(HEAD + 1), head_of_lines(LINES + 1)] {
        let mut client = server.connect().await;
        client.send(head).await;
        let answer = client.answer().await;
        assert_eq!((answer.status, answer.header("connection")), (431, Some("close")));
        assert_eq!(client.closed().await, "");
    }
}

#[tokio::test]
async fn a_client_that_reads_after_sending_a_large_head_gets_the_answer() {
    let server = server();
    // More than the buffers between the two hold.
    is_refused(&server.ask(head_of(12 * 1_048_576)).await, 431, "headers_too_large");
}

#[tokio::test]
async fn later_heads_on_a_connection_have_the_same_limits() {
    let server = server();
    for (head, status, code) in [
        (head_of(HEAD + 1), 431, "headers_too_large"),
        (head_of_lines(LINES + 1), 431, "headers_too_large"),
        (head_of_path(PATH + 1), 414, "uri_too_long"),
    ] {
        let mut client = server.connect().await;
        for good in [head_of_lines(2), head_of(HEAD), head_of_lines(LINES)] {
            client.send(good).await;
            assert_eq!(client.answer().await.status, 200);
        }
        // The bad head comes at once with a good one, so that both are read together.
        client.send(head_of_lines(2) + &head).await;
        assert_eq!(client.answer().await.status, 200);
        is_refused(&client.answer().await, status, code);
    }
}

#[tokio::test]
async fn the_callers_request_id_is_kept_where_the_head_was_read() {
    let head = head_of_path(PATH + 1).replace("Host: x", "Host: x\r\nX-Request-Id: my-id");
    assert_eq!(server().ask(head).await.header("x-request-id"), Some("my-id"));
}

#[tokio::test]
async fn only_what_is_no_http_is_answered_by_a_bare_400() {
    let server = server();
    for bytes in [
        "\u{16}\u{3}\u{1}\u{0}hello\r\n\r\n",
        "hello\r\n\r\n",
        "GET / HTTP/9.9\r\nHost: x\r\n\r\n",
        "GET / HTTP/1.1\r\nno header\r\n\r\n",
    ] {
        let mut client = server.connect().await;
        client.send(bytes).await;
        let answer = client.answer().await;
        assert_eq!((answer.status, answer.body.as_str()), (400, ""), "{bytes:?}");
        assert_eq!(client.closed().await, "");
    }
}
