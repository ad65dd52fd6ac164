//! Connections over real sockets: slow and silent clients, sizes, crowds, stopping in order.

use std::time::Duration;

use sms_http::web::serve::{ServeLimits, Stopped, listen};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::Instant;

use crate::sample::Sample;
use crate::socket::{Server, bounded};

const GET: &str = "GET /api/v1/messages/msg_1 HTTP/1.1\r\nHost: x\r\n\r\n";

/// Heads may take 200 ms, everything else so long that a test would notice.
fn short_head() -> ServeLimits {
    ServeLimits { head_timeout: Duration::from_millis(200), ..ServeLimits::default() }
}

#[tokio::test]
async fn a_connection_that_says_nothing_is_closed() {
    let server = Server::start(Sample::new().app, short_head());
    let start = Instant::now();
    let came = server.connect().await.closed().await;
    assert_eq!(came, "");
    assert!(start.elapsed() >= Duration::from_millis(200));
}

#[tokio::test]
async fn half_a_head_is_cut_off() {
    let server = Server::start(Sample::new().app, short_head());
    for start in ["G", "PRI * HTTP", "GET / HTTP/1.1\r\nHos"] {
        let mut client = server.connect().await;
        client.send(start).await;
        client.closed().await;
    }
}

#[tokio::test]
async fn a_head_that_trickles_is_cut_off() {
    let server = Server::start(Sample::new().app, short_head());
    let mut client = server.connect().await;
    client.send("GET / HTTP/1.1\r\n").await;
    let trickle = async {
        let mut line = 0;
        // Each line comes well within the limit; all of them together do not.
        while client.socket.write_all(format!("X-{line}: y\r\n").as_bytes()).await.is_ok() {
            line += 1;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    bounded(trickle).await;
}

#[tokio::test]
async fn the_second_head_on_a_connection_is_bounded_too() {
    let server = Server::start(Sample::new().app, short_head());
    let mut client = server.connect().await;
    client.send(GET).await;
    assert_eq!(client.answer().await.status, 200);
    client.send("GET / HT").await;
    client.closed().await;
}

#[tokio::test]
async fn an_idle_connection_is_kept_longer_than_a_slow_head_and_then_closed() {
    let limits = ServeLimits {
        head_timeout: Duration::from_millis(50),
        idle_timeout: Duration::from_secs(1),
        ..ServeLimits::default()
    };
    let server = Server::start(Sample::new().app, limits);
    let mut client = server.connect().await;
    client.send(GET).await;
    assert_eq!(client.answer().await.status, 200);
    let start = Instant::now();
    client.closed().await;
    let kept = start.elapsed();
    assert!(kept >= Duration::from_millis(250), "{kept:?}");
}

#[tokio::test]
async fn a_connection_serves_many_requests_also_pipelined() {
    let server = Server::start(Sample::new().app, short_head());
    let mut client = server.connect().await;
    client.send(GET.repeat(3)).await;
    for _ in 0..3 {
        assert_eq!(client.answer().await.status, 200);
    }
}

#[tokio::test]
async fn a_handler_may_take_longer_than_a_head() {
    let sample = Sample::new();
    let server = Server::start(sample.app.clone(), short_head());
    let mut client = server.connect().await;
    client.send("POST /api/v1/messages/wait HTTP/1.1\r\nHost: x\r\n\r\n").await;
    bounded(sample.gate.entered.notified()).await;
    // The time of the head runs out on a silent connection made after the handler began.
    server.connect().await.closed().await;
    sample.gate.open.notify_one();
    assert_eq!(client.answer().await.status, 204);
}

#[tokio::test]
async fn a_client_that_does_not_read_is_cut_off() {
    let limits =
        ServeLimits { unread_timeout: Duration::from_millis(200), ..ServeLimits::default() };
    let large = poem::endpoint::make_sync(|_| vec![b'x'; 64 * 1_048_576]);
    let server = Server::start(large, limits);
    let mut client = server.connect().await;
    client.send(GET).await;
    // Nothing is read, so only writing can tell that the server has closed the connection.
    bounded(async {
        while client.socket.write_all(b"x").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn the_number_of_connections_is_bounded() {
    let limits = ServeLimits { connections: 1, ..ServeLimits::default() };
    let server = Server::start(Sample::new().app, limits);
    let mut first = server.connect().await;
    first.send(GET).await;
    assert_eq!(first.answer().await.status, 200);
    let mut second = server.connect().await;
    second.send(GET).await;
    {
        let mut waiting = std::pin::pin!(second.answer());
        let early = tokio::time::timeout(Duration::from_millis(100), waiting.as_mut()).await;
        assert!(early.is_err(), "a second connection was served beside the first");
        drop(first);
        assert_eq!(waiting.await.status, 200);
    }
}

#[tokio::test]
async fn who_begins_with_http2_is_closed_at_once() {
    let hour = Duration::from_hours(1);
    let limits = ServeLimits { head_timeout: hour, idle_timeout: hour, ..ServeLimits::default() };
    let server = Server::start(Sample::new().app, limits);
    // The preface, and settings that grant no window.
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    let settings = [0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0];
    let mut client = server.connect().await;
    client.send([preface.as_slice(), &settings].concat()).await;
    let came = client.closed().await;
    assert!(came.is_empty() || came.starts_with("HTTP/1.1 400 "), "{came}");
    // The same in two parts, of which the first is a head by itself.
    let mut client = server.connect().await;
    client.send(&preface[..18]).await;
    let came = client.closed().await;
    assert!(came.starts_with("HTTP/1.1 400 "), "{came}");
}

#[tokio::test]
async fn many_connections_at_the_same_moment_are_all_accepted() {
    // Nothing accepts them, so all of them wait in the backlog.
    let listener = listen("127.0.0.1:0".parse().unwrap()).unwrap();
    let addr = listener.local_addr().unwrap();
    let mut crowd = Vec::new();
    for _ in 0..1_000 {
        crowd.push(bounded(TcpStream::connect(addr)).await.unwrap());
    }
    drop(listener);
}

#[tokio::test]
async fn stopping_lets_requests_in_progress_finish() {
    let sample = Sample::new();
    let mut server = Server::start(sample.app.clone(), ServeLimits::default());
    let mut idle = server.connect().await;
    idle.send(GET).await;
    assert_eq!(idle.answer().await.status, 200);
    let mut busy = server.connect().await;
    busy.send("POST /api/v1/messages/wait HTTP/1.1\r\nHost: x\r\n\r\n").await;
    bounded(sample.gate.entered.notified()).await;
    server.ask_to_stop();
    assert_eq!(idle.closed().await, "");
    bounded(async {
        while TcpStream::connect(server.addr).await.is_ok() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    sample.gate.open.notify_one();
    let answer = busy.answer().await;
    assert_eq!(answer.status, 204);
    assert_eq!(server.stopped().await, Stopped::InOrder);
}

#[tokio::test]
async fn stopping_does_not_wait_forever() {
    let sample = Sample::new();
    let limits =
        ServeLimits { shutdown_timeout: Duration::from_millis(100), ..ServeLimits::default() };
    let mut server = Server::start(sample.app.clone(), limits);
    let mut busy = server.connect().await;
    busy.send("POST /api/v1/messages/wait HTTP/1.1\r\nHost: x\r\n\r\n").await;
    bounded(sample.gate.entered.notified()).await;
    server.ask_to_stop();
    assert_eq!(server.stopped().await, Stopped::CutOff(1));
    assert_eq!(busy.closed().await, "");
    sample.gate.open.notify_one();
    bounded(sample.app.running_handlers().ended()).await;
}
