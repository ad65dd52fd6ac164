//! The servers: starting, killing, pausing, resuming and stopping them.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::Duration;

use sms_core::clock::{Clock, SystemClock};
use sms_test_log::leak;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout};

use super::RigFailed;
use super::address::Addresses;
use super::report::Violation;

/// The operator's token of every server.
pub(super) const OPERATOR: &str = "operator-token-of-the-rig";
/// How long a server may take to start, or to stop in order.
const BOUND: Duration = Duration::from_mins(1);
const LOOK: Duration = Duration::from_millis(10);

/// What all servers have in common.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    /// The folder for logs and records of hand-overs.
    pub(super) folder: PathBuf,
    pub(super) store: Stored,
    pub(super) lease: Duration,
    /// Whether a server's network answers only once it is [released](Fleet::release).
    pub(super) network: Network,
}

/// Where the servers' data is.
#[derive(Debug, Clone)]
pub(super) enum Stored {
    /// In a database.
    Url(String),
    /// In the file in this folder.
    Folder(PathBuf),
}

/// How the networks behave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Network {
    /// They answer at once.
    Free,
    /// They answer once they are released.
    Held,
}

/// One process of one server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Life {
    pub(super) replica: usize,
    pub(super) generation: u32,
}

/// A period in which a server did not run, or its end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pause {
    pub(super) life: Life,
    /// Milliseconds since 1970.
    pub(super) from: i64,
    /// `None` for one that was killed.
    pub(super) until: Option<i64>,
}

/// The servers.
#[derive(Debug)]
pub(super) struct Fleet {
    plan: Plan,
    pub(super) addresses: Addresses,
    replicas: Vec<Replica>,
    pub(super) pauses: Vec<Pause>,
    /// The longest time that a server took from its start after a kill until it served.
    pub(super) slowest_start: Duration,
}

#[derive(Debug)]
struct Replica {
    life: Life,
    child: Child,
}

impl Drop for Replica {
    fn drop(&mut self) {
        // It may have ended already. It is gone after this either way.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(super) fn now() -> i64 {
    SystemClock.now().as_millis()
}

impl Fleet {
    /// No servers yet.
    pub(super) fn new(plan: Plan) -> Self {
        let addresses = Addresses::default();
        Self {
            plan,
            addresses,
            replicas: Vec::new(),
            pauses: Vec::new(),
            slowest_start: Duration::ZERO,
        }
    }

    /// Servers that start from now on use this database.
    pub(super) fn use_database(&mut self, url: String) {
        self.plan.store = Stored::Url(url);
    }

    pub(super) fn len(&self) -> usize {
        self.replicas.len()
    }

    /// Starts another server.
    pub(super) async fn add(&mut self) -> Result<(), RigFailed> {
        let life = Life { replica: self.replicas.len(), generation: 0 };
        let replica = self.start(life).await?;
        self.replicas.push(replica);
        Ok(())
    }

    /// `kill -9`.
    pub(super) async fn kill(&mut self, replica: usize) -> Result<(), RigFailed> {
        let killed = &mut self.replicas[replica];
        killed.child.kill()?;
        ended(&mut killed.child).await?;
        // Taken after the kill, so that everything the server did is earlier.
        self.pauses.push(Pause { life: killed.life, from: now(), until: None });
        Ok(())
    }

    /// Starts a server that was killed.
    pub(super) async fn start_again(&mut self, replica: usize) -> Result<(), RigFailed> {
        let Life { replica, generation } = self.replicas[replica].life;
        let began = Instant::now();
        self.replicas[replica] = self.start(Life { replica, generation: generation + 1 }).await?;
        self.slowest_start = self.slowest_start.max(began.elapsed());
        Ok(())
    }

    /// Sends SIGSTOP; [`Fleet::resume`] undoes it. If the rig ends first, the server ends too.
    pub(super) fn suspend(&mut self, replica: usize) -> Result<Suspended, RigFailed> {
        let Replica { life, child } = &self.replicas[replica];
        let id = child.id();
        let keeper = Command::new("/bin/sh")
            .args(["-c", &format!("cat >/dev/null; kill -KILL {id}")])
            .process_group(0)
            .stdin(Stdio::piped())
            .spawn()?;
        signal("-STOP", id)?;
        Ok(Suspended { life: *life, from: now(), keeper })
    }

    /// Sends SIGCONT.
    pub(super) fn resume(&mut self, suspended: Suspended) -> Result<(), RigFailed> {
        let Suspended { life, from, mut keeper } = suspended;
        keeper.kill()?;
        keeper.wait()?;
        let until = Some(now());
        signal("-CONT", self.replicas[life.replica].child.id())?;
        self.pauses.push(Pause { life, from, until });
        Ok(())
    }

    /// Lets a server's network answer.
    pub(super) fn release(&self, replica: usize) -> Result<(), RigFailed> {
        File::create(self.hold(replica))?;
        Ok(())
    }

    /// The servers that ended without being told to.
    pub(super) fn ended_by_themselves(&mut self) -> Vec<String> {
        let mut ended = Vec::new();
        for Replica { life, child } in &mut self.replicas {
            if let Ok(Some(status)) = child.try_wait() {
                ended.push(format!("server {} {status}", life.replica));
            }
        }
        ended
    }

    /// Stops all servers with SIGTERM. Returns those that did not stop in order.
    pub(super) async fn end(&mut self) -> Result<Vec<Violation>, RigFailed> {
        for replica in &self.replicas {
            signal("-TERM", replica.child.id())?;
        }
        let mut violations = Vec::new();
        for replica in &mut self.replicas {
            let Replica { life, child } = replica;
            let status = ended(child).await?;
            if !status.success() {
                let told = format!("server {} {status}", life.replica);
                violations.push(Violation::new("a server stops in order", told));
            }
        }
        for Replica { life, .. } in &self.replicas {
            // A server that could not finish in time logs that: this counts as a kill.
            if std::fs::read_to_string(self.log(*life))?.contains("before everything had ended") {
                self.pauses.push(Pause { life: *life, from: now(), until: None });
            }
        }
        violations.extend(self.leaks()?);
        Ok(violations)
    }

    /// Leaks in the logs of all processes so far.
    fn leaks(&self) -> Result<Vec<Violation>, RigFailed> {
        let mut violations = Vec::new();
        for entry in std::fs::read_dir(&self.plan.folder)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if !name.starts_with("log-") {
                continue;
            }
            // A kill may cut a line off anywhere.
            let log = std::fs::read(&path)?;
            if let Some(leak) = leak(&String::from_utf8_lossy(&log)) {
                let told = format!("{name} holds {leak}");
                violations.push(Violation::new("no log contains personal data or a key", told));
            }
        }
        Ok(violations)
    }

    /// Stops all servers in order and starts them again, so that no request is under way.
    pub(super) async fn renew(&mut self) -> Result<Vec<Violation>, RigFailed> {
        let violations = self.end().await?;
        for replica in 0..self.replicas.len() {
            self.start_again(replica).await?;
        }
        Ok(violations)
    }

    /// The path of a process's log.
    fn log(&self, life: Life) -> PathBuf {
        self.plan.folder.join(format!("log-{}-{}", life.replica, life.generation))
    }

    fn hold(&self, replica: usize) -> PathBuf {
        self.plan.folder.join(format!("release-{replica}"))
    }

    async fn start(&self, life: Life) -> Result<Replica, RigFailed> {
        let Life { replica, generation } = life;
        let handed = self.plan.folder.join(format!("handed-{replica}-{generation}"));
        let log = self.log(life);
        let log_level = std::env::var("SMS_LOG").unwrap_or_else(|_| "warn".to_owned());
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("replica").arg("--handed").arg(handed);
        command.arg("--lease").arg(self.plan.lease.as_millis().to_string());
        if self.plan.network == Network::Held {
            command.arg("--hold").arg(self.hold(replica));
        }
        command.env_clear().envs(sms_test_clock::variables()).envs([
            ("SMS_ADDR", "127.0.0.1:0"),
            ("SMS_ADMIN_TOKEN", OPERATOR),
            ("SMS_DEMO", "false"),
            ("SMS_LOG", log_level.as_str()),
            ("SMS_RATE_BURST", "1000000"),
            ("SMS_RATE_PER_SECOND", "100000"),
            ("SMS_WEBHOOK_ALLOW_PRIVATE", "true"),
            ("SMS_WEBHOOK_RETRIES", "200ms,500ms,500ms,1s,1s,2s"),
            ("SMS_WEBHOOK_TIMEOUT", "1s"),
            ("RUST_BACKTRACE", "1"),
        ]);
        match &self.plan.store {
            Stored::Url(url) => command.env("DATABASE_URL", url),
            Stored::Folder(folder) => command.env("SMS_DATA_DIR", folder),
        };
        // A separate process group: when the rig ends, the server notices through its input.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(File::create(&log)?).spawn()?;
        let printed = child.stdout.take();
        let started = Replica { life, child };
        let not_started = || RigFailed::NotStarted { replica, log: log.clone() };
        let address = printed.map(address_printed).ok_or_else(not_started)?;
        let address = timeout(BOUND, address).await.ok().and_then(Result::ok);
        self.addresses.set(replica, address.ok_or_else(not_started)?);
        Ok(started)
    }
}

/// A server stopped by SIGSTOP.
#[derive(Debug)]
pub(super) struct Suspended {
    life: Life,
    from: i64,
    /// Kills the server when the rig is gone.
    keeper: Child,
}

/// Reads the address from the banner, and then discards the rest, so that the server never blocks.
pub(super) fn address_printed(printed: ChildStdout) -> oneshot::Receiver<SocketAddr> {
    let (tell, told) = oneshot::channel();
    std::thread::spawn(move || {
        let mut tell = Some(tell);
        for line in BufReader::new(printed).lines().map_while(Result::ok) {
            let url = line.trim_start().strip_prefix("API").map(str::trim_start);
            let addr = url.and_then(|url| url.strip_prefix("http://")?.split('/').next());
            let addr = addr.and_then(|addr| addr.parse().ok());
            if let Some((addr, tell)) = addr.and_then(|addr| Some((addr, tell.take()?))) {
                let _ = tell.send(addr);
            }
        }
    });
    told
}

fn signal(name: &str, id: u32) -> std::io::Result<()> {
    let status = Command::new("kill").args([name, &id.to_string()]).status()?;
    if status.success() { Ok(()) } else { Err(std::io::Error::other("no such process")) }
}

async fn ended(child: &mut Child) -> Result<ExitStatus, RigFailed> {
    let deadline = Instant::now() + BOUND;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if Instant::now() > deadline {
            return Err(RigFailed::Late("a server to end"));
        }
        sleep(LOOK).await;
    }
}
