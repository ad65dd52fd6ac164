//! The server as a process, as its users run it.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use sms_test_log::check_line;

use crate::socket::{Answer, BOUND, Client};
use crate::watched::keep_private;

/// The token of servers that are given one.
pub(crate) const TOKEN: &str = "operator-token-of-a-process";

/// A command of the binary, with this environment and no other.
pub(crate) fn command(arguments: &[&str], settings: &[(&str, &str)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sms-server"));
    command.args(arguments);
    confine(&mut command, settings);
    command
}

/// Gives a command these settings, the clock of the tests, and nothing else.
fn confine(command: &mut Command, settings: &[(&str, &str)]) {
    command.env_clear().stdin(Stdio::null());
    // Whoever brings a clock has all of it.
    if settings.iter().all(|(name, _)| *name != "LD_PRELOAD") {
        command.envs(sms_test_clock::variables());
    }
    command.envs(with_store(settings));
}

/// The settings, with the memory store unless they say where the data is kept.
fn with_store<'a>(settings: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let mut settings = settings.to_vec();
    let says = ["DATABASE_URL", "SMS_STORE", "SMS_DATA_DIR"];
    if settings.iter().all(|(name, _)| !says.contains(name)) {
        settings.push(("SMS_STORE", "memory"));
    }
    settings
}

/// Runs a command of the binary to its end.
pub(crate) fn run(arguments: &[&str], settings: &[(&str, &str)]) -> Output {
    command(arguments, settings).output().unwrap()
}

/// Whether the banner shows a demo account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Demo {
    Printed,
    None,
}

fn wants_demo(settings: &[(&str, &str)]) -> Demo {
    if settings.contains(&("SMS_DEMO", "false")) { Demo::None } else { Demo::Printed }
}

/// A server that runs until it is asked to stop, or dropped.
pub(crate) struct Process {
    child: Child,
    /// What it printed when it was up.
    pub banner: String,
    log: Receiver<String>,
}

impl Process {
    /// Starts a server on a free port with these settings.
    pub(crate) fn start(settings: &[(&str, &str)]) -> Self {
        Self::start_as(command(&[], settings), settings, wants_demo(settings))
    }

    /// Starts a server on a free port, on data that an earlier one has left.
    pub(crate) fn start_again(settings: &[(&str, &str)]) -> Self {
        Self::start_as(command(&[], settings), settings, Demo::None)
    }

    /// Starts a server after this line of the shell, which limits what it may use.
    pub(crate) fn start_limited(limit: &str, settings: &[(&str, &str)]) -> Self {
        let mut shell = Command::new("/bin/sh");
        let line = format!("{limit} && exec \"$0\"");
        shell.args(["-c", &line, env!("CARGO_BIN_EXE_sms-server")]);
        confine(&mut shell, settings);
        Self::start_as(shell, settings, wants_demo(settings))
    }

    fn start_as(mut command: Command, settings: &[(&str, &str)], demo: Demo) -> Self {
        crate::watched::watch();
        if settings.iter().all(|(name, _)| *name != "SMS_LOG") {
            command.env("SMS_LOG", "trace");
        }
        if settings.iter().all(|(name, _)| *name != "SMS_ADDR") {
            command.env("SMS_ADDR", "127.0.0.1:0");
        }
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let log = lines_of(child.stderr.take().unwrap(), |line| check_line("a server", line));
        // The banner is for the operator's eyes: it shows the demo's keys.
        let printed = lines_of(child.stdout.take().unwrap(), |_| ());
        let mut process = Self { child, banner: String::new(), log };
        loop {
            // A demo's month is written first.
            let line = printed.recv_timeout(4 * BOUND).expect("a whole banner");
            process.banner.push_str(&line);
            process.banner.push('\n');
            let is_whole = match demo {
                Demo::Printed => process.banner.matches("curl ").count() == 2,
                Demo::None => line.is_empty() && process.banner.contains("Operator API"),
            };
            if is_whole {
                return process;
            }
        }
    }

    /// Waits for a line of the log that holds this.
    pub(crate) fn wait_for_log(&self, part: &str) -> String {
        self.log_until(part).pop().unwrap()
    }

    /// What was logged up to a line that holds this, that line included.
    pub(crate) fn log_until(&self, part: &str) -> Vec<String> {
        let mut seen = Vec::new();
        loop {
            match self.log.recv_timeout(BOUND) {
                Ok(line) => seen.push(line),
                Err(error) => panic!("no {part:?} in the log ({error}): {seen:#?}"),
            }
            if seen.last().is_some_and(|line| line.contains(part)) {
                return seen;
            }
        }
    }

    /// The word that follows a label of the banner.
    pub(crate) fn said(&self, label: &str) -> String {
        let line = self.banner.lines().find(|line| line.trim_start().starts_with(label));
        let line = line.unwrap_or_else(|| panic!("no {label} in:\n{}", self.banner));
        let rest = line.trim_start().strip_prefix(label).unwrap();
        rest.split_whitespace().next().unwrap().to_owned()
    }

    /// Where the API listens.
    pub(crate) fn addr(&self) -> SocketAddr {
        address(&self.said("API"))
    }

    /// Where the operator's API listens.
    pub(crate) fn admin_addr(&self) -> SocketAddr {
        address(&self.said("Operator API"))
    }

    /// Calls the API with a key.
    pub(crate) async fn call(&self, method: &str, path: &str, key: &str, body: &Value) -> Answer {
        ask(self.addr(), method, path, Some(key), &body.to_string()).await
    }

    /// How many file handles it has.
    pub(crate) fn handles(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.child.id())).unwrap().count()
    }

    /// The most memory that it had at once, in MB.
    pub(crate) fn memory_peak(&self) -> usize {
        let status = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(status).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().strip_suffix(" kB").unwrap().parse::<usize>().unwrap() / 1_024
    }

    /// Sends a signal to it, by its id.
    pub(crate) fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([name, &id]).status().unwrap().success());
    }

    /// Waits until it has ended, at most ten seconds from now.
    pub(crate) fn ended(mut self) -> ExitStatus {
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < deadline, "still running after ten seconds");
            thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Whether it runs still or not, it is gone after this.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn address(url: &str) -> SocketAddr {
    url.strip_prefix("http://").unwrap().split('/').next().unwrap().parse().unwrap()
}

/// The lines of a pipe, read by a thread of their own so that the other side never waits.
fn lines_of(pipe: impl Read + Send + 'static, look: fn(&str)) -> Receiver<String> {
    let (sender, lines) = channel();
    thread::spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            look(&line);
            // The receiver may be gone, but the pipe must still be drained.
            let _ = sender.send(line);
        }
    });
    lines
}

/// One request on a new connection.
pub(crate) async fn ask(
    addr: SocketAddr,
    method: &str,
    path: &str,
    key: Option<&str>,
    body: &str,
) -> Answer {
    keep_private(body.as_bytes());
    let mut client = Client::of(addr).await;
    let key = key.map(|key| format!("Authorization: Bearer {key}\r\n")).unwrap_or_default();
    let length = body.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: x\r\n{key}Content-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    );
    client.send(request).await;
    client.answer().await
}
