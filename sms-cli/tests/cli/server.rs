//! The reference server, in a sandbox, for all tests of this program.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use clap::Parser as _;
use serde_json::{Value, json};
use sms_server::cli::Cli;
use sms_server::run;
use sms_server::secrets::Hidden;

/// The longest a test waits for anything.
pub(crate) const BOUND: Duration = Duration::from_secs(20);
/// The operator's token.
pub(crate) const TOKEN: &str = "operator-token-of-the-tests";
/// The number that sends messages, and that people answer to.
pub(crate) const SHARED_NUMBER: &str = "+447700900000";

/// Where the server listens.
pub(crate) fn address() -> SocketAddr {
    static ADDRESS: OnceLock<SocketAddr> = OnceLock::new();
    *ADDRESS.get_or_init(start)
}

pub(crate) fn url() -> String {
    format!("http://{}", address())
}

fn start() -> SocketAddr {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    let listen = address.to_string();
    let mut settings = Cli::parse_from([
        "sms-server",
        "--sandbox",
        "--demo=false",
        "--addr",
        &listen,
        "--rate-per-second=100000",
        "--rate-burst=100000",
        "--webhook-allow-private",
    ])
    .settings;
    settings.secrets.admin_token = Some(Hidden(TOKEN.to_owned()));
    thread::spawn(move || {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(run(settings, std::future::pending())).unwrap();
    });
    let deadline = Instant::now() + BOUND;
    while TcpStream::connect(address).is_err() {
        assert!(Instant::now() < deadline, "the server does not listen");
        thread::yield_now();
    }
    let number = json!({ "phone_number": SHARED_NUMBER });
    operator_at(address, "/numbers", &number);
    address
}

/// Calls the operator's API, and gives the data of its answer.
pub(crate) fn operator(path: &str, body: &Value) -> Value {
    operator_at(address(), path, body)
}

fn operator_at(address: SocketAddr, path: &str, body: &Value) -> Value {
    let body = body.to_string();
    let mut socket = TcpStream::connect(address).unwrap();
    let length = body.len();
    write!(
        socket,
        "POST /admin/v1{path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n\
         {body}"
    )
    .unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 2"), "{path}: {answer}");
    serde_json::from_str::<Value>(body).unwrap()["data"].take()
}

/// Lets time pass, with all that falls due on the way.
pub(crate) fn pass(seconds: u64) {
    operator("/clock", &json!({ "advance_seconds": seconds }));
}

/// The keys of a new account.
pub(crate) struct Keys {
    pub live: String,
    pub test: String,
}

pub(crate) fn account(credits: u32) -> Keys {
    let input = json!({ "name": "Bistro", "status": "active", "credits": credits });
    let id = operator("/accounts", &input)["id"].as_str().unwrap().to_owned();
    let key = |kind: &str| {
        let key = operator(&format!("/accounts/{id}/keys"), &json!({ "kind": kind }));
        key["key"].as_str().unwrap().to_owned()
    };
    Keys { live: key("live"), test: key("test") }
}
