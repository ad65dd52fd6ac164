//! The accounts, keys, numbers and endpoints of a run.

use std::net::SocketAddr;

use serde_json::{Value, json};

use super::RigFailed;
use super::fleet::{OPERATOR, now};
use super::http::{ask_patiently, request};
use super::receiver::Temper;
use super::records::Records;

/// One account, with its keys and numbers.
#[derive(Debug, Clone)]
pub(super) struct Account {
    pub(super) id: String,
    pub(super) key: String,
    /// Its number, from which its messages are sent.
    pub(super) number: String,
}

/// Everything that a run sets up.
#[derive(Debug, Clone)]
pub(super) struct World {
    pub(super) accounts: Vec<Account>,
}

/// Numbers that opt out of every account before anything is sent.
pub(super) const OUT_FROM_THE_START: [u64; 5] =
    [447_700_900_900, 447_700_900_901, 447_700_900_902, 447_700_900_903, 447_700_900_904];
/// The first of the numbers that opt out one after the other while messages are sent to them.
const STOPPERS: u64 = 447_700_900_800;
/// How many of them there are.
const STOPPER_COUNT: u64 = 100;
/// The first of the numbers that never opt out.
pub(super) const PEOPLE: u64 = 447_700_900_100;
/// How many there are.
pub(super) const PEOPLE_COUNT: u64 = 600;

/// The number that opts out in this round.
pub(super) fn stopper(round: u64) -> u64 {
    STOPPERS + round % STOPPER_COUNT
}

/// An endpoint and its events.
type Wanted = (Temper, &'static [&'static str]);

/// Credits and endpoints of the accounts: one with a steady endpoint for all events, one with a
/// moody endpoint, one with a steady endpoint for failures and a dead one, one with few credits.
const ACCOUNTS: [(u64, &[Wanted]); 4] = [
    (1_000_000, &[(Temper::Steady, &EVERYTHING)]),
    (1_000_000, &[(Temper::Moody, &["message.sent", "message.delivered"])]),
    (1_000_000, &[(Temper::Steady, &["message.failed"]), (Temper::Dead, &["message.delivered"])]),
    (200, &[]),
];
const EVERYTHING: [&str; 5] =
    ["message.sent", "message.delivered", "message.failed", "message.received", "opt_out.created"];

impl World {
    /// Creates everything through one server.
    pub(super) async fn make(
        addr: SocketAddr,
        receiver: SocketAddr,
        records: &Records,
    ) -> Result<Self, RigFailed> {
        let mut accounts = Vec::new();
        for (place, (credits, endpoints)) in ACCOUNTS.into_iter().enumerate() {
            let number = format!("+44770090000{place}");
            let body = json!({ "name": "Rig", "status": "active", "credits": credits });
            let made = call(addr, "/admin/v1/accounts", OPERATOR, &body).await?;
            let id = word(&made["id"]);
            let body = json!({ "phone_number": number, "account_id": id });
            call(addr, "/admin/v1/numbers", OPERATOR, &body).await?;
            let keys = format!("/admin/v1/accounts/{id}/keys");
            let made = call(addr, &keys, OPERATOR, &json!({ "kind": "live" })).await?;
            let account = Account { id, key: word(&made["key"]), number };
            for (temper, events) in endpoints {
                let url = format!("http://{receiver}/hooks/{place}/{}", temper.name());
                let body = json!({ "url": url, "events": events });
                call(addr, "/api/v1/webhooks", &account.key, &body).await?;
            }
            accounts.push(account);
        }
        let world = Self { accounts };
        for number in OUT_FROM_THE_START {
            for place in 0..world.accounts.len() {
                world.opt_out(addr, place, number, records).await?;
            }
        }
        Ok(world)
    }

    /// Sends STOP to an account's number.
    pub(super) async fn opt_out(
        &self,
        addr: SocketAddr,
        place: usize,
        number: u64,
        records: &Records,
    ) -> Result<(), RigFailed> {
        let to = &self.accounts[place].number;
        let body = json!({ "from": format!("+{number}"), "to": to, "body": "STOP" });
        call(addr, "/admin/v1/inbound", OPERATOR, &body).await?;
        // The answer has come: from now on every server must know.
        records.lock().opted_out.push((place, number, now()));
        Ok(())
    }

    /// Adds credits to an account.
    pub(super) async fn top_up(&self, addr: SocketAddr, place: usize) -> Result<(), RigFailed> {
        let path = format!("/admin/v1/accounts/{}/credits", self.accounts[place].id);
        call(addr, &path, OPERATOR, &json!({ "amount": 50 })).await?;
        Ok(())
    }
}

/// Makes a request that must succeed. Returns its `data`.
pub(super) async fn call(
    addr: SocketAddr,
    path: &str,
    token: &str,
    body: &Value,
) -> Result<Value, RigFailed> {
    let answer = ask_patiently(addr, &request(("POST", path), token, "", body)).await;
    let status = answer.as_ref().map_or(0, |answer| answer.status);
    match answer {
        Some(mut answer) if status == 201 || status == 200 => Ok(answer.body["data"].take()),
        _ => Err(RigFailed::Setup { path: path.to_owned(), status }),
    }
}

fn word(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
