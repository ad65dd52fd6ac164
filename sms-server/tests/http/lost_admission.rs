//! Long answers end with the admission of whoever asked for them: each way of losing it, with each
//! answer that takes long, on a real server.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use poem::http::Method;
use serde_json::json;
use sms_http::rate_limit::Gcra;
use sms_http::web::intake::IntakeLimits;
use sms_http::web::serve::{ServeLimits, serve};
use sms_store_memory::MemoryStore;
use tokio::net::TcpSocket;
use tokio::time::Instant;

use crate::browser::{Browser, escaped, sign_in};
use crate::console_import::packed_rows;
use crate::event_reader::Reader;
use crate::message_send::numbers;
use crate::rig::{Account, Rig};
use crate::socket::{Client, bounded};

/// What the system buffers of an answer is short against the answers.
const BUFFER: u32 = 8 * 1_024;

/// How an admission is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    SignOut,
    Expiry,
    Displaced,
    Revoked,
    Suspended,
}

/// With what the answers are asked for.
#[derive(Clone, Copy)]
enum With<'a> {
    Session(&'a Browser),
    Key(&'a str),
}

impl fmt::Debug for With<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Session(_) => "a session",
            Self::Key(_) => "a key",
        })
    }
}

fn start(rig: &Rig) -> SocketAddr {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_send_buffer_size(BUFFER).unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(16).unwrap();
    let addr = listener.local_addr().unwrap();
    tokio::spawn(serve(listener, rig.app.clone(), ServeLimits::default(), std::future::pending()));
    addr
}

/// Asks for something, and reads the head of the answer and no more.
async fn ask(addr: SocketAddr, with: With<'_>, method: &str, path: &str, body: &str) -> Client {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(BUFFER).unwrap();
    let mut client = Client::on(socket.connect(addr).await.unwrap());
    let (prefix, proof) = match with {
        With::Session(browser) => ("/console", format!("Cookie: {}", browser.cookie)),
        With::Key(key) => ("", format!("Authorization: Bearer {key}")),
    };
    let head = format!(
        "{method} {prefix}{path} HTTP/1.1\r\nHost: sms.example.com\r\nConnection: close\r\n\
         Origin: https://sms.example.com\r\n{proof}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len(),
    );
    client.send(head).await;
    let head = client.head().await;
    assert!(head.starts_with("HTTP/1.1 200 "), "{with:?} {path}: {head}");
    client
}

impl Cause {
    const ALL: [Self; 5] =
        [Self::SignOut, Self::Expiry, Self::Displaced, Self::Revoked, Self::Suspended];

    fn reason(self) -> &'static str {
        match self {
            Self::SignOut | Self::Expiry | Self::Displaced => "session_over",
            Self::Revoked => "key_revoked",
            Self::Suspended => "account_suspended",
        }
    }

    async fn happens(self, rig: &Rig, account: &Account, browser: &Browser) {
        let key = account.live.token.as_ref().unwrap();
        match self {
            Self::SignOut => {
                let out = browser.ask(Method::DELETE, "/console/session");
                out.send().await.assert(204);
            }
            Self::Expiry => {
                rig.clock.advance(Duration::from_hours(12));
            }
            Self::Displaced => {
                rig.clock.advance(Duration::from_millis(1));
                for _ in 0..100 {
                    sign_in(rig, key).await.assert(200);
                }
            }
            Self::Revoked => {
                let keys = format!("/accounts/{}/keys", account.id);
                let listed = rig.operator().get(&keys).await.ok();
                let mut listed = listed.as_array().unwrap().iter();
                let live = listed.find(|key| key["kind"] == "live").unwrap();
                let path = format!("{keys}/{}", live["id"].as_str().unwrap());
                rig.operator().delete(&path).await.assert(204);
            }
            Self::Suspended => {
                let status = json!({ "status": "suspended" });
                let path = format!("/accounts/{}", account.id);
                rig.operator().patch(&path, status).await.assert(200);
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_ends_an_admission_ends_each_of_its_long_answers() {
    let standing_every = Duration::from_millis(20);
    let limits = IntakeLimits { standing_every, ..IntakeLimits::default() };
    let rig = Rig::with_limits(limits).await;
    let addr = start(&rig);
    let bystander = rig.account(0).await;
    let key = bystander.live.token.as_ref().unwrap();
    let _stays = ask(addr, With::Key(key), "GET", "/api/v1/events/stream", "").await;
    for cause in Cause::ALL {
        let account = rig.account(1_000).await;
        account.send(json!(numbers(1_000)), "Hello").await;
        let key = account.live.token.as_ref().unwrap();
        let browser = Browser::sign_in(&rig, key).await;
        let rows = packed_rows(&browser).await;
        let rows = format!("csrf={}&packed={}", browser.csrf(), escaped(&rows));
        let mut all = vec![With::Session(&browser)];
        if matches!(cause, Cause::Revoked | Cause::Suspended) {
            all.push(With::Key(key));
        }
        let mut open = Vec::new();
        for with in all {
            let events = ask(addr, with, "GET", "/api/v1/events/stream", "").await;
            let export = ask(addr, with, "GET", "/api/v1/messages/export", "").await;
            let mut files = vec![("the export", 1_000, export)];
            if let With::Session(_) = with {
                let path = "/contacts/import/left-out";
                let file = ask(addr, with, "POST", path, &rows).await;
                files.push(("the rows left out", 20_000, file));
            }
            open.push((with, events, files));
        }
        cause.happens(&rig, &account, &browser).await;
        for (with, events, files) in open {
            let said = events.closed().await;
            let last = format!("event: stream.ended\ndata: {{\"reason\":\"{}\"", cause.reason());
            assert!(said.contains(&last), "{cause:?}, {with:?}: {said}");
            assert!(said.ends_with("\r\n0\r\n\r\n"), "{cause:?}, {with:?}: {said}");
            // By now all answers of this holder were told. What was buffered still comes.
            for (name, all, file) in files {
                let came = file.closed().await.lines().count();
                assert!((1..all * 9 / 10).contains(&came), "{cause:?}, {with:?}, {name}: {came}");
            }
        }
        assert_eq!(rig.streams().count(), 1, "{cause:?} ends no stream of another");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_ends_within_five_seconds_of_signing_out() {
    let rig = Rig::with(Arc::new(MemoryStore::new()), Gcra::new(1_000, 1_000)).await;
    let account = rig.account(0).await;
    let browser = Browser::sign_in(&rig, account.live.token.as_ref().unwrap()).await;
    let elsewhere = Browser::sign_in(&rig, account.live.token.as_ref().unwrap()).await;
    let path = "/console/api/v1/events/stream";
    let mut ended = Reader::open(browser.ask(Method::GET, path)).await;
    let mut other = Reader::open(elsewhere.ask(Method::GET, path)).await;
    browser.ask(Method::DELETE, "/console/session").send().await.assert(204);
    let asked = Instant::now();
    assert_eq!(bounded(ended.ending()).await["reason"], "session_over");
    assert!(asked.elapsed() <= Duration::from_secs(5), "{:?}", asked.elapsed());
    assert!(other.frame().await.unwrap().has_comment, "another session's goes on");
}
