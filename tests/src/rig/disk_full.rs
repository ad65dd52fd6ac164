//! The disk of the database is full: first that of its tables, then that of its write-ahead log. Or
//! the disk of the file is full, twice.
//!
//! While the tables have no room, statements that need some fail, and reads go on. Without room for
//! the log PostgreSQL stops. Either way callers are told to try again, and servers go on by
//! themselves once there is room and the database runs.

use std::net::SocketAddr;
use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};
use sms_test_postgres::Disk;
use sqlx::{Connection, PgConnection};
use tokio::time::{Instant, sleep, timeout};

use super::campaign::look;
use super::fault::Outage;
use super::fleet::{Network, OPERATOR, now};
use super::http::{ask, request};
use super::records::Told;
use super::scene::{Load, Scene};
use super::site::{Site, StoreKind, comes_true};
use super::{Report, RigFailed, Violation};
use crate::simulation::dice::Dice;

/// Number of servers on the database.
const REPLICAS: usize = 2;
/// Megabytes for tables, and for the write-ahead log.
const ROOM: (u32, u32) = (96, 96);
/// Megabytes for the file and its log.
const ROOM_OF_FILE: u32 = 24;
/// How long it may take until the database notices.
const FILLING: Duration = Duration::from_mins(2);
/// How long a server may take to accept sends once there is room and the database runs.
const RECOVERY: Duration = Duration::from_secs(15);
const LOOK: Duration = Duration::from_millis(100);
/// Names of sends that ask whether the disk is full, apart from those of the others.
const FIRST_ASKED: usize = 1_000_000;
/// Top-ups one after the other between two pauses, to use up what room is left.
const TOP_UPS: usize = 50;

/// Settings of this scenario.
#[derive(Debug, Clone, Args)]
pub struct Settings {
    /// The store of the servers
    #[arg(long, value_enum, default_value_t = StoreKind::Postgres)]
    pub on: StoreKind,
    /// How long each disk stays full once a write has failed, in seconds
    #[arg(long, default_value_t = 5)]
    pub hold: u64,
    /// The load
    #[command(flatten)]
    pub load: Load,
}

/// What is on the disk that is full.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Full {
    Tables,
    Log,
    File,
}

/// The answers to reads while the disk was full.
#[derive(Default)]
struct Reads {
    served: usize,
    /// Told to try again.
    unavailable: usize,
    /// Anything else.
    wrong: usize,
}

/// Runs the scenario.
///
/// # Errors
///
/// If the rig itself fails, for example because it may not mount small disks. Violations are in the
/// report.
pub async fn run(settings: &Settings) -> Result<Report, RigFailed> {
    let lease = settings.load.lease();
    match settings.on {
        StoreKind::Postgres => {
            let (tables, log) = (Disk::mount(ROOM.0)?, Disk::mount(ROOM.1)?);
            let site = Site::prepare_on(&tables, &log, REPLICAS, lease, Network::Free).await?;
            let rounds = [(Full::Tables, "tables", &tables), (Full::Log, "write-ahead log", &log)];
            fill(settings, site, &rounds).await
        }
        StoreKind::File => {
            let disk = Disk::mount(ROOM_OF_FILE)?;
            let site = Site::prepare_file_on(&disk, lease, Network::Free).await?;
            fill(settings, site, &[(Full::File, "file", &disk), (Full::File, "again", &disk)]).await
        }
    }
}

/// Fills one disk after the other under load.
async fn fill(
    settings: &Settings,
    mut site: Site,
    rounds: &[(Full, &str, &Disk)],
) -> Result<Report, RigFailed> {
    let started = Instant::now();
    let mut report = Report::default();
    let mut dice = Dice::new(settings.load.seed);
    let lease = settings.load.lease();
    let scene = Scene::begin(&site, &settings.load, &mut dice).await?;
    let mut outages: Vec<Outage> = Vec::new();
    report.row(format!(
        "{:<24} {:>12} {:>12} {:>6} {:>10}",
        "full disk of", "reads served", "unavailable", "wrong", "recovery"
    ));
    for (number, (full, name, disk)) in rounds.iter().copied().enumerate() {
        scene.round(number + 1);
        sleep(Duration::from_secs(1)).await;
        let from = now();
        disk.fill();
        until_noticed(number, full, &site, &scene, &mut dice).await?;
        if full == Full::File {
            report.violations.extend(untold(&scene).await?);
        }
        let reads = reads(&scene, Duration::from_secs(settings.hold)).await;
        disk.free();
        if full == Full::Log && !site.postgres()?.is_running() {
            site.postgres()?.start_again();
        }
        let recovery = scene.recovery(number + 1, Instant::now(), &mut dice).await;
        outages.push((from, now()));
        let Reads { served, unavailable, wrong } = reads;
        let seconds = recovery.as_secs_f64();
        report
            .row(format!("{name:<24} {served:>12} {unavailable:>12} {wrong:>6} {seconds:>8.1} s"));
        report.violations.extend(judge(full, &reads, recovery));
        report.violations.extend(look(&mut site).await?);
    }
    scene.end(&mut site, lease, &outages, &mut report).await?;
    report.took = started.elapsed();
    Ok(report)
}

/// Waits until a send fails because the disk is full.
async fn until_noticed(
    number: usize,
    full: Full,
    site: &Site,
    scene: &Scene,
    dice: &mut Dice,
) -> Result<(), RigFailed> {
    let addr = scene.crowd.addresses.all()[0];
    let mut name = FIRST_ASKED * (1 + number);
    let noticed = comes_true(FILLING, async || {
        if full == Full::Log {
            // An error means that the server stops, which is the aim.
            let url = site.postgres()?.url("postgres");
            let _ = timeout(RECOVERY, use_up_the_log(&url)).await;
        }
        name += 1;
        Ok(scene.crowd.send_one(name, addr, dice).await == Told::Nothing)
    });
    if noticed.await? { Ok(()) } else { Err(RigFailed::Late("the disk to be full")) }
}

/// Begins a new file of the log.
async fn use_up_the_log(url: &str) -> Result<(), sqlx::Error> {
    let mut connection = PgConnection::connect(url).await?;
    let next = "SELECT pg_logical_emit_message(false, 'rig', 'full'), pg_switch_wal()";
    sqlx::query(next).execute(&mut connection).await?;
    connection.close().await
}

/// Asks for top-ups until one is refused. The refusal must say after which time to try again.
///
/// One may still succeed after a send has failed: once a checkpoint has emptied the write-ahead log
/// of a file, small commits find room in it again.
async fn untold(scene: &Scene) -> Result<Option<Violation>, RigFailed> {
    let world = &scene.crowd.world;
    let addr = scene.crowd.addresses.all()[0];
    let top_up = json!({ "amount": 1 });
    let path = format!("/admin/v1/accounts/{}/credits", world.accounts[0].id);
    let mut told = None;
    let refused = comes_true(FILLING, async || {
        for _ in 0..TOP_UPS {
            let answer = ask(addr, &request(("POST", &path), OPERATOR, "", &top_up)).await;
            told = answer.map(|answer| (answer.status, answer.retry_after));
            if told.is_none_or(|(status, _)| !(200..300).contains(&status)) {
                return Ok(true);
            }
        }
        Ok(false)
    });
    if !refused.await? {
        return Err(RigFailed::Late("a top-up to be refused"));
    }
    let rule = "a request that needs room is refused with 503 and a time to try again";
    let is_told = matches!(told, Some((503, Some(_))));
    Ok((!is_told).then(|| Violation::new(rule, format!("{told:?}"))))
}

/// Reads from every server again and again.
async fn reads(scene: &Scene, hold: Duration) -> Reads {
    let key = &scene.crowd.world.accounts[0].key;
    let until = Instant::now() + hold;
    let mut reads = Reads::default();
    while Instant::now() < until {
        for addr in scene.crowd.addresses.all() {
            for path in ["/api/v1/balance", "/api/v1/messages?limit=1"] {
                match status(addr, path, key).await {
                    200 => reads.served += 1,
                    503 => reads.unavailable += 1,
                    _ => reads.wrong += 1,
                }
            }
        }
        sleep(LOOK).await;
    }
    reads
}

async fn status(addr: SocketAddr, path: &str, key: &str) -> u16 {
    let answer = ask(addr, &request(("GET", path), key, "", &Value::Null)).await;
    answer.map_or(0, |answer| answer.status)
}

fn judge(full: Full, reads: &Reads, recovery: Duration) -> Vec<Violation> {
    let Reads { served, unavailable, wrong } = reads;
    let mut found = Vec::new();
    let must_serve = full != Full::Log;
    if *wrong > 0 || must_serve && (*unavailable > 0 || *served == 0) {
        let rule = "reads go on while data has no room, and are unavailable at worst";
        found.push(Violation::new(rule, format!("{served}, {unavailable}, {wrong}")));
    }
    if recovery > RECOVERY {
        let rule = "servers go on by themselves once there is room";
        found.push(Violation::new(rule, format!("{:.1} s", recovery.as_secs_f64())));
    }
    found
}
