//! Thousands of requests whose clients hang up at a random moment. None may leave an open
//! transaction or a wrong ledger.

use std::time::Duration;

use clap::Args;
use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::audit::Books;
use super::fleet::Network;
use super::http::{ask_patiently, request};
use super::load::{Crowd, KEYED};
use super::receiver::Receiver;
use super::records::Records;
use super::scene::{audit, drain};
use super::site::{Site, StoreKind};
use super::world::World;
use super::{Report, RigFailed, Violation};
use crate::simulation::dice::Dice;

/// Number of servers on the database.
const REPLICAS: usize = 2;
/// How long the amount of waiting work may stay the same at the end.
const STANDSTILL: Duration = Duration::from_secs(90);
/// Concurrent requests afterwards: more than a server's pool has connections.
const AFTERWARDS: usize = 64;

/// Settings of this scenario.
#[derive(Debug, Clone, Args)]
pub struct Settings {
    /// The store of the servers
    #[arg(long, value_enum, default_value_t = StoreKind::Postgres)]
    pub on: StoreKind,
    /// Number of requests to cut off
    #[arg(long, default_value_t = 10_000)]
    pub requests: usize,
    /// Number of concurrent clients
    #[arg(long, default_value_t = 64)]
    pub clients: usize,
    /// Seed for the moments
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// Runs the scenario.
///
/// # Errors
///
/// If the rig itself fails. Violations are in the report.
pub async fn run(settings: &Settings) -> Result<Report, RigFailed> {
    let started = Instant::now();
    let mut report = Report::default();
    let mut dice = Dice::new(settings.seed);
    let lease = sms_core::dispatch::LEASE;
    let mut site = Site::prepare_store(settings.on, REPLICAS, lease, Network::Free).await?;
    let receiver = Receiver::start(dice.fork()).await?;
    let records = Records::default();
    let addresses = site.fleet.addresses.clone();
    let world = World::make(addresses.all()[0], receiver.addr, &records).await?;
    let (_, round) = watch::channel(0);
    let pause = Duration::ZERO;
    let crowd = Crowd {
        world: world.clone(),
        keyed: KEYED,
        addresses,
        records: records.clone(),
        round,
        pause,
    };

    crowd.hang_up(0, settings.requests, settings.clients, &mut dice).await;
    let mut books = Books::open(&site).await?;
    report.violations.extend(books.stale_under_load().await?);
    // Asks the same servers, over the connections they have, once they are idle.
    drain(&site, STANDSTILL, &mut report).await?;
    report.violations.extend(unserved(&site, &world).await);
    report.violations.extend(site.fleet.renew().await?);
    drain(&site, STANDSTILL, &mut report).await?;
    report.violations.extend(site.fleet.end().await?);
    report.figure("seed", settings.seed);
    audit(&mut books, &site, (&records, &world), &receiver, &mut report).await?;
    report.violations.extend(site.panics()?);
    report.took = started.elapsed();
    if report.violations.is_empty() {
        site.clear()?;
    } else {
        report.figure("logs", site.folder.display());
    }
    Ok(report)
}

/// Sends each server more concurrent requests than it has connections. All must succeed.
async fn unserved(site: &Site, world: &World) -> Vec<Violation> {
    let bytes =
        request(("GET", "/api/v1/messages?limit=1"), &world.accounts[0].key, "", &Value::Null);
    let mut asked = JoinSet::new();
    for addr in site.fleet.addresses.all() {
        for _ in 0..AFTERWARDS {
            let bytes = bytes.clone();
            asked.spawn(async move {
                ask_patiently(addr, &bytes).await.map_or(0, |answer| answer.status)
            });
        }
    }
    let answers = asked.join_all().await.into_iter().filter(|status| *status != 200);
    let rule = "a server still serves";
    answers.map(|status| Violation::new(rule, format!("an answer {status}"))).collect()
}
