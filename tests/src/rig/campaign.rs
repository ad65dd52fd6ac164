//! Rounds of load and faults, each followed by an audit, and a full audit at the end.

use std::collections::BTreeSet;
use std::time::Duration;

use clap::Args;
use sms_core::ids::MessageId;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use super::audit::rules::Waiting;
use super::audit::{messages, rules, webhooks};
use super::fault::{Fault, Outage};
use super::fleet::Network;
use super::hand_overs;
use super::http::{ask, request};
use super::load::Crowd;
use super::receiver::Receiver;
use super::records::Records;
use super::site::{Site, comes_true};
use super::world::{World, stopper};
use super::{Report, RigFailed, Violation};
use crate::simulation::dice::Dice;

/// How long the servers may take to recover after a fault.
const RECOVERY: Duration = Duration::from_secs(30);
/// How long the amount of waiting work may stay the same at the end, besides two leases.
const STANDSTILL: Duration = Duration::from_secs(30);

/// Settings of a campaign.
#[derive(Debug, Clone, Args)]
pub struct Settings {
    /// Number of rounds, with one fault each
    #[arg(long, default_value_t = 100)]
    pub rounds: usize,
    /// Number of servers on the database
    #[arg(long, default_value_t = 3)]
    pub replicas: usize,
    /// Number of concurrent clients
    #[arg(long, default_value_t = 16)]
    pub clients: usize,
    /// Approximate requests per second of all clients together
    #[arg(long, default_value_t = 40)]
    pub rate: u64,
    /// Length of leases, in seconds
    #[arg(long, default_value_t = 30)]
    pub lease: u64,
    /// Seed for faults and load
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// The faults; each occurs once before any occurs again
    #[arg(long, value_delimiter = ',', default_values_t = Fault::ALL)]
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
    let mut dice = Dice::new(settings.seed);
    let lease = Duration::from_secs(settings.lease);
    let mut site = Site::prepare(settings.replicas, lease, Network::Free).await?;
    let receiver = Receiver::start(dice.fork()).await?;
    let records = Records::default();
    let addresses = site.fleet.addresses.clone();
    let world = World::make(addresses.all()[0], receiver.addr, &records).await?;
    let (tell_round, round) = watch::channel(0);
    let pause = Duration::from_millis(1_000 * settings.clients as u64 / settings.rate.max(1));
    let crowd = Crowd { world: world.clone(), addresses, records: records.clone(), round, pause };
    let (stop, stopping) = watch::channel(());
    let clients = crowd.start(settings.clients, &mut dice, &stopping);

    let mut deck = Deck { faults: settings.faults.clone(), left: Vec::new() };
    let mut outages: Vec<Outage> = Vec::new();
    let mut rounds = 0;
    while rounds < settings.rounds && report.violations.is_empty() {
        rounds += 1;
        tell_round.send_replace(rounds as u64);
        sleep(Duration::from_millis(dice.between(200, 1_200))).await;
        change(&crowd, rounds, &mut dice).await?;
        let fault = deck.draw(&mut dice);
        outages.extend(fault.strike(rounds, &mut site, &crowd, &mut dice).await?);
        sleep(Duration::from_millis(dice.between(100, 600))).await;
        let found = look(&mut site).await?;
        let accepted = records.lock().accepted();
        eprintln!("round {rounds}: {fault}; {accepted} messages, {} violations", found.len());
        report.violations.extend(found);
    }
    drop(stop);
    clients.join_all().await;
    eprintln!("no more requests; waiting for remaining work");
    report.violations.extend(site.fleet.renew().await?);
    drain(&site, 2 * lease + STANDSTILL, &mut report).await?;
    report.violations.extend(site.fleet.end().await?);

    report.figure("seed", settings.seed);
    report.figure("rounds", rounds);
    report.figure("servers", settings.replicas);
    let mut db = site.connect().await?;
    let failed = audit(&mut db, &site, (&records, &world), &receiver, &mut report).await?;
    let handed = hand_overs::read(&site.folder)?;
    let twice = hand_overs::explain(&handed, &failed, &site.fleet.pauses, &outages, lease);
    let kills = site.fleet.pauses.iter().filter(|pause| pause.until.is_none()).count();
    report.figure("servers killed", kills);
    report.figure("servers stopped for a while", site.fleet.pauses.len() - kills);
    report.figure("database outages", outages.len());
    report.figure("handed over again", twice.count);
    report.figure("sent unrecorded, then failed", twice.then_failed);
    report.violations.extend(twice.violations);
    report.violations.extend(site.panics()?);
    report.took = started.elapsed();
    if report.violations.is_empty() {
        site.clear()?;
    } else {
        report.figure("logs", site.folder.display());
    }
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
    let mut db = site.connect().await?;
    found.extend(rules::always(&mut db).await?);
    found.extend(rules::stale_under_load(&mut db).await?);
    Ok(found)
}

/// Waits until no work is left, as long as the amount decreases. No request may be under way. Each
/// commit that finishes work also writes what follows from it, so this overlooks none.
pub(super) async fn drain(
    site: &Site,
    patience: Duration,
    report: &mut Report,
) -> Result<(), RigFailed> {
    let mut db = site.connect().await?;
    let mut least = i64::MAX;
    while least > 0 {
        let mut waiting = Waiting::default();
        let goes_on = comes_true(patience, async || {
            waiting = rules::waiting(&mut db).await?;
            Ok(waiting.work() < least)
        });
        if !goes_on.await? {
            let rule = "all work completes";
            report.violations.push(Violation::new(rule, waiting.to_string()));
            break;
        }
        least = waiting.work();
    }
    report.violations.extend(rules::stale_at_rest(&mut db).await?);
    Ok(())
}

/// The full audit.
pub(super) async fn audit(
    db: &mut sqlx::PgConnection,
    site: &Site,
    (records, world): (&Records, &World),
    receiver: &Receiver,
    report: &mut Report,
) -> Result<BTreeSet<MessageId>, RigFailed> {
    report.violations.extend(rules::always(db).await?);
    report.violations.extend(rules::at_the_end(db).await?);
    let all = messages::read(db).await?;
    let handed = hand_overs::read(&site.folder)?;
    {
        let known = records.lock();
        let statuses = known.statuses.iter().map(|(status, count)| format!("{status}: {count}"));
        let statuses = statuses.collect::<Vec<_>>().join(", ");
        report.figure("requests cut off", known.cut_off);
        report.figure("answers (0: none)", statuses);
        messages::audit(&all, &known, world, &handed, report);
    }
    webhooks::audit(db, &all, &receiver.taken(), report).await?;
    Ok(messages::failed(&all))
}
