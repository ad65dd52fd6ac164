//! Turns of heavy requests: who waits for one, what is looked at again once it comes, and from when
//! on a handler's time counts.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, ThreadId};
use std::time::Duration;

use async_trait::async_trait;
use poem::endpoint::make;
use poem::http::{Method, StatusCode};
use poem::test::{TestClient, TestResponse};
use poem::{Request, Response};
use sms_http::web::error::ApiError;
use sms_http::web::intake::door::{Admitted, Door, Doors, Owner};
use sms_http::web::intake::{Intake, IntakeLimits};
use sms_http::web::operation::operation;
use sms_http::web::path_pattern::PathTable;
use tokio::task::JoinHandle;

use crate::sample::{Gate, limits};
use crate::socket::bounded;

const KB: usize = 1_024;

/// Admits all requests, as those of one account.
#[derive(Debug)]
struct OneAccount;

#[async_trait]
impl Door for OneAccount {
    async fn admit(&self, _request: &mut Request) -> Result<Admitted, ApiError> {
        Ok(Admitted { owner: Owner::Numbered(1), headers: Vec::new(), standing: None })
    }
}

/// A server with one operation, which waits for the gate and gives a long answer.
struct Slow {
    app: Intake,
    gate: Arc<Gate>,
    /// How many handlers have begun.
    begun: Arc<AtomicUsize>,
}

impl Slow {
    fn new(limits: IntakeLimits) -> Self {
        let (gate, begun) = (Arc::new(Gate::default()), Arc::new(AtomicUsize::new(0)));
        let (own_gate, own_begun) = (Arc::clone(&gate), Arc::clone(&begun));
        let handler = make(move |_| {
            let (gate, begun) = (Arc::clone(&own_gate), Arc::clone(&own_begun));
            async move {
                begun.fetch_add(1, Ordering::SeqCst);
                gate.entered.notify_one();
                gate.open.notified().await;
                Response::builder().body(vec![b'x'; 300 * KB])
            }
        });
        let routes = PathTable::new().with("/api/slow", Method::POST, operation(handler));
        let app = Intake::new(routes, limits).with_doors(Doors::new().with("/api", OneAccount));
        Self { app, gate, begun }
    }

    /// A request in progress.
    fn ask(&self, body: Vec<u8>) -> JoinHandle<TestResponse> {
        let client = TestClient::new(self.app.clone());
        tokio::spawn(async move { client.post("/api/slow").body(body).send().await })
    }

    fn begun(&self) -> usize {
        self.begun.load(Ordering::SeqCst)
    }
}

/// A body whose work has a turn.
fn heavy() -> Vec<u8> {
    vec![b' '; 100 * KB]
}

#[tokio::test]
async fn a_request_whose_turn_comes_finds_the_room_that_is_left_then() {
    let slow = Slow::new(IntakeLimits { answers_in_all: 1_024 * KB, ..limits() });
    let first = slow.ask(heavy());
    bounded(slow.gate.entered.notified()).await;
    // There is room as long as the first is not answered.
    let second = slow.ask(heavy());
    tokio::task::yield_now().await;
    slow.gate.open.notify_one();
    let first = bounded(first).await.unwrap();
    first.assert_status(StatusCode::OK);
    // Were it handled, it would be answered.
    slow.gate.open.notify_one();
    bounded(second).await.unwrap().assert_status(StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(slow.begun(), 1, "nothing was done for the second");
    drop(first);
    bounded(slow.ask(heavy())).await.unwrap().assert_status(StatusCode::OK);
}

#[tokio::test]
async fn the_time_of_a_handler_counts_from_its_turn() {
    let limits = IntakeLimits { handler_timeout: Duration::from_millis(100), ..limits() };
    let slow = Slow::new(limits);
    let first = slow.ask(heavy());
    bounded(slow.gate.entered.notified()).await;
    let second = slow.ask(heavy());
    bounded(first).await.unwrap().assert_status(StatusCode::SERVICE_UNAVAILABLE);
    // Two that need no turn exceed their time after the second came.
    for _ in 0..2 {
        let light = slow.ask(Vec::new());
        bounded(light).await.unwrap().assert_status(StatusCode::SERVICE_UNAVAILABLE);
    }
    assert!(!second.is_finished(), "it waits for its turn");
    // The three that run still, and the second.
    for _ in 0..4 {
        slow.gate.open.notify_one();
    }
    bounded(second).await.unwrap().assert_status(StatusCode::OK);
}

/// Where a request with this body is handled.
async fn handled_on(body: &'static str) -> ThreadId {
    let (tell, told) = std::sync::mpsc::channel();
    let handler = make(move |_| {
        let tell = tell.clone();
        async move {
            tell.send(thread::current().id()).unwrap();
        }
    });
    let routes = PathTable::new().with("/", Method::POST, operation(handler));
    let client = TestClient::new(Intake::new(routes, limits()));
    client.post("/").body(body).send().await.assert_status_is_ok();
    told.recv().unwrap()
}

/// On one thread: whoever works in place works here.
#[tokio::test]
async fn a_request_that_brings_a_file_is_handled_on_a_thread_of_its_own_however_short() {
    let here = thread::current().id();
    assert_eq!(handled_on("{}").await, here);
    for file in ["--x\r\n\r\nphone\n1\r\n--x--", "--x\r\n\r\nPK\x03\x04\r\n--x--"] {
        assert_ne!(handled_on(file).await, here, "{file:?}");
    }
}
