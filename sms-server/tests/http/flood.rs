//! Floods of sockets that are slow or silent on purpose: proper clients are still served, and the
//! others are cut off.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::json;
use sms_http::web::intake::IntakeLimits;
use sms_http::web::serve::ServeLimits;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::process::{Process, TOKEN};
use crate::rig::Rig;
use crate::server_postgres::account;
use crate::socket::{BOUND, Client, Server, bounded};

/// How a socket is slow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Slowness {
    /// Says nothing from the start.
    Silent,
    /// Asks once, and then holds the connection.
    Idle,
    /// A head that comes a line at a time and never ends.
    Head,
    /// A body with a key that comes a byte at a time and never ends.
    Body,
    /// The same without a key.
    Stranger,
}

const ALL: [Slowness; 5] =
    [Slowness::Silent, Slowness::Idle, Slowness::Head, Slowness::Body, Slowness::Stranger];

/// Between two pieces of what comes slowly.
const DRIP: Duration = Duration::from_millis(50);

/// A socket that the server has closed.
#[derive(Debug)]
struct Held {
    kind: Slowness,
    connected: Instant,
    ended: Instant,
}

impl Slowness {
    fn first(self, key: &str) -> String {
        let post = "POST /api/v1/messages HTTP/1.1\r\nHost: x\r\n";
        let body = "Content-Type: application/json\r\nContent-Length: 100000\r\n\r\n{\"to\":\"";
        match self {
            Self::Silent => String::new(),
            Self::Idle => "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n".to_owned(),
            Self::Head => post.to_owned(),
            Self::Body => format!("{post}Authorization: Bearer {key}\r\n{body}"),
            Self::Stranger => format!("{post}{body}"),
        }
    }

    fn drop(self) -> Option<&'static str> {
        match self {
            Self::Silent | Self::Idle => None,
            Self::Head => Some("X: y\r\n"),
            Self::Body | Self::Stranger => Some("0"),
        }
    }

    /// Holds a socket in this way until the server closes it.
    async fn hold(self, addr: SocketAddr, key: String, connected: mpsc::Sender<()>) -> Held {
        let mut socket = TcpStream::connect(addr).await.unwrap();
        let since = Instant::now();
        connected.send(()).await.unwrap();
        drop(connected);
        self.hold_on(&mut socket, &key).await;
        Held { kind: self, connected: since, ended: Instant::now() }
    }

    async fn hold_on(self, socket: &mut TcpStream, key: &str) {
        if socket.write_all(self.first(key).as_bytes()).await.is_err() {
            return;
        }
        let mut answer = [0; 4_096];
        loop {
            match timeout(DRIP, socket.read(&mut answer)).await {
                Ok(Ok(0) | Err(_)) => return,
                Ok(Ok(_)) => {}
                Err(_nothing_came) => {
                    let drop = self.drop().unwrap_or_default();
                    if socket.write_all(drop.as_bytes()).await.is_err() {
                        return;
                    }
                }
            }
        }
    }
}

/// Sockets that are held.
struct Flood {
    sockets: JoinSet<Held>,
    /// How many of each kind are held still.
    left: Vec<(Slowness, usize)>,
}

impl Flood {
    /// So many sockets of each kind, all of which have connected when this returns.
    async fn start(addr: SocketAddr, key: &str, kinds: &[Slowness], of_each: usize) -> Self {
        let (connected, mut all_connected) = mpsc::channel(1);
        let mut sockets = JoinSet::new();
        for _ in 0..of_each {
            for kind in kinds {
                sockets.spawn(kind.hold(addr, key.to_owned(), connected.clone()));
            }
        }
        drop(connected);
        while bounded(all_connected.recv()).await.is_some() {}
        Self { sockets, left: kinds.iter().map(|kind| (*kind, of_each)).collect() }
    }

    fn count_off(&mut self, closed: &Held) {
        let Held { kind, connected, ended } = *closed;
        let held = ended - connected;
        assert!(held < BOUND, "{kind:?} was held for {held:?}; left: {:?}", self.left);
        for (_, left) in self.left.iter_mut().filter(|(of, _)| *of == kind) {
            *left -= 1;
        }
    }

    /// Counts off those that were closed since.
    fn look(&mut self) {
        while let Some(ended) = self.sockets.try_join_next() {
            self.count_off(&ended.unwrap());
        }
    }

    fn is_over(&self) -> bool {
        self.sockets.is_empty()
    }

    /// Waits until all are closed.
    async fn over(mut self) {
        while !self.is_over() {
            let ended = timeout(BOUND, self.sockets.join_next()).await;
            let Ok(ended) = ended else { panic!("never cut off: {:?}", self.left) };
            self.count_off(&ended.unwrap().unwrap());
        }
    }
}

/// Sends a text and reads the balance; how long each took. Both have to succeed.
async fn ask_properly(client: &mut Client, key: &str) -> [Duration; 2] {
    let body = json!({ "to": "07700 900123", "body": "Your table is ready" }).to_string();
    let length = body.len();
    let key = format!("Authorization: Bearer {key}");
    let send = format!(
        "POST /api/v1/messages HTTP/1.1\r\nHost: x\r\n{key}\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    );
    let read = format!("GET /api/v1/balance HTTP/1.1\r\nHost: x\r\n{key}\r\n\r\n");
    let mut took = [Duration::ZERO; 2];
    for (took, (request, status)) in took.iter_mut().zip([(send, 201), (read, 200)]) {
        let start = Instant::now();
        client.send(request).await;
        let answer = client.answer().await;
        assert_eq!(answer.status, status, "{}", answer.body);
        *took = start.elapsed();
    }
    took
}

/// Three seconds for everything.
fn short() -> (IntakeLimits, ServeLimits) {
    let short = Duration::from_secs(3);
    let intake = IntakeLimits { body_timeout: short, ..IntakeLimits::default() };
    let serve = ServeLimits { head_timeout: short, idle_timeout: short, ..ServeLimits::default() };
    (intake, serve)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn proper_clients_are_served_during_a_flood_and_the_flood_is_cut_off() {
    let (intake, serve) = short();
    let rig = Rig::with_limits(intake).await;
    let account = rig.account(100_000).await;
    let key = account.live.token.clone().unwrap();
    let server = Server::start(rig.app.clone(), serve);
    let mut flood = Flood::start(server.addr, &key, &ALL, 80).await;
    let start = Instant::now();
    loop {
        ask_properly(&mut server.connect().await, &key).await;
        flood.look();
        if flood.is_over() || start.elapsed() > BOUND {
            break;
        }
    }
    flood.over().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_that_takes_every_place_is_cut_off_and_waiting_clients_are_served() {
    let (intake, serve) = short();
    let rig = Rig::with_limits(intake).await;
    let account = rig.account(100).await;
    let key = account.live.token.clone().unwrap();
    let server = Server::start(rig.app.clone(), ServeLimits { connections: 40, ..serve });
    // More than there are places, all of them in the line before the one that asks properly.
    let flood = Flood::start(server.addr, &key, &ALL, 14).await;
    let mut client = server.connect().await;
    ask_properly(&mut client, &key).await;
    flood.over().await;
}

/// Prints how long requests to a server with its usual limits take before and during each flood:
/// `cargo test --release -p sms-server --test http -- --ignored --nocapture flood`
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "prints figures, and takes half a minute"]
async fn figures_of_floods() {
    const REQUESTS: usize = 500;
    let server = Process::start(&[
        ("SMS_ADMIN_TOKEN", TOKEN),
        ("SMS_DEMO", "false"),
        ("SMS_LOG", "warn"),
        ("SMS_RATE_PER_SECOND", "100000"),
        ("SMS_RATE_BURST", "100000"),
    ]);
    let key = account(&server, 100_000).await;
    let addr = server.addr();
    println!("{:<22} {:>8} {:>8} {:>8}", "milliseconds", "median", "99 of 100", "longest");
    let measure = async |what: &str| {
        let mut took = Vec::new();
        for _ in 0..REQUESTS / 50 {
            let mut client = Client::of(addr).await;
            for _ in 0..25 {
                took.extend(ask_properly(&mut client, &key).await);
            }
        }
        took.sort();
        let at = |part: usize| took[(took.len() - 1) * part / 100].as_secs_f64() * 1_000.0;
        println!("{what:<22} {:>8.2} {:>8.2} {:>8.2}", at(50), at(99), at(100));
    };
    measure("(warming up)").await;
    measure("nothing else").await;
    for kind in ALL {
        let start = Instant::now();
        let mut flood = Flood::start(addr, &key, &[kind], 300).await;
        measure(&format!("300 sockets {kind:?}")).await;
        assert_eq!(flood.sockets.len(), 300);
        if kind == Slowness::Idle {
            // These may stay for a minute.
            flood.sockets.shutdown().await;
            continue;
        }
        flood.over().await;
        println!("{:<22} {:>8.1} s until all were cut off", "", start.elapsed().as_secs_f64());
    }
    measure("nothing else").await;
}
