//! File handles: silent connections cannot take those that the server needs itself.

use std::net::SocketAddr;

use serde_json::{Value, json};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::process::Process;
use crate::server::receiver;
use crate::socket::{Answer, Client, Server, bounded};

/// What `ulimit -n 1024` leaves for connections.
const CONNECTIONS: usize = 768;

fn post(path: &str, key: &str, body: &Value) -> String {
    let body = body.to_string();
    format!(
        "POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn send(key: &str) -> String {
    post("/api/v1/messages", key, &json!({ "to": "07700 900123", "body": "Ready" }))
}

async fn ask(client: &mut Client, request: String) -> Answer {
    client.send(request).await;
    client.answer().await
}

/// Opens silent connections, whether or not the server accepts them.
async fn silent(addr: SocketAddr, count: usize) -> Vec<TcpStream> {
    let mut sockets = Vec::new();
    for _ in 0..count {
        sockets.push(TcpStream::connect(addr).await.unwrap());
    }
    sockets
}

/// A connection from another address of the loopback network.
async fn from_elsewhere(addr: SocketAddr) -> Client {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.2:0".parse().unwrap()).unwrap();
    Client::on(socket.connect(addr).await.unwrap())
}

/// A server with 1,024 handles, and an endpoint that it tells of each message.
async fn server(
    settings: &[(&str, &str)],
) -> (Process, String, Server, UnboundedReceiver<(poem::http::HeaderMap, Vec<u8>)>) {
    let settings = [&[("SMS_WEBHOOK_ALLOW_PRIVATE", "true")], settings].concat();
    let process = Process::start_limited("ulimit -n 1024", &settings);
    let (receiver, received) = receiver().await;
    let key = process.said("Live key");
    let hook = json!({ "url": format!("http://{}/", receiver.addr), "events": ["message.sent"] });
    let made = process.call("POST", "/api/v1/webhooks", &key, &hook).await;
    assert_eq!(made.status, 201, "{}", made.body);
    (process, key, receiver, received)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn webhooks_are_delivered_while_silent_connections_take_every_place() {
    let (process, key, _receiver, mut received) =
        server(&[("SMS_CONNECTIONS_PER_ADDRESS", "0")]).await;
    let mut client = Client::of(process.addr()).await;
    assert_eq!(ask(&mut client, send(&key)).await.status, 201);
    bounded(received.recv()).await.unwrap();
    let crowd = silent(process.addr(), 1_100).await;
    bounded(async {
        while process.handles() < CONNECTIONS {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(ask(&mut client, send(&key)).await.status, 201);
    bounded(received.recv()).await.unwrap();
    drop(crowd);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_address_cannot_take_the_connections_of_the_others() {
    let (process, key, _receiver, mut received) = server(&[]).await;
    let crowd = silent(process.addr(), 1_100).await;
    let refused = Client::of(process.addr()).await.closed().await;
    assert!(refused.starts_with("HTTP/1.1 429 ") && refused.contains("rate_limited"), "{refused}");
    let mut client = from_elsewhere(process.addr()).await;
    assert_eq!(ask(&mut client, send(&key)).await.status, 201);
    bounded(received.recv()).await.unwrap();
    drop(crowd);
}

#[test]
fn the_soft_limit_is_raised_and_the_log_says_what_follows() {
    let process = Process::start_limited("ulimit -Sn 256 && ulimit -Hn 4096", &[]);
    process.wait_for_log(
        "up to 3072 connections, 768 of one client address; 4096 file handles, 1024 kept for the \
         database, webhooks and SMPP",
    );
}
