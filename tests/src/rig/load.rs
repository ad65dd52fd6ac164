//! The clients: what they send, and what they record of the answers.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use sms_core::clock::{Clock, SystemClock};
use sms_core::ids::MessageId;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::address::Addresses;
use super::http::{Answer, ask, hang_up, request};
use super::records::{Records, Told};
use super::world::{OUT_FROM_THE_START, PEOPLE, PEOPLE_COUNT, World, stopper};
use crate::simulation::dice::Dice;

/// How often a send with an idempotency key is repeated until its answer is known.
const MOST_TRIES: u32 = 40;
const BETWEEN_TRIES: Duration = Duration::from_millis(300);
/// Names of clients that make one send, apart from those of the others.
const FIRST_ALONE: usize = 10_000_000;
/// How many sends of a hundred carry an idempotency key, unless `--keyed` says otherwise.
pub(super) const KEYED: u64 = 35;
/// The longest time that a client waits before it hangs up, in milliseconds.
const LONGEST_WAIT: u64 = 60;

/// What all clients share.
#[derive(Debug, Clone)]
pub(super) struct Crowd {
    pub(super) world: World,
    /// How many sends of a hundred carry an idempotency key.
    pub(super) keyed: u64,
    pub(super) addresses: Addresses,
    pub(super) records: Records,
    /// The round, which decides who opts out soon.
    pub(super) round: watch::Receiver<u64>,
    /// The mean time between two requests of one client.
    pub(super) pause: Duration,
}

/// One client.
struct Client {
    crowd: Crowd,
    dice: Dice,
    name: usize,
    sends: u64,
}

/// A requested send.
struct Send {
    words: String,
    key: Option<String>,
    account: usize,
    bytes: Vec<u8>,
}

impl Crowd {
    /// Starts clients. They end when the sender of `stopping` is dropped.
    pub(super) fn start(
        &self,
        clients: usize,
        dice: &mut Dice,
        stopping: &watch::Receiver<()>,
    ) -> JoinSet<()> {
        let mut tasks = JoinSet::new();
        for name in 0..clients {
            let mut stopping = stopping.clone();
            let mut client = Client { crowd: self.clone(), dice: dice.fork(), name, sends: 0 };
            tasks.spawn(async move {
                // It finishes the request it began, so that the answer is known.
                while !stopping.has_changed().unwrap_or(true) {
                    client.act().await;
                    let most =
                        u64::try_from(client.crowd.pause.as_millis()).unwrap_or_default() * 2;
                    let pause = Duration::from_millis(client.dice.between(0, most));
                    tokio::select! {
                        () = sleep(pause) => {}
                        _ = stopping.changed() => {}
                    }
                }
            });
        }
        tasks
    }

    /// A client with this name, apart from those of the others, that makes one send.
    pub(super) async fn send_one(&self, name: usize, addr: SocketAddr, dice: &mut Dice) -> Told {
        let name = FIRST_ALONE + name;
        let mut client = Client { crowd: self.clone(), dice: dice.fork(), name, sends: 0 };
        let send = client.draw_send();
        client.ask(addr, &send).await
    }

    /// Clients, numbered from `first`, each of which hangs up on one request.
    pub(super) async fn hang_up(
        &self,
        first: usize,
        count: usize,
        at_once: usize,
        dice: &mut Dice,
    ) {
        let mut tasks = JoinSet::new();
        for name in first..first + count {
            if tasks.len() >= at_once {
                tasks.join_next().await;
            }
            let crowd = self.clone();
            let mut client = Client { crowd, dice: dice.fork(), name, sends: 0 };
            tasks.spawn(async move {
                let send = client.draw_send();
                client.cut_off(&send).await;
            });
        }
        tasks.join_all().await;
    }
}

impl Client {
    async fn act(&mut self) {
        let send = self.draw_send();
        if self.dice.percent(4) {
            return self.cut_off(&send).await;
        }
        let addr = self.crowd.addresses.any(&mut self.dice);
        let mut told = self.ask(addr, &send).await;
        if send.key.is_some() {
            let mut addr = addr;
            let mut tries = 1;
            while told == Told::Nothing && tries < MOST_TRIES {
                sleep(BETWEEN_TRIES).await;
                tries += 1;
                addr = self.crowd.addresses.other(addr, &mut self.dice);
                told = self.ask(addr, &send).await;
                if told == Told::Refused {
                    // The previous request, whose answer was lost, may still be accepted.
                    break;
                }
            }
            // A retry by a client that did not see the answer.
            if told != Told::Refused && self.dice.percent(20) {
                let addr = self.crowd.addresses.any(&mut self.dice);
                self.ask(addr, &send).await;
            }
        }
        if let Told::Accepted { messages, .. } = told
            && self.dice.percent(15)
        {
            let chosen = self.dice.pick(&messages);
            if let Some(message) = chosen {
                self.cancel(send.account, message).await;
            }
        }
    }

    /// Sends it once and records the answer.
    async fn ask(&mut self, addr: SocketAddr, send: &Send) -> Told {
        let answer = ask(addr, &send.bytes).await;
        let (told, is_wrong) = read(answer.as_ref());
        let mut all = self.crowd.records.lock();
        *all.statuses.entry(answer.as_ref().map_or(0, |answer| answer.status)).or_default() += 1;
        if is_wrong {
            let status = answer.map_or(0, |answer| answer.status);
            all.wrong.push(format!("{status} to {}", send.words));
        }
        all.tell(&send.words, told.clone());
        told
    }

    async fn cancel(&mut self, account: usize, message: MessageId) {
        let addr = self.crowd.addresses.any(&mut self.dice);
        let path = format!("/api/v1/messages/{message}/cancel");
        let key = &self.crowd.world.accounts[account].key;
        let answer = ask(addr, &request(("POST", &path), key, "", &Value::Null)).await;
        let mut all = self.crowd.records.lock();
        match answer.map_or(0, |answer| answer.status) {
            200 => all.cancelled.push(message),
            // Already on its way; unknown; temporarily unavailable.
            409 | 0 | 429 | 503 => {}
            status => all.wrong.push(format!("{status} to cancelling {message}")),
        }
    }

    /// Hangs up at a random byte, or at a random moment after the last.
    async fn cut_off(&mut self, send: &Send) {
        let addr = self.crowd.addresses.any(&mut self.dice);
        let length = send.bytes.len();
        let bytes = if self.dice.percent(40) { self.dice.below(length) } else { length };
        let wait = Duration::from_millis(self.dice.between(0, LONGEST_WAIT));
        self.crowd.records.lock().tell(&send.words, Told::Nothing);
        hang_up(addr, &send.bytes, bytes, wait).await;
        self.crowd.records.lock().cut_off += 1;
    }

    fn draw_send(&mut self) -> Send {
        self.sends += 1;
        let account = self.dice.below(self.crowd.world.accounts.len());
        let mut words = format!("rig {}-{}", self.name, self.sends);
        if self.dice.percent(10) {
            // Two segments.
            words.push_str(&" and so on".repeat(18));
        }
        let count = self.dice.weighted(&[(140, 1), (50, 4), (9, 20), (1, 100)]);
        let to: Vec<String> = (0..count).map(|_| format!("+{}", self.draw_number())).collect();
        let mut body = json!({ "to": to, "body": words });
        if self.dice.percent(12) {
            let at = SystemClock.now().plus(Duration::from_secs(1));
            body["schedule_at"] = at.to_string().into();
        }
        let is_keyed = self.dice.percent(self.crowd.keyed);
        let key = is_keyed.then(|| format!("key-{}-{}", self.name, self.sends));
        let header = key.as_ref().map(|key| format!("Idempotency-Key: {key}\r\n"));
        let token = &self.crowd.world.accounts[account].key;
        let header = header.unwrap_or_default();
        let bytes = request(("POST", "/api/v1/messages"), token, &header, &body);
        Send { words, key, account, bytes }
    }

    fn draw_number(&mut self) -> u64 {
        match self.dice.below(100) {
            0..4 => self.dice.pick(&OUT_FROM_THE_START).unwrap_or(PEOPLE),
            // A number that opts out now, or just did.
            4..8 => stopper(*self.crowd.round.borrow()),
            _ => self.dice.between(PEOPLE, PEOPLE + PEOPLE_COUNT - 1),
        }
    }
}

/// What an answer says, and whether it must not occur.
fn read(answer: Option<&Answer>) -> (Told, bool) {
    let Some(answer) = answer else { return (Told::Nothing, false) };
    let data = &answer.body["data"];
    match answer.status {
        200 | 201 => {
            let ids = data["messages"].as_array().into_iter().flatten();
            let ids: Option<Vec<_>> = ids.map(|one| one["id"].as_str()?.parse().ok()).collect();
            let batch = data["batch_id"].as_str().and_then(|id| id.parse().ok());
            match (batch, ids) {
                (Some(batch), Some(messages)) => (Told::Accepted { batch, messages }, false),
                _ => (Told::Nothing, true),
            }
        }
        // Not enough credits; no recipient left.
        402 | 422 => (Told::Refused, false),
        // 429 although the limit is lifted: when servers start or stop, every key's burst is spent.
        429 | 503 => (Told::Nothing, false),
        _ => (Told::Nothing, true),
    }
}
