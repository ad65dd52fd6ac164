//! Failover: a primary and a synchronous standby, the primary killed under load and the standby
//! promoted, again and again. Nothing that was accepted may be lost, nothing may be charged twice,
//! and the servers must find the new primary by themselves.
//!
//! Each round kills the primary in one of two ways, promotes the standby, and makes a new standby
//! of the new primary, at the address of the old one.

use std::net::SocketAddr;
use std::time::Duration;

use clap::Args;
use sms_test_postgres::Stop;
use sqlx::{PgConnection, Row};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::campaign::{audit, change, drain, look};
use super::fault::Outage;
use super::fleet::{Network, now};
use super::hand_overs;
use super::load::Crowd;
use super::receiver::Receiver;
use super::records::{Records, Told};
use super::site::{Pair, Site};
use super::world::World;
use super::{Report, RigFailed, Violation};
use crate::simulation::dice::Dice;

/// Number of servers on the database.
const REPLICAS: usize = 2;
/// How long after the promotion a server may take until it accepts a send.
const RECOVERY: Duration = Duration::from_secs(10);
/// The time between two sends that ask for it.
const BETWEEN_SENDS: Duration = Duration::from_millis(100);
/// How long the rig waits for it.
const PATIENCE: Duration = Duration::from_mins(1);
/// How long the amount of waiting work may stay the same at the end, besides two leases.
const STANDSTILL: Duration = Duration::from_secs(30);

/// Settings of this scenario.
#[derive(Debug, Clone, Args)]
pub struct Settings {
    /// Number of rounds, with one failover each
    #[arg(long, default_value_t = 20)]
    pub rounds: usize,
    /// Number of concurrent clients
    #[arg(long, default_value_t = 16)]
    pub clients: usize,
    /// Approximate requests per second of all clients together
    #[arg(long, default_value_t = 40)]
    pub rate: u64,
    /// Length of leases, in seconds
    #[arg(long, default_value_t = 30)]
    pub lease: u64,
    /// Seed for the moments and the load
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// What one failover did.
struct Round {
    accepted: usize,
    lost: usize,
    charged_twice: i64,
    recovery: Duration,
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
    let lease = Duration::from_secs(settings.lease);
    let (mut site, mut pair) = Site::prepare_pair(REPLICAS, lease, Network::Free).await?;
    let receiver = Receiver::start(dice.fork()).await?;
    let records = Records::default();
    let addresses = site.fleet.addresses.clone();
    let world = World::make(addresses.all()[0], receiver.addr, &records).await?;
    let (tell_round, round) = watch::channel(0);
    let pause = Duration::from_millis(1_000 * settings.clients as u64 / settings.rate.max(1));
    let crowd = Crowd { world: world.clone(), addresses, records: records.clone(), round, pause };
    let (stop, stopping) = watch::channel(());
    let clients = crowd.start(settings.clients, &mut dice, &stopping);

    let mut outages: Vec<Outage> = Vec::new();
    let mut slowest = Duration::ZERO;
    report.row(format!(
        "{:>5} {:>10} {:>6} {:>14} {:>12}",
        "round", "accepted", "lost", "charged twice", "recovery"
    ));
    for number in 1..=settings.rounds {
        tell_round.send_replace(number as u64);
        sleep(Duration::from_millis(dice.between(1_000, 2_000))).await;
        change(&crowd, number, &mut dice).await?;
        let from = now();
        let done = fail_over(number, &mut site, &mut pair, &crowd, &mut dice).await?;
        outages.push((from, now()));
        let Round { accepted, lost, charged_twice, recovery } = done;
        slowest = slowest.max(recovery);
        let seconds = recovery.as_secs_f64();
        let row =
            format!("{number:>5} {accepted:>10} {lost:>6} {charged_twice:>14} {seconds:>10.1} s");
        eprintln!("{row}");
        report.row(row);
        report.violations.extend(judge(number, &done));
        report.violations.extend(look(&mut site).await?);
        if !report.violations.is_empty() {
            break;
        }
        pair.restore(&site).await?;
    }
    drop(stop);
    clients.join_all().await;
    report.violations.extend(site.fleet.renew().await?);
    drain(&site, 2 * lease + STANDSTILL, &mut report).await?;
    report.violations.extend(site.fleet.end().await?);

    report.figure("seed", settings.seed);
    report.figure("failovers", outages.len());
    report.figure("servers", REPLICAS);
    report.figure("slowest recovery", format!("{:.1} s", slowest.as_secs_f64()));
    let mut db = site.connect().await?;
    let failed = audit(&mut db, &site, (&records, &world), &receiver, &mut report).await?;
    let handed = hand_overs::read(&site.folder)?;
    let twice = hand_overs::explain(&handed, &failed, &site.fleet.pauses, &outages, lease);
    report.figure("handed over again", twice.count);
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

/// Kills the primary, promotes the standby, and waits until every server accepts sends again.
async fn fail_over(
    number: usize,
    site: &mut Site,
    pair: &mut Pair,
    crowd: &Crowd,
    dice: &mut Dice,
) -> Result<Round, RigFailed> {
    // Half of the primaries end with all their processes, half leave theirs behind.
    if number.is_multiple_of(2) {
        site.postgres.stop(Stop::Immediate);
    } else {
        site.postgres.kill();
    }
    sleep(Duration::from_millis(dice.between(50, 1_500))).await;
    pair.promote(site);
    let promoted = Instant::now();
    let mut servers = JoinSet::new();
    for (place, addr) in site.fleet.addresses.all().into_iter().enumerate() {
        let (crowd, dice) = (crowd.clone(), dice.fork());
        let first = (number * REPLICAS + place) * 1_000;
        servers.spawn(until_accepted(crowd, addr, dice, first, promoted));
    }
    let recovery = servers.join_all().await.into_iter().max().unwrap_or_default();
    let mut db = site.connect().await?;
    let (accepted, lost) = lost(&mut db, &crowd.records).await?;
    let charged_twice = charged_twice(&mut db).await?;
    Ok(Round { accepted, lost, charged_twice, recovery })
}

/// Sends until a server answers that it has settled a send. Returns how long that took.
async fn until_accepted(
    crowd: Crowd,
    addr: SocketAddr,
    mut dice: Dice,
    first: usize,
    since: Instant,
) -> Duration {
    for name in first.. {
        let told = crowd.send_one(name, addr, &mut dice).await;
        if told != Told::Nothing || since.elapsed() > PATIENCE {
            break;
        }
        sleep(BETWEEN_SENDS).await;
    }
    since.elapsed()
}

/// How many messages were accepted so far, and how many of them the database does not have.
async fn lost(db: &mut PgConnection, records: &Records) -> Result<(usize, usize), RigFailed> {
    let told: Vec<uuid::Uuid> = {
        let known = records.lock();
        let messages = known.sends.values().flat_map(|told| match told {
            Told::Accepted { messages, .. } => messages.as_slice(),
            Told::Refused | Told::Nothing => &[],
        });
        messages.map(|id| uuid::Uuid::from_u128(id.as_u128())).collect()
    };
    let there = sqlx::query(
        "SELECT count(*) FROM UNNEST($1::uuid[]) AS told (id) JOIN message m ON m.id = told.id",
    );
    let there: i64 = there.bind(&told).fetch_one(db).await?.try_get(0)?;
    Ok((told.len(), told.len() - usize::try_from(there).unwrap_or_default()))
}

/// How many sends were charged more than once.
async fn charged_twice(db: &mut PgConnection) -> Result<i64, RigFailed> {
    let twice = sqlx::query_scalar(
        "SELECT count(*) FROM (
             SELECT FROM ledger_entry WHERE kind = 'send'
             GROUP BY account_id, batch_id HAVING count(*) > 1) AS twice",
    );
    Ok(twice.fetch_one(db).await?)
}

fn judge(number: usize, round: &Round) -> Vec<Violation> {
    let Round { accepted: _, lost, charged_twice, recovery } = round;
    let mut found = Vec::new();
    if *lost > 0 {
        let rule = "an accepted message survives a failover";
        found.push(Violation::new(rule, format!("{lost} of round {number}")));
    }
    if *charged_twice > 0 {
        let rule = "a send is charged once";
        found.push(Violation::new(rule, format!("{charged_twice} of round {number}")));
    }
    if *recovery > RECOVERY {
        let rule = "a server finds the new primary within 10 s";
        found.push(Violation::new(rule, format!("{:.1} s", recovery.as_secs_f64())));
    }
    found
}
