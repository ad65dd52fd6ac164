//! The whole service with its workers on a virtual clock, from one seed, on one thread.
//!
//! # What happens in a run
//!
//! The [`driver`] runs a few tasks at a time: requests of users and of the operator ([`users`]),
//! background work ([`workers`]), and news from the [`network`]. In each step the seeded [`dice`]
//! choose one event: a task starts, a task is polled once, a task or a whole server dies where it
//! is, or the clock moves (a little, to the next due moment, or far).
//!
//! Tasks wait before every call of the store ([`stage`]). So any order of calls is possible, and a
//! worker can die between claim, hand-over and record. The network and the webhook receivers
//! ([`receiver`]) are late, repeat themselves, refuse, stall and lose answers. The store itself
//! fails, before or after a commit ([`fault`]).
//!
//! # What is checked
//!
//! Every commit passes through the stage, which reports the call and the store's answer to the
//! [`model`]. The model computes by separate rules what must have changed, reads the store and
//! compares. At regular intervals, and at the end, a full audit compares everything. At the end
//! faults stop, the clock goes on, and all work must complete ([`ending`]).
//!
//! The first violation ends the run with a [`Violation`]: seed, step, the last lines of the trace,
//! and the command that replays it. The same seed always makes the same run.
//!
//! # Two stores
//!
//! With a second store beside the memory store ([`twin`]), each call goes to both, and both must
//! answer the same. At the end everything in both is read and compared ([`inventory`]).
//!
//! # Adding a resource
//!
//! Add its calls as deeds in `users/`, its work as a [`workers::Chore`], its commits as
//! observations in `stage.rs`, and a file in `model/` with the rules for them. `model/audit.rs`
//! compares it all.

use std::fmt;

pub mod beside;
pub mod chance;
pub mod dice;
pub mod driver;
pub mod ending;
pub mod executor;
pub mod fault;
pub mod inventory;
pub mod measure;
pub mod model;
pub mod network;
pub mod receiver;
pub mod sabotage;
pub mod stage;
pub mod talk;
pub mod trace;
pub mod twin;
pub mod users;
pub mod violation;
pub mod wish;
pub mod workers;
pub mod world;

pub use sabotage::Sabotage;
pub use trace::Voice;
pub use twin::Other;
pub use violation::Violation;

use driver::Driver;
use model::Tally;

/// Settings of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// The seed of all choices.
    pub seed: u64,
    /// Number of steps with faults. The steps until all work is done are added to it.
    pub steps: u64,
    /// Number of steps between two full audits.
    pub audit_every: u64,
    /// Whether each line of the trace is printed.
    pub voice: Voice,
    /// The defect to introduce on purpose, if any.
    pub sabotage: Option<Sabotage>,
}

impl Settings {
    /// A run of `steps` steps from this seed.
    pub fn new(seed: u64, steps: u64) -> Self {
        Self { seed, steps, audit_every: 1_000, voice: Voice::Silent, sabotage: None }
    }
}

/// What happened in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Summary {
    /// Steps, including those after the faults stopped.
    pub steps: u64,
    /// Tasks started.
    pub tasks: u64,
    /// Tasks that were dropped before their end.
    pub kills: u64,
    /// Messages handed over to routes.
    pub handed: u64,
    /// Store calls that failed, before or after they took effect.
    pub faults: u64,
    /// Requests to webhook receivers.
    pub visits: u64,
    /// Duration of the run on its virtual clock, in milliseconds.
    pub millis: u64,
    /// What was committed.
    pub tally: Tally,
    /// A hash of the trace: two runs with the same hash are the same.
    pub hash: u64,
}

impl Summary {
    /// The sum of both. Its hash has no meaning.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            steps: self.steps + other.steps,
            tasks: self.tasks + other.tasks,
            kills: self.kills + other.kills,
            handed: self.handed + other.handed,
            faults: self.faults + other.faults,
            visits: self.visits + other.visits,
            millis: self.millis + other.millis,
            tally: self.tally.plus(other.tally),
            hash: 0,
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { steps, tasks, kills, handed, faults, visits, millis, tally, hash: _ } = self;
        let hours = millis / 3_600_000;
        writeln!(
            f,
            "{steps} steps, {tasks} tasks, {kills} of them killed, {faults} failures of the store; \
             {hours} hours passed"
        )?;
        writeln!(
            f,
            "{} sends, {} campaigns, {} texts, {} replays, {} refunds, {} rents, {} inbound, \
             {} receipts",
            tally.sends,
            tally.launches,
            tally.texts,
            tally.replays,
            tally.refunds,
            tally.rents,
            tally.inbound,
            tally.receipts
        )?;
        writeln!(
            f,
            "{} texts joined from parts, {} given up, {} matched keywords, {} of them answered and \
             {} too many; {} links, {} hits",
            tally.joined,
            tally.given_up,
            tally.matches,
            tally.replies,
            tally.throttled,
            tally.links,
            tally.hits
        )?;
        writeln!(
            f,
            "{} claims, {} of them after a lost lease; {handed} hand-overs",
            tally.claims, tally.takeovers
        )?;
        write!(
            f,
            "{} deliveries, {visits} calls of receivers, {} recorded, {} endpoints switched off",
            tally.deliveries, tally.attempts, tally.switched_off
        )
    }
}

/// Runs one simulation.
///
/// # Errors
///
/// The first violation.
pub fn run(settings: &Settings) -> Result<Summary, Box<Violation>> {
    Driver::new(*settings, None).run()
}

/// Runs one simulation with a second store beside, which gets the same calls, one after the other,
/// and must give the same answers. At the end both are read in full.
///
/// # Errors
///
/// The first violation or difference.
pub fn run_beside(settings: &Settings, other: Other) -> Result<Summary, Box<Violation>> {
    Driver::new(*settings, Some(other)).run()
}
