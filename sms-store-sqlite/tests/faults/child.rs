//! A program that works on a file until it is killed, and tells what it was answered.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use futures_executor::block_on;
use sms_core::error::Error;
use sms_core::ids::{AccountId, MessageId};
use sms_core::prelude::*;
use sms_core::store::StoreError;
use sms_store_sqlite::{SqliteSettings, SqliteStore};

/// Names the file of the program.
const FILE: &str = "SMS_FAULTS_FILE";
/// How many callers send at the same time.
const CALLERS: u32 = 4;
/// A log of so many pages is written back, so that this happens often.
const CHECKPOINT_PAGES: u32 = 40;
/// How long the program may take until it has told what is waited for.
const PATIENCE: Duration = Duration::from_mins(1);
/// The pause of a caller that was told to try again later.
const LATER: Duration = Duration::from_millis(5);

/// What the program was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Told {
    /// A message was accepted.
    Accepted(AccountId, MessageId),
    /// A message was cancelled.
    Cancelled(AccountId, MessageId),
    /// The store takes no writes now. Carries the body of the message.
    Unavailable(String),
    /// The last accepted message was read after a send was refused.
    Read,
    /// The file was not opened.
    NotOpened(String),
    /// An answer that must not be.
    Wrong(String),
}

impl Told {
    fn line(&self) -> String {
        match self {
            Self::Accepted(account, id) => format!("accepted {account} {id}"),
            Self::Cancelled(account, id) => format!("cancelled {account} {id}"),
            Self::Unavailable(body) => format!("unavailable {body}"),
            Self::Read => "read .".to_owned(),
            Self::NotOpened(reason) => format!("not-opened {reason}"),
            Self::Wrong(answer) => format!("wrong {answer}"),
        }
    }

    /// The answer on a line, if it is whole.
    fn of(line: &str) -> Option<Self> {
        let (_, told) = line.split_once("told: ")?;
        let (what, rest) = told.strip_suffix(" .")?.split_once(' ')?;
        let ids = || {
            let (account, id) = rest.split_once(' ')?;
            Some((account.parse().ok()?, id.parse().ok()?))
        };
        Some(match what {
            "accepted" => ids().map(|(account, id)| Self::Accepted(account, id))?,
            "cancelled" => ids().map(|(account, id)| Self::Cancelled(account, id))?,
            "unavailable" => Self::Unavailable(rest.to_owned()),
            "read" => Self::Read,
            "not-opened" => Self::NotOpened(rest.to_owned()),
            _ => Self::Wrong(rest.to_owned()),
        })
    }

    fn tell(&self) {
        let mut out = std::io::stdout().lock();
        writeln!(out, "told: {} .", self.line().replace('\n', " ")).unwrap();
        out.flush().unwrap();
    }

    pub(super) fn is_accepted(&self) -> bool {
        matches!(self, Self::Accepted(..))
    }
}

/// The program. Without a parent it does nothing.
#[test]
fn child_that_works_until_it_is_killed() {
    let Some(file) = std::env::var_os(FILE) else { return };
    let mut settings = SqliteSettings::default();
    settings.checkpoint_pages = CHECKPOINT_PAGES;
    let store = match SqliteStore::open_with(PathBuf::from(file), settings) {
        Ok(store) => store,
        Err(error) => return Told::NotOpened(error.to_string()).tell(),
    };
    let sms = Sms::builder(store).build();
    let new = NewAccountInput::active("Bistro", 1_000_000);
    let account = block_on(sms.operator().account_create(new)).unwrap().id;
    // An earlier life may have made it.
    let _ = block_on(sms.operator().number_create(NumberInput::shared("07700 900001")));
    std::thread::scope(|scope| {
        for caller in 0..CALLERS {
            let sms = &sms;
            scope.spawn(move || send_for_ever(sms, account, caller));
        }
        loop {
            let dispatched = block_on(sms.dispatch_due(50));
            let simulated = block_on(sms.simulate_due(50));
            if dispatched.is_err() || simulated.is_err() {
                std::thread::sleep(LATER);
            }
        }
    });
}

fn send_for_ever(sms: &Sms, account: AccountId, caller: u32) {
    let handle = sms.account(account, Mode::Live);
    let mut last = None;
    for number in 0_u32.. {
        let body = format!("life {} caller {caller} send {number}", std::process::id());
        let mut request = SendRequest::new(&body).to("07700 900123");
        let is_cancelled = number % 4 == 3;
        if is_cancelled {
            let in_an_hour = sms.now().plus(Duration::from_hours(1));
            request = request.schedule_at(in_an_hour);
        }
        match block_on(handle.send(request)) {
            Ok(sent) => {
                let id = sent.messages[0].id;
                Told::Accepted(account, id).tell();
                last = Some(id);
                if is_cancelled && block_on(handle.message_cancel(id)).is_ok() {
                    Told::Cancelled(account, id).tell();
                }
            }
            Err(Error::Store(StoreError::Unavailable { .. })) => {
                Told::Unavailable(body).tell();
                match last.map(|id| block_on(handle.message_get(id))) {
                    Some(Ok(_)) => Told::Read.tell(),
                    Some(Err(error)) => Told::Wrong(format!("reading: {error}")).tell(),
                    None => {}
                }
                std::thread::sleep(LATER);
            }
            Err(error) => Told::Wrong(error.to_string()).tell(),
        }
    }
}

/// The program, under way.
pub(super) struct Running {
    child: Child,
    lines: Receiver<Told>,
    all: Vec<Told>,
}

impl Running {
    /// The command that runs the program on this file.
    pub(super) fn command(file: &Path) -> Command {
        let mut command = Command::new("/bin/sh");
        // A write that a limit forbids is to fail, and not to end the program.
        command.args(["-c", "trap '' XFSZ; exec \"$@\"", "sh"]);
        command.arg(std::env::current_exe().unwrap());
        command.args(["--exact", "child::child_that_works_until_it_is_killed", "--nocapture"]);
        command.env(FILE, file);
        command
    }

    pub(super) fn start(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let printed = BufReader::new(child.stdout.take().unwrap());
        let (tell, lines) = channel();
        std::thread::spawn(move || {
            // A kill may cut off the last line.
            for told in printed.split(b'\n').map_while(Result::ok) {
                let told = Told::of(&String::from_utf8_lossy(&told));
                if told.is_some_and(|told| tell.send(told).is_err()) {
                    return;
                }
            }
        });
        Self { child, lines, all: Vec::new() }
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until it has told `count` more things of this kind.
    pub(super) fn until(&mut self, count: usize, is_one: impl Fn(&Told) -> bool) {
        let mut left = count;
        let deadline = Instant::now() + PATIENCE;
        while left > 0 {
            let told = self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now()));
            let told = told.unwrap_or_else(|_| panic!("{left} more are missing"));
            left -= usize::from(is_one(&told));
            self.all.push(told);
        }
    }

    /// Kills it. Returns all that it was answered.
    pub(super) fn kill(mut self) -> Vec<Told> {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.all.extend(self.lines.iter());
        std::mem::take(&mut self.all)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
