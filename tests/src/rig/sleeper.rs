//! Stops a server for longer than its lease while it holds messages. Another server takes them
//! over, and what the first then tries to record changes nothing.

use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};
use sqlx::{PgConnection, Row};
use tokio::time::Instant;

use super::audit::rules;
use super::fleet::{Network, OPERATOR};
use super::http::{ask_patiently, request};
use super::receiver::Receiver;
use super::records::Records;
use super::scene::drain;
use super::site::{Site, comes_true};
use super::world::{PEOPLE, PEOPLE_COUNT, World};
use super::{Report, RigFailed, Violation, hand_overs};
use crate::simulation::dice::Dice;

/// How many messages it holds: one send, few enough for one claim.
const TEXTS: usize = 200;
/// How long each step may take besides leases.
const BOUND: Duration = Duration::from_secs(30);
/// The servers, in the order of their start.
const SLEEPER: usize = 0;
const OTHER: usize = 1;

/// Settings of this scenario.
#[derive(Debug, Clone, Args)]
pub struct Settings {
    /// Length of leases, in seconds
    #[arg(long, default_value_t = 30)]
    pub lease: u64,
}

/// Runs the scenario.
///
/// # Errors
///
/// If the rig itself fails, or the server does not come to hold messages. Violations are in the
/// report.
pub async fn run(settings: &Settings) -> Result<Report, RigFailed> {
    let started = Instant::now();
    let mut report = Report::default();
    let lease = Duration::from_secs(settings.lease);
    let mut site = Site::prepare(1, lease, Network::Held).await?;
    let receiver = Receiver::start(Dice::new(1)).await?;
    let addr = site.fleet.addresses.all()[SLEEPER];
    let world = World::make(addr, receiver.addr, &Records::default()).await?;

    let send = json!({ "to": numbers(), "body": "the rig" });
    let bytes = request(("POST", "/api/v1/messages"), &world.accounts[0].key, "", &send);
    let status = ask_patiently(addr, &bytes).await.map_or(0, |answer| answer.status);
    if status != 201 {
        return Err(RigFailed::Setup { path: "/api/v1/messages".to_owned(), status });
    }
    handed_over(&site, SLEEPER, BOUND).await?;
    let suspended = site.fleet.suspend(SLEEPER)?;
    let slept = Instant::now();
    site.fleet.add().await?;
    handed_over(&site, OTHER, lease + BOUND).await?;
    report.figure("taken over after", format!("{:.1} s", slept.elapsed().as_secs_f64()));

    // When the sleeper goes on, the other server holds the messages and has recorded nothing.
    let mut db = site.connect().await?;
    let before = state(&mut db).await?;
    site.fleet.release(SLEEPER)?;
    site.fleet.resume(suspended)?;
    let mut after = Vec::new();
    let shows = comes_true(BOUND, async || {
        let refused = lost_outcomes(addr).await;
        after = state(&mut db).await?;
        Ok(refused >= TEXTS || after != before)
    });
    if !shows.await? {
        return Err(RigFailed::Late("the sleeper's attempt to record"));
    }
    report.figure("outcomes refused", lost_outcomes(addr).await);
    if after != before {
        let changed = after.iter().filter(|row| !before.contains(row)).count();
        let rule = "a server that lost its lease changes nothing";
        report.violations.push(Violation::new(rule, format!("{changed} rows")));
    }
    site.fleet.release(OTHER)?;
    drain(&site, 2 * lease + BOUND, &mut report).await?;
    report.violations.extend(site.fleet.end().await?);

    report.violations.extend(rules::always(&mut db).await?);
    report.violations.extend(rules::at_the_end(&mut db).await?);
    report.violations.extend(site.panics()?);
    let handed = hand_overs::read(&site.folder)?;
    report.figure("messages", handed.len());
    report.figure("handed over twice", handed.values().filter(|times| times.len() == 2).count());
    report.took = started.elapsed();
    site.clear()?;
    Ok(report)
}

/// Numbers whose messages are sent at once and get a receipt later.
fn numbers() -> Vec<String> {
    let all = PEOPLE..PEOPLE + PEOPLE_COUNT;
    let plain = all.filter(|number| number % 20 > 4).take(TEXTS);
    plain.map(|number| format!("+{number}")).collect()
}

/// Waits until a server's network was handed every message.
async fn handed_over(site: &Site, replica: usize, bound: Duration) -> Result<(), RigFailed> {
    let has_all = comes_true(bound, async || {
        let handed = hand_overs::read(&site.folder)?;
        let has =
            |times: &&Vec<hand_overs::Leaving>| times.iter().any(|one| one.life.replica == replica);
        Ok(handed.values().filter(has).count() == TEXTS)
    });
    if has_all.await? { Ok(()) } else { Err(RigFailed::Late("handing over")) }
}

/// How many outcomes a server could not record, because it had lost its lease.
async fn lost_outcomes(addr: std::net::SocketAddr) -> usize {
    let bytes = request(("GET", "/metrics"), OPERATOR, "", &Value::Null);
    let page = ask_patiently(addr, &bytes).await.map(|answer| answer.text).unwrap_or_default();
    let lines = page.lines().filter_map(|line| line.strip_prefix("sms_hand_overs_lost_total "));
    lines.filter_map(|count| count.parse::<usize>().ok()).sum()
}

/// Everything that an outcome could change, except the end of the other server's lease.
async fn state(db: &mut PgConnection) -> Result<Vec<String>, RigFailed> {
    let mut state = Vec::new();
    for question in [
        "SELECT m::text AS row FROM message m ORDER BY id",
        "SELECT a::text AS row FROM account a ORDER BY id",
        "SELECT l::text AS row FROM ledger_entry l ORDER BY account_id, seq",
        "SELECT f::text AS row FROM follow_up f ORDER BY id",
        "SELECT message_id::text || attempt || lease AS row FROM queue ORDER BY message_id",
        "SELECT id::text AS row FROM delivery ORDER BY id",
    ] {
        let rows = sqlx::query(question).fetch_all(&mut *db).await?;
        state.extend(rows.iter().map(|row| row.get::<String, _>("row")));
    }
    Ok(state)
}
