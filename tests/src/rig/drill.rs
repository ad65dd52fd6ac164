//! Failover: a primary and a synchronous standby, the primary killed under load and the standby
//! promoted, again and again. Nothing that was accepted may be lost, nothing may be charged twice,
//! and the servers must find the new primary by themselves.
//!
//! Each round kills the primary in one of two ways, promotes the standby, and makes a new standby
//! of the new primary, at the address of the old one.

use std::time::Duration;

use clap::Args;
use sms_test_postgres::Stop;
use sqlx::{PgConnection, Row};
use tokio::time::{Instant, sleep};

use super::campaign::{change, look};
use super::fault::Outage;
use super::fleet::{Network, now};
use super::records::{Records, Told};
use super::scene::{Load, Scene};
use super::site::{Pair, Site};
use super::{Report, RigFailed, Violation};
use crate::simulation::dice::Dice;

/// Number of servers on the database.
const REPLICAS: usize = 2;
/// How long after the promotion a server may take until it accepts a send.
const RECOVERY: Duration = Duration::from_secs(10);
/// Settings of this scenario.
#[derive(Debug, Clone, Args)]
pub struct Settings {
    /// Number of rounds, with one failover each
    #[arg(long, default_value_t = 20)]
    pub rounds: usize,
    /// The load
    #[command(flatten)]
    pub load: Load,
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
    let mut dice = Dice::new(settings.load.seed);
    let lease = settings.load.lease();
    let (mut site, mut pair) = Site::prepare_pair(REPLICAS, lease, Network::Free).await?;
    let scene = Scene::begin(&site, &settings.load, &mut dice).await?;
    let mut outages: Vec<Outage> = Vec::new();
    let mut slowest = Duration::ZERO;
    report.row(format!(
        "{:>5} {:>10} {:>6} {:>14} {:>12}",
        "round", "accepted", "lost", "charged twice", "recovery"
    ));
    for number in 1..=settings.rounds {
        scene.round(number);
        sleep(Duration::from_millis(dice.between(1_000, 2_000))).await;
        change(&scene.crowd, number, &mut dice).await?;
        let from = now();
        let done = fail_over(number, &mut site, &mut pair, &scene, &mut dice).await?;
        outages.push((from, now()));
        slowest = slowest.max(done.recovery);
        eprintln!("{}", done.row(number));
        report.row(done.row(number));
        report.violations.extend(judge(number, &done));
        report.violations.extend(look(&mut site).await?);
        if !report.violations.is_empty() {
            break;
        }
        pair.restore(&site).await?;
    }
    report.figure("seed", settings.load.seed);
    report.figure("failovers", outages.len());
    report.figure("servers", REPLICAS);
    report.figure("slowest recovery", format!("{:.1} s", slowest.as_secs_f64()));
    scene.end(&mut site, lease, &outages, &mut report).await?;
    report.took = started.elapsed();
    Ok(report)
}

impl Round {
    fn row(&self, number: usize) -> String {
        let Self { accepted, lost, charged_twice, recovery } = self;
        let seconds = recovery.as_secs_f64();
        format!("{number:>5} {accepted:>10} {lost:>6} {charged_twice:>14} {seconds:>10.1} s")
    }
}

/// Kills the primary, promotes the standby, and waits until every server accepts sends again.
async fn fail_over(
    number: usize,
    site: &mut Site,
    pair: &mut Pair,
    scene: &Scene,
    dice: &mut Dice,
) -> Result<Round, RigFailed> {
    // Half of the primaries end with all their processes, half leave theirs behind.
    if number.is_multiple_of(2) {
        site.postgres()?.stop(Stop::Immediate);
    } else {
        site.postgres()?.kill();
    }
    sleep(Duration::from_millis(dice.between(50, 1_500))).await;
    pair.promote(site)?;
    let recovery = scene.recovery(number, Instant::now(), dice).await;
    let mut db = site.connect().await?;
    let (accepted, lost) = lost(&mut db, &scene.crowd.records).await?;
    let charged_twice = charged_twice(&mut db).await?;
    Ok(Round { accepted, lost, charged_twice, recovery })
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
