//! Kills a server again and again while it submits to an SMSC, and counts what arrives twice.
//!
//! Each round sends messages, kills the server at a random moment (`kill -9`), starts it again, and
//! lets the leases of the dead server run out at once. When nothing waits any more, each message
//! must have arrived. What arrived twice must be no more than fits into the windows of all
//! connections, and the events of each such message must say so.

use std::collections::HashMap;
use std::fs::File;
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

use clap::Args;
use serde_json::json;
use sms_server::settings::Settings as ServerSettings;
use sms_server::{logging, run};
use sms_test_postgres::{Durability, Server as Postgres};
use sqlx::{Connection, PgConnection, Row};
use tokio::time::{Instant, sleep, timeout};

use super::fleet::{OPERATOR, address_printed, now};
use super::http::{ask, request};
use super::replica::end_with_the_rig;
use super::site::comes_true;
use super::smsc::{CountingSmsc, Words};
use super::world::call;
use super::{Report, RigFailed, Violation};
use crate::simulation::dice::Dice;

const DATABASE: &str = "sms_window";
/// How many people a request sends a message to.
const PEOPLE: u64 = 800;
/// The first of them.
const FIRST: u64 = 447_700_900_100;
/// How long a step may take.
const BOUND: Duration = Duration::from_mins(2);
/// The time for a new server to record what the dead one left, before leases run out.
const TO_RECORD: Duration = Duration::from_millis(1_500);

/// Settings of this scenario.
#[derive(Debug, Clone, Args)]
pub struct Settings {
    /// How often the server is killed
    #[arg(long, default_value_t = 20)]
    pub rounds: usize,
    /// Seed of the moments of the kills
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// The window of each connection
    #[arg(long, default_value_t = 100)]
    pub window: usize,
    /// How many connections
    #[arg(long, default_value_t = 1)]
    pub binds: usize,
    /// Requests of 800 messages in each round
    #[arg(long, default_value_t = 4)]
    pub requests: usize,
    /// How long the SMSC takes to answer, in milliseconds
    #[arg(long, default_value_t = 0)]
    pub answers_after: u64,
    /// Give the server a journal
    #[arg(long)]
    pub journal: bool,
    /// Only measure how fast messages are submitted: kill nothing
    #[arg(long)]
    pub speed: bool,
    /// Another program to run in place of this one's own server, such as an older `sms-server`;
    /// what it sends twice is counted and breaks no rule
    #[arg(long)]
    pub server: Option<PathBuf>,
}

/// Arguments of the server that this scenario starts.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    settings: ServerSettings,
}

/// Serves until it is killed, or until the rig is gone.
pub fn serve(arguments: Arguments) -> ExitCode {
    let Arguments { settings } = arguments;
    logging::start(&settings.log, settings.log_format);
    end_with_the_rig();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let result = match runtime {
        Ok(runtime) => runtime
            .block_on(run(settings, std::future::pending()))
            .map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("server: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the scenario.
///
/// # Errors
///
/// If the rig itself fails. Violations are in the report.
pub async fn run_rounds(settings: &Settings) -> Result<Report, RigFailed> {
    let started = Instant::now();
    let folder = std::env::temp_dir().join(format!("sms-window-{}-{}", std::process::id(), now()));
    std::fs::create_dir_all(&folder)?;
    let postgres = Postgres::start(Durability::Full);
    postgres.create_database(DATABASE).await;
    let smsc = CountingSmsc::start(Duration::from_millis(settings.answers_after)).await?;
    let mut stage = Stage {
        database: postgres.url(DATABASE),
        db: PgConnection::connect(&postgres.url(DATABASE)).await?,
        folder,
        settings: settings.clone(),
        smsc,
        dice: Dice::new(settings.seed),
        key: String::new(),
        lives: 0,
    };
    let mut report = Report::default();
    let mut running = stage.start().await?;
    stage.key = stage.account(running.addr).await?;
    let mut totals = Totals::default();
    for round in 0..settings.rounds {
        if settings.speed {
            totals.speeds.push(stage.speed(&running, round).await?);
        } else {
            running = stage.round(running, round, &mut totals).await?;
        }
    }
    drop(running);
    totals.tell(settings, &mut report);
    if settings.server.is_none() {
        report.violations.extend(totals.violations(settings));
    }
    report.took = started.elapsed();
    if report.violations.is_empty() {
        std::fs::remove_dir_all(&stage.folder)?;
    }
    Ok(report)
}

struct Stage {
    database: String,
    db: PgConnection,
    folder: PathBuf,
    settings: Settings,
    smsc: CountingSmsc,
    dice: Dice,
    key: String,
    /// How many servers were started.
    lives: usize,
}

/// A running server. It ends when this is dropped.
struct Running {
    child: Child,
    addr: SocketAddr,
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already. It is gone after this either way.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What came of all rounds.
#[derive(Debug, Default)]
struct Totals {
    messages: usize,
    lost: usize,
    /// Repeated submits, round by round.
    twice: Vec<usize>,
    /// Messages that were submitted twice although their events do not say so.
    unnamed: usize,
    /// Messages whose events say so although they were submitted once.
    named_in_vain: usize,
    /// How long it took from a kill until nothing waited.
    recoveries: Vec<Duration>,
    /// Messages a second of each round without a kill.
    speeds: Vec<f64>,
}

impl Stage {
    async fn start(&mut self) -> Result<Running, RigFailed> {
        let log = self.folder.join(format!("log-{}", self.lives));
        let replica = self.lives;
        self.lives += 1;
        let mut command = if let Some(program) = &self.settings.server {
            Command::new(program)
        } else {
            let mut own = Command::new(std::env::current_exe()?);
            own.arg("server");
            own
        };
        let level = std::env::var("SMS_LOG").unwrap_or_else(|_| "warn".to_owned());
        let (window, binds) = (self.settings.window.to_string(), self.settings.binds.to_string());
        let url = format!("smpp://example@{}", self.smsc.addr);
        command.env_clear().envs(sms_test_clock::variables()).envs([
            ("DATABASE_URL", self.database.as_str()),
            ("SMS_ADDR", "127.0.0.1:0"),
            ("SMS_ADMIN_TOKEN", OPERATOR),
            ("SMS_DEMO", "false"),
            ("SMS_LOG", level.as_str()),
            ("SMS_RATE_BURST", "1000000"),
            ("SMS_RATE_PER_SECOND", "100000"),
            ("SMS_ROUTES", "main"),
            ("SMS_ROUTE_MAIN_URL", url.as_str()),
            ("SMS_ROUTE_MAIN_PASSWORD", "example"),
            ("SMS_ROUTE_MAIN_WINDOW", window.as_str()),
            ("SMS_ROUTE_MAIN_BINDS", binds.as_str()),
            ("RUST_BACKTRACE", "1"),
        ]);
        if self.settings.journal {
            command.env("SMS_JOURNAL_DIR", self.folder.join("journal"));
        }
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(File::create(&log)?).spawn()?;
        let printed = child.stdout.take();
        let mut running = Running { child, addr: SocketAddr::from(([127, 0, 0, 1], 0)) };
        let not_started = || RigFailed::NotStarted { replica, log: log.clone() };
        let address = printed.map(address_printed).ok_or_else(not_started)?;
        let address = timeout(BOUND, address).await.ok().and_then(Result::ok);
        running.addr = address.ok_or_else(not_started)?;
        Ok(running)
    }

    /// Makes an account with a number. Returns its key.
    async fn account(&self, addr: SocketAddr) -> Result<String, RigFailed> {
        let body = json!({ "name": "Rig", "status": "active", "credits": 100_000_000 });
        let made = call(addr, "/admin/v1/accounts", OPERATOR, &body).await?;
        let id = made["id"].as_str().unwrap_or_default();
        let number = json!({ "phone_number": "+447700900001", "account_id": id });
        call(addr, "/admin/v1/numbers", OPERATOR, &number).await?;
        let keys = format!("/admin/v1/accounts/{id}/keys");
        let made = call(addr, &keys, OPERATOR, &json!({ "kind": "live" })).await?;
        Ok(made["key"].as_str().unwrap_or_default().to_owned())
    }

    /// Sends the messages of one round. Those that are not accepted do not exist.
    async fn send(addr: SocketAddr, key: String, round: usize, requests: usize) {
        let to: Vec<String> = (FIRST..FIRST + PEOPLE).map(|number| format!("+{number}")).collect();
        for send in 0..requests {
            let body = json!({ "to": to, "body": format!("round {round} send {send}") });
            let _ = ask(addr, &request(("POST", "/api/v1/messages"), &key, "", &body)).await;
        }
    }

    async fn queue_is_empty(&mut self) -> Result<(), RigFailed> {
        let Self { db, .. } = self;
        let empty = comes_true(BOUND, async || {
            let row = sqlx::query("SELECT count(*) AS waiting FROM queue").fetch_one(&mut *db);
            Ok(row.await?.get::<i64, _>("waiting") == 0)
        });
        if empty.await? { Ok(()) } else { Err(RigFailed::Late("the queue to be empty")) }
    }

    /// Messages a second, from the first `submit_sm` to the last.
    async fn speed(&mut self, running: &Running, round: usize) -> Result<f64, RigFailed> {
        let before = self.smsc.counts().submits;
        let requests = self.settings.requests;
        let start = Instant::now();
        Self::send(running.addr, self.key.clone(), round, requests).await;
        self.queue_is_empty().await?;
        let counts = self.smsc.counts();
        let took = counts.last.map_or(Duration::ZERO, |last| last - start);
        #[expect(clippy::cast_precision_loss, reason = "it is a small number")]
        Ok((counts.submits - before) as f64 / took.as_secs_f64())
    }

    async fn round(
        &mut self,
        mut running: Running,
        round: usize,
        totals: &mut Totals,
    ) -> Result<Running, RigFailed> {
        let Settings { requests, .. } = self.settings;
        let before = self.smsc.counts().submits;
        let key = self.key.clone();
        let sending = tokio::spawn(Self::send(running.addr, key, round, requests));
        // Somewhere on the way, when there is still enough to submit.
        let most = PEOPLE * requests as u64;
        let target = before
            + usize::try_from(self.dice.between(most / 10, most * 8 / 10)).unwrap_or_default();
        let deadline = Instant::now() + BOUND;
        while self.smsc.counts().submits < target {
            if Instant::now() > deadline {
                return Err(RigFailed::Late("the SMSC to get messages"));
            }
            sleep(Duration::from_millis(1)).await;
        }
        running.child.kill()?;
        running.child.wait()?;
        let killed = Instant::now();
        let _ = sending.await;
        let held = sqlx::query("SELECT DISTINCT lease FROM queue WHERE lease IS NOT NULL");
        let held: Vec<uuid::Uuid> =
            held.fetch_all(&mut self.db).await?.iter().map(|row| row.get("lease")).collect();
        let next = self.start().await?;
        sleep(TO_RECORD).await;
        let run_out = "UPDATE queue SET claimable_at = clock_timestamp() WHERE lease = ANY($1)";
        sqlx::query(run_out).bind(held).execute(&mut self.db).await?;
        self.queue_is_empty().await?;
        totals.recoveries.push(killed.elapsed());
        self.compare(round, totals).await?;
        Ok(next)
    }

    /// Compares what the SMSC got in this round with the messages that exist.
    async fn compare(&mut self, round: usize, totals: &mut Totals) -> Result<(), RigFailed> {
        let rows = sqlx::query(
            "SELECT to_number, body, EXISTS (
                 SELECT FROM jsonb_array_elements(timeline) AS line
                 WHERE line->>'detail' ILIKE '%twice%'
                     OR line->>'detail' LIKE '%may have been sent%') AS named
             FROM message WHERE body LIKE $1",
        );
        let rows = rows.bind(format!("round {round} %")).fetch_all(&mut self.db).await?;
        let times: HashMap<Words, usize> = {
            let counts = self.smsc.counts();
            let of_round =
                |(words, _): &(&Words, &usize)| words.1.starts_with(&format!("round {round} "));
            counts.times.iter().filter(of_round).map(|(words, n)| (words.clone(), *n)).collect()
        };
        let mut twice = 0;
        for row in &rows {
            let to = u64::try_from(row.get::<i64, _>("to_number")).unwrap_or_default();
            let words = (to, row.get::<String, _>("body"));
            let named: bool = row.get("named");
            match times.get(&words).copied().unwrap_or_default() {
                0 => totals.lost += 1,
                1 => totals.named_in_vain += usize::from(named),
                more => {
                    twice += more - 1;
                    totals.unnamed += usize::from(!named);
                }
            }
        }
        totals.messages += rows.len();
        totals.twice.push(twice);
        Ok(())
    }
}

impl Totals {
    #[expect(clippy::cast_precision_loss, reason = "they are small numbers")]
    fn tell(&self, settings: &Settings, report: &mut Report) {
        let Self { messages, lost, twice, unnamed, named_in_vain, recoveries, speeds } = self;
        report.figure("window", settings.window * settings.binds);
        if settings.speed {
            let mut sorted = speeds.clone();
            sorted.sort_by(f64::total_cmp);
            let told: Vec<String> = speeds.iter().map(|speed| format!("{speed:.0}")).collect();
            report.figure("messages a second", told.join(" "));
            report.figure("median", format!("{:.0}", sorted[sorted.len() / 2]));
            return;
        }
        let total: usize = twice.iter().sum();
        report.figure("rounds", twice.len());
        report.figure("messages", messages);
        report.figure("lost", lost);
        report.figure("sent twice, most", twice.iter().max().copied().unwrap_or_default());
        report.figure("sent twice, mean", format!("{:.1}", total as f64 / twice.len() as f64));
        let told: Vec<String> = twice.iter().map(usize::to_string).collect();
        report.figure("sent twice, each round", told.join(" "));
        report.figure("sent twice and not named", unnamed);
        report.figure("named and sent once", named_in_vain);
        let longest = recoveries.iter().max().copied().unwrap_or_default();
        report.figure("longest recovery", format!("{:.1} s", longest.as_secs_f64()));
    }

    fn violations(&self, settings: &Settings) -> Vec<Violation> {
        let mut violations = Vec::new();
        let bound = settings.window * settings.binds;
        for count in self.twice.iter().filter(|count| **count > bound) {
            let rule = "a kill sends no more twice than the windows hold";
            violations.push(Violation::new(rule, format!("{count} of {bound}")));
        }
        if self.lost > 0 {
            violations.push(Violation::new("no message is lost", self.lost.to_string()));
        }
        if self.unnamed > 0 {
            let rule = "the events of a message say that it may be sent twice";
            violations.push(Violation::new(rule, self.unnamed.to_string()));
        }
        violations
    }
}
