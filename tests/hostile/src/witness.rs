//! Another customer, who notices how the server serves everybody else.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};

use crate::client::{Connection, request};
use crate::failed::Failed;
use crate::receiver::Receiver;
use crate::site::{Site, Standing};
use crate::usage::Usage;

/// How many keys the customer has: each sends within its rate limit.
const KEYS: usize = 4;
/// How often each key sends.
const SENDS_EVERY: Duration = Duration::from_millis(100);
/// How often the probe of a load balancer asks.
const PROBES_EVERY: Duration = Duration::from_millis(25);
const USAGE_EVERY: Duration = Duration::from_millis(100);

/// Another customer, and the probe of a load balancer.
#[derive(Debug)]
pub(crate) struct Witness {
    keys: Vec<String>,
    hooks: Receiver,
}

/// What a witness saw during one phase.
#[derive(Debug, Default)]
pub(crate) struct Watched {
    pub(crate) probes: Figures,
    pub(crate) sends: Figures,
    /// Webhooks that arrived.
    pub(crate) hooks: u64,
    /// The most that the server used.
    pub(crate) usage: Usage,
}

/// Times of answers, and requests without the answer that they should have.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    times: Vec<Duration>,
    answered: u64,
    pub(crate) errors: u64,
    /// The first wrong answer.
    pub(crate) first_error: Option<String>,
}

impl Figures {
    /// The time within which so many of a hundred answers came.
    pub(crate) fn percentile(&mut self, percent: usize) -> Duration {
        self.times.sort_unstable();
        let last = self.times.len().saturating_sub(1);
        self.times.get((last * percent).div_ceil(100)).copied().unwrap_or_default()
    }

    /// How many requests had the answer that they should have.
    pub(crate) fn answered(&self) -> u64 {
        self.answered
    }

    fn add(&mut self, other: Self) {
        self.times.extend(other.times);
        self.answered += other.answered;
        self.errors += other.errors;
        self.first_error = self.first_error.take().or(other.first_error);
    }

    fn wrong(&mut self, what: String) {
        self.errors += 1;
        self.first_error.get_or_insert(what);
    }
}

impl Witness {
    /// Creates the customer's account, with an endpoint for what becomes of its messages.
    pub(crate) async fn new(site: &Site) -> Result<Self, Failed> {
        let account = site.account(Standing::Active(10_000_000)).await?;
        let mut keys = Vec::new();
        for _ in 0..KEYS {
            keys.push(site.key(&account.id, "live").await?);
        }
        let hooks = Receiver::start().await?;
        let url = format!("http://{}/", hooks.addr);
        let body = json!({ "url": url, "events": ["message.sent"] });
        site.post("/webhooks", &account.key, &body).await?;
        Ok(Self { keys, hooks })
    }

    /// Sends single messages and asks whether the server is alive, for so long.
    pub(crate) async fn watch(&self, site: &Site, lasts: Duration) -> Watched {
        let addr = site.server.addr;
        let until = Instant::now() + lasts;
        let hooks_before = self.hooks.accepted();
        let probe = request("GET", "/healthz", "", &Value::Null);
        let probes = tokio::spawn(repeat(addr, probe, 200, PROBES_EVERY, until));
        let senders: Vec<_> = (self.keys.iter().enumerate())
            .map(|(place, key)| {
                let to = format!("+44770090012{place}");
                let body = json!({ "to": to, "body": "Your table is ready" });
                let send = request("POST", "/api/v1/messages", key, &body);
                tokio::spawn(repeat(addr, send, 201, SENDS_EVERY, until))
            })
            .collect();
        let mut watched = Watched::default();
        while Instant::now() < until {
            watched.usage = watched.usage.most(site.server.usage());
            sleep(USAGE_EVERY).await;
        }
        watched.probes.add(probes.await.unwrap_or_default());
        for sender in senders {
            watched.sends.add(sender.await.unwrap_or_default());
        }
        watched.hooks = self.hooks.accepted() - hooks_before;
        watched
    }
}

/// Asks the same at fixed moments, one request at a time. While a request waits, others fall due
/// that are not asked: each counts as if it had waited from then on, so a server that stands still
/// is late for all requests of that time.
async fn repeat(
    addr: SocketAddr,
    bytes: Vec<u8>,
    right: u16,
    every: Duration,
    until: Instant,
) -> Figures {
    let mut figures = Figures::default();
    let mut ticks = interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut connection = None;
    loop {
        let due = ticks.tick().await;
        if due > until {
            return figures;
        }
        let mut open = match connection.take() {
            Some(open) => open,
            None => match Connection::open(addr).await {
                Ok(open) => open,
                Err(error) => {
                    figures.wrong(format!("connecting: {error}"));
                    continue;
                }
            },
        };
        match open.ask(&bytes).await {
            Ok(answer) if answer.status == right => {
                let mut waited = due.elapsed();
                figures.answered += 1;
                figures.times.push(waited);
                while waited > every {
                    waited -= every;
                    figures.times.push(waited);
                }
                connection = Some(open);
            }
            Ok(answer) => {
                let body = String::from_utf8_lossy(&answer.body).into_owned();
                figures.wrong(format!("{}: {body}", answer.status));
                connection = Some(open);
            }
            Err(error) => figures.wrong(error.to_string()),
        }
    }
}
