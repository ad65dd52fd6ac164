//! The server while its database is away, and when it is back: a real one, behind a line that the
//! test cuts and mends.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::process::{Process, TOKEN, ask};
use crate::server_postgres::{account, cluster, data, until_status};
use crate::socket::{Answer, Client, bounded};

/// A line to the database that can be cut.
struct Line {
    addr: SocketAddr,
    whole: Arc<watch::Sender<bool>>,
}

impl Line {
    /// A whole line to an address.
    async fn to(target: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let whole = Arc::new(watch::Sender::new(true));
        let state = Arc::clone(&whole);
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let state = state.subscribe();
                if *state.borrow() {
                    tokio::spawn(forward(near, target.clone(), state));
                }
            }
        });
        Self { addr, whole }
    }

    fn cut(&self) {
        self.whole.send_replace(false);
    }

    fn mend(&self) {
        self.whole.send_replace(true);
    }
}

/// Carries one connection until it ends or the line is cut.
async fn forward(mut near: TcpStream, target: String, mut state: watch::Receiver<bool>) {
    let Ok(mut far) = TcpStream::connect(target).await else { return };
    tokio::select! {
        _ = tokio::io::copy_bidirectional(&mut near, &mut far) => {}
        _ = state.wait_for(|whole| !whole) => {}
    }
}

/// A send under an idempotency key.
pub(crate) async fn send(server: &Process, key: &str, n: usize) -> Answer {
    let mut client = Client::of(server.addr()).await;
    let body = json!({ "to": "07700 900123", "body": format!("Text {n}") }).to_string();
    let length = body.len();
    client
        .send(format!(
            "POST /api/v1/messages HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n\
             Idempotency-Key: send-{n}\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        ))
        .await;
    client.answer().await
}

pub(crate) async fn readiness(server: &Process) -> u16 {
    ask(server.addr(), "GET", "/readyz", None, "").await.status
}

/// Asks until the server says so of its readiness.
pub(crate) async fn until_readiness(server: &Process, status: u16) {
    let waiting = async {
        while readiness(server).await != status {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    bounded(waiting).await;
}

pub(crate) fn says_try_again(answer: &Answer) {
    assert_eq!(answer.status, 503, "{}", answer.body);
    assert_eq!(answer.code(), "unavailable");
    let seconds: u32 = answer.header("retry-after").expect("says when").parse().unwrap();
    assert!((1..=60).contains(&seconds), "{seconds}");
    for secret in ["SQLSTATE", "postgres", "127.0.0.1", "os error"] {
        assert!(!answer.body.contains(secret), "{}", answer.body);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_the_database_is_down_callers_are_told_to_retry_and_nothing_is_lost_or_repeated() {
    let database = cluster().create(None).await;
    let url = cluster().url(&database);
    let target = url.split('@').nth(1).and_then(|rest| rest.split('/').next()).unwrap();
    let line = Line::to(target.to_owned()).await;
    let server = Process::start(&[
        ("DATABASE_URL", &url.replace(target, &line.addr.to_string())),
        ("SMS_ADMIN_TOKEN", TOKEN),
        ("SMS_DEMO", "false"),
        ("SMS_RATE_BURST", "1000"),
    ]);
    let key = account(&server, 100).await;
    assert_eq!(readiness(&server).await, 200);

    // The line is cut while sends are under way: each was accepted or is to be tried again.
    let storm = futures_util::future::join_all((0..40).map(|n| send(&server, &key, n)));
    let cut = async {
        let mut accepted = send(&server, &key, 40).await;
        line.cut();
        accepted.body.clear();
        accepted.status
    };
    let (answers, _) = bounded(async { tokio::join!(storm, cut) }).await;
    for answer in &answers {
        match answer.status {
            201 => {}
            _ => says_try_again(answer),
        }
    }
    let balance = "/api/v1/balance";
    let messages = "/api/v1/messages?limit=100";
    until_readiness(&server, 503).await;
    says_try_again(&bounded(send(&server, &key, 50)).await);
    for path in [balance, messages, "/readyz"] {
        says_try_again(&bounded(ask(server.addr(), "GET", path, Some(&key), "")).await);
    }
    let accounts = server.call("GET", "/admin/v1/accounts", TOKEN, &Value::Null);
    says_try_again(&bounded(accounts).await);
    assert_eq!(ask(server.addr(), "GET", "/healthz", None, "").await.status, 200);

    line.mend();
    until_readiness(&server, 200).await;
    let mut ids = BTreeSet::new();
    for n in (0..=40).chain([50]) {
        let again = bounded(send(&server, &key, n)).await;
        assert!(matches!(again.status, 200 | 201), "{}", again.body);
        let id = data(&again)["messages"][0]["id"].as_str().unwrap().to_owned();
        until_status(&server, &key, &id, "delivered").await;
        ids.insert(id);
    }
    assert_eq!(ids.len(), 42, "each send is a text of its own");
    let listed = data(&server.call("GET", messages, &key, &Value::Null).await);
    assert_eq!(listed.as_array().map(Vec::len), Some(42), "none is doubled");
    let credits = data(&server.call("GET", balance, &key, &Value::Null).await);
    assert_eq!(credits["credits"], 100 - 42);
    drop(server);
    cluster().drop(&database).await;
}
