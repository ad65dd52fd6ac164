//! What strangers cost the store, over real sockets.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use sms_core::account::Mode;
use sms_core::account::api_key::ApiKey;
use sms_core::prelude::*;
use sms_core::random::SeededRandom;
use sms_http::admin::gate::OperatorToken;
use sms_http::api::EventStreams;
use sms_http::rate_limit::{Gcra, Stopwatch};
use sms_http::web::client_address::TrustedProxies;
use sms_http::web::intake::IntakeLimits;
use sms_http::web::serve::{ServeLimits, listen, serve};
use sms_server::app::{AppParts, whole_app};
use sms_store_memory::MemoryStore;
use sms_tests::call_counter::CallCounter;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A server over a store whose calls are counted. No time passes for its limits.
fn start(store: Arc<CallCounter>) -> SocketAddr {
    let now = Instant::now();
    let sms = Sms::builder(store as Arc<dyn sms_core::store::Store>).build();
    let app = whole_app(&AppParts {
        streams: EventStreams::new(sms.clone()),
        sms,
        rate: Gcra::new(1_000_000, 1_000_000),
        shared_arrivals: None,
        stopwatch: Stopwatch::new(move || now),
        token: OperatorToken::new("operator-token-of-the-tests"),
        public_url: "https://sms.example.com".to_owned(),
        limits: IntakeLimits::default(),
        trusted_proxies: TrustedProxies::default(),
        sandbox: None,
        metrics: None,
        console: None,
    });
    let listener = listen("127.0.0.1:0".parse().unwrap()).unwrap();
    let addr = listener.local_addr().unwrap();
    tokio::spawn(serve(listener, app, ServeLimits::default(), std::future::pending()));
    addr
}

/// The status of a request with this key.
async fn status(addr: SocketAddr, key: &str) -> u16 {
    let mut socket = TcpStream::connect(addr).await.unwrap();
    let head = format!(
        "GET /api/v1/balance HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\
         Authorization: Bearer {key}\r\n\r\n"
    );
    socket.write_all(head.as_bytes()).await.unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.unwrap();
    answer[9..12].parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unknown_keys_cost_an_address_a_bounded_number_of_look_ups() {
    sms_test_log::watch();
    for are_distinct in [true, false] {
        let store = Arc::new(CallCounter::new(Arc::new(MemoryStore::new())));
        let addr = start(Arc::clone(&store));
        // Many at once, so that none waits for the outcome of another.
        let asked = (0..300).map(|n| {
            let seed = if are_distinct { n } else { 7 };
            let key = ApiKey::generate(Mode::Live, &SeededRandom::new(seed));
            tokio::spawn(async move { status(addr, key.reveal()).await })
        });
        let asked: Vec<_> = asked.collect();
        let mut unknown = 0;
        for one in asked {
            let status = one.await.unwrap();
            assert!(matches!(status, 401 | 429), "{status}");
            unknown += usize::from(status == 401);
        }
        assert_eq!((unknown, store.calls("api_key_find")), (20, 20), "{are_distinct}");
    }
}
