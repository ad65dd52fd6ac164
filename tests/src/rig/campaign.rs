//! Rounds of load and faults, each followed by an audit, and a full audit at the end.

use std::time::Duration;

use clap::Args;
use tokio::time::{Instant, sleep};

use super::audit::Books;
use super::fault::{Fault, Outage};
use super::fleet::Network;
use super::http::{ask, request};
use super::load::Crowd;
use super::scene::{Load, Scene};
use super::site::{Site, StoreKind, comes_true};
use super::world::stopper;
use super::{Report, RigFailed, Violation};
use crate::simulation::dice::Dice;

/// How long the servers may take to recover after a fault.
const RECOVERY: Duration = Duration::from_secs(30);

/// Settings of a campaign.
#[derive(Debug, Clone, Args)]
pub struct Settings {
    /// Number of rounds, with one fault each
    #[arg(long, default_value_t = 100)]
    pub rounds: usize,
    /// The store of the servers
    #[arg(long, value_enum, default_value_t = StoreKind::Postgres)]
    pub on: StoreKind,
    /// Number of servers on the database; a file has one
    #[arg(long, default_value_t = 3)]
    pub replicas: usize,
    /// The load
    #[command(flatten)]
    pub load: Load,
    /// The faults; each occurs once before any occurs again [default: all that the store has]
    #[arg(long, value_delimiter = ',')]
    pub faults: Vec<Fault>,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        use clap::ValueEnum;
        let value = self.to_possible_value();
        f.write_str(value.as_ref().map_or("", |value| value.get_name()))
    }
}

/// Faults in random order, shuffled again once all have occurred.
struct Deck {
    faults: Vec<Fault>,
    left: Vec<Fault>,
}

impl Deck {
    fn draw(&mut self, dice: &mut Dice) -> Fault {
        if self.left.is_empty() {
            self.left.clone_from(&self.faults);
        }
        self.left.swap_remove(dice.below(self.left.len()))
    }
}

/// Runs a campaign.
///
/// # Errors
///
/// If the rig itself fails. Violations are in the report.
pub async fn run(settings: &Settings) -> Result<Report, RigFailed> {
    let started = Instant::now();
    let mut report = Report::default();
    let mut dice = Dice::new(settings.load.seed);
    let lease = settings.load.lease();
    let replicas = settings.replicas;
    let mut site = Site::prepare_store(settings.on, replicas, lease, Network::Free).await?;
    let scene = Scene::begin(&site, &settings.load, &mut dice).await?;
    let faults = match &settings.faults[..] {
        [] => Fault::of(settings.on),
        chosen => chosen.to_vec(),
    };
    let mut deck = Deck { faults, left: Vec::new() };
    let mut outages: Vec<Outage> = Vec::new();
    let mut rounds = 0;
    while rounds < settings.rounds && report.violations.is_empty() {
        rounds += 1;
        scene.round(rounds);
        sleep(Duration::from_millis(dice.between(200, 1_200))).await;
        change(&scene.crowd, rounds, &mut dice).await?;
        let fault = deck.draw(&mut dice);
        outages.extend(fault.strike(rounds, &mut site, &scene.crowd, &mut dice).await?);
        sleep(Duration::from_millis(dice.between(100, 600))).await;
        let found = look(&mut site).await?;
        let accepted = scene.crowd.records.lock().accepted();
        eprintln!("round {rounds}: {fault}; {accepted} messages, {} violations", found.len());
        report.violations.extend(found);
    }
    report.figure("seed", settings.load.seed);
    report.figure("rounds", rounds);
    report.figure("servers", site.fleet.len());
    scene.end(&mut site, lease, &outages, &mut report).await?;
    let kills = site.fleet.pauses.iter().filter(|pause| pause.until.is_none()).count();
    report.figure("servers killed", kills);
    report.figure("servers stopped for a while", site.fleet.pauses.len() - kills);
    report.figure("slowest start", format!("{} ms", site.fleet.slowest_start.as_millis()));
    report.took = started.elapsed();
    Ok(report)
}

/// Opts one number out of every account, and gives one account credits.
pub(super) async fn change(crowd: &Crowd, round: usize, dice: &mut Dice) -> Result<(), RigFailed> {
    let addr = crowd.addresses.any(dice);
    for place in 0..crowd.world.accounts.len() {
        crowd.world.opt_out(addr, place, stopper(round as u64), &crowd.records).await?;
    }
    let place = dice.below(crowd.world.accounts.len());
    crowd.world.top_up(addr, place).await
}

/// Waits until every server is ready, and checks the rules that hold at every moment.
pub(super) async fn look(site: &mut Site) -> Result<Vec<Violation>, RigFailed> {
    let mut found = Vec::new();
    for replica in site.fleet.ended_by_themselves() {
        found.push(Violation::new("a server runs until it is stopped", replica));
    }
    let ready = request(("GET", "/readyz"), "", "", &serde_json::Value::Null);
    for (replica, addr) in site.fleet.addresses.all().into_iter().enumerate() {
        let serves = comes_true(RECOVERY, async || {
            Ok(ask(addr, &ready).await.is_some_and(|answer| answer.status == 200))
        });
        if !serves.await? {
            let rule = "a server recovers after a fault";
            found.push(Violation::new(rule, format!("server {replica}")));
        }
    }
    let mut books = Books::open(site).await?;
    found.extend(books.always().await?);
    found.extend(books.stale_under_load().await?);
    Ok(found)
}
