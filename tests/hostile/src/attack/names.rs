//! One account has endpoints whose names no name server ever resolves, and tests them without end.
//! Another account tests its own.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::{join_all, try_join_all};
use serde_json::{Value, json};
use tokio::net::UdpSocket as Socket;
use tokio::time::{Instant, sleep_until};

use crate::client::{Connection, request};
use crate::failed::Failed;
use crate::receiver::Receiver;
use crate::server::Options;
use crate::site::{Site, Standing, word};
use crate::storm::{Attack, Finding, Prepared};

/// The most endpoints of an account.
const ENDPOINTS: usize = 10;
/// How many tests of each are under way.
const TESTS_EACH: usize = 4;
/// How often the other account tests its endpoint.
const EVERY: Duration = Duration::from_millis(200);
/// How long a test of an endpoint on loopback may take: far less than a name server's timeout.
const QUICK: Duration = Duration::from_secs(1);
const SLOW_NAMES: &str = "slow.example.com";

/// Holds the socket of the name server from before the server under attack starts.
#[derive(Default)]
pub(super) struct Names {
    socket: Mutex<Option<UdpSocket>>,
}

struct Ready {
    tests: Vec<Vec<u8>>,
    other: Vec<u8>,
    _receiver: Receiver,
}

#[async_trait]
impl Attack for Names {
    fn options(&self) -> Options {
        let bound = UdpSocket::bind("127.0.0.1:0").and_then(|socket| {
            let address = socket.local_addr()?;
            Ok((socket, address))
        });
        let Ok((socket, address)) = bound else { return Options::default() };
        *self.socket.lock().unwrap_or_else(PoisonError::into_inner) = Some(socket);
        let settings = vec![("SMS_DNS_SERVERS", address.to_string())];
        Options { settings, ..Options::default() }
    }

    async fn prepare(&self, site: &Site) -> Result<Box<dyn Prepared>, Failed> {
        let socket = self.socket.lock().unwrap_or_else(PoisonError::into_inner).take();
        let socket = socket.ok_or_else(|| io::Error::from(io::ErrorKind::AddrNotAvailable))?;
        socket.set_nonblocking(true)?;
        tokio::spawn(answer_names(Socket::from_std(socket)?));
        let receiver = Receiver::start().await?;
        let port = receiver.addr.port();
        let slow = site.account(Standing::Active(0)).await?.key;
        let endpoints = (0..ENDPOINTS)
            .map(|place| endpoint(site, &slow, format!("http://n{place}.{SLOW_NAMES}/")));
        let endpoints = try_join_all(endpoints).await?;
        let other = site.account(Standing::Active(0)).await?.key;
        let quick = endpoint(site, &other, format!("http://quick.example.com:{port}/")).await?;
        let test = |key: &str, id: &String| {
            request("POST", &format!("/api/v1/webhooks/{id}/test"), key, &Value::Null)
        };
        Ok(Box::new(Ready {
            tests: endpoints.iter().map(|id| test(&slow, id)).collect(),
            other: test(&other, &quick),
            _receiver: receiver,
        }))
    }
}

async fn endpoint(site: &Site, key: &str, url: String) -> Result<String, Failed> {
    let body = json!({ "url": url, "events": ["message.received"] });
    Ok(word(&site.post("/webhooks", key, &body).await?["id"]))
}

#[async_trait]
impl Prepared for Ready {
    async fn storm(&self, site: &Site, until: Instant) -> Result<Vec<Finding>, Failed> {
        let addr = site.server.addr;
        let attackers = self.tests.iter().flat_map(|test| std::iter::repeat_n(test, TESTS_EACH));
        let attackers = attackers.map(|test| {
            let attacker = repeat(addr, test.clone());
            tokio::spawn(async move {
                tokio::select! {
                    () = attacker => {}
                    () = sleep_until(until) => {}
                }
            })
        });
        let attack = join_all(attackers);
        let (_, took) = tokio::join!(attack, tests_of_the_other(addr, &self.other, until));
        let mut took = took?;
        took.sort();
        let longest = took.last().copied().unwrap_or(Duration::MAX);
        let middle = took.get(took.len() / 2).copied().unwrap_or_default();
        let told = format!(
            "{} tests of another endpoint took {} ms, at most {} ms",
            took.len(),
            middle.as_millis(),
            longest.as_millis()
        );
        Ok(vec![Finding::judged(|| longest < QUICK, told)])
    }
}

/// Tests an endpoint again and again, and does not mind the answers.
async fn repeat(addr: SocketAddr, test: Vec<u8>) {
    loop {
        if let Ok(mut connection) = Connection::open(addr).await {
            let _ = connection.ask(&test).await;
        }
    }
}

/// How long each test of the other account's endpoint took.
async fn tests_of_the_other(
    addr: SocketAddr,
    test: &[u8],
    until: Instant,
) -> Result<Vec<Duration>, Failed> {
    let mut took = Vec::new();
    while Instant::now() < until {
        let since = Instant::now();
        let answer = Connection::open(addr).await?.ask(test).await?;
        let was_delivered = answer.json()["data"]["status_code"] == 200;
        took.push(if was_delivered { since.elapsed() } else { Duration::MAX });
        sleep_until(since + EVERY).await;
    }
    Ok(took)
}

/// Says that every name is on loopback, but never answers for slow ones.
async fn answer_names(socket: Socket) {
    let mut question = [0; 512];
    while let Ok((length, from)) = socket.recv_from(&mut question).await {
        if let Some(answer) = answer(&question[..length]) {
            let _ = socket.send_to(&answer, from).await;
        }
    }
}

fn answer(question: &[u8]) -> Option<Vec<u8>> {
    let (mut labels, mut at) = (Vec::new(), 12);
    while let Some(length) = question.get(at).map(|it| usize::from(*it)).filter(|it| *it > 0) {
        labels.push(String::from_utf8_lossy(question.get(at + 1..=at + length)?).into_owned());
        at += 1 + length;
    }
    if labels.join(".").to_lowercase().ends_with(SLOW_NAMES) {
        return None;
    }
    let end = at + 5;
    let asks_for_ipv4 = question.get(at + 1..at + 3)? == [0, 1];
    let mut answer = question[..2].to_vec();
    answer.extend([0x81, 0x80, 0, 1, 0, u8::from(asks_for_ipv4), 0, 0, 0, 0]);
    answer.extend(question.get(12..end)?);
    if asks_for_ipv4 {
        answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0x0e, 0x10, 0, 4]);
        answer.extend(Ipv4Addr::LOCALHOST.octets());
    }
    Some(answer)
}
