//! The whole service with its workers on a virtual clock, from one seed, on one thread.
//!
//! # What happens in a run
//!
//! The [`driver`] keeps a handful of tasks: requests of users and of the operator ([`users`]),
//! work that goes on by itself ([`workers`]), news from the [`network`]. Each step, the seeded
//! [`dice`] choose one thing: a task starts, a task is polled once, a task or a whole replica of
//! the service dies where it stands, or the clock moves, a little, to the next due moment, or far.
//! Tasks wait before every call of the store ([`stage`]), so that any order of calls can come
//! about, and a worker can die between claim, hand-over and record. The network and the webhook
//! receivers ([`receiver`]) are late, repeat themselves, refuse, stall and lose answers, and the
//! store itself fails, before a commit or after it ([`fault`]).
//!
//! # What is checked
//!
//! Every commit passes through the stage, which tells the [`model`] what was asked and what the
//! store answered; the model works out by its own rules what must have changed, reads the store
//! and compares. Every so many steps, and at the end, a full audit compares everything. At the end
//! faults stop, the clock goes on, and all work has to come to its end ([`ending`]).
//!
//! The first broken promise ends the run with a [`Violation`]: seed, step, the last lines of the
//! trace, and the command that replays it. The same seed always makes the same run.
//!
//! # Two stores
//!
//! Where another store stands beside the one in memory ([`twin`]), each call goes to both, and both
//! must answer the same; at the end all that they keep is read ([`inventory`]).
//!
//! # Adding a resource
//!
//! Its calls become deeds in `users/`, its work a [`workers::Chore`], its commits observations in
//! `stage.rs` and a file in `model/` that says what they must do; `model/audit.rs` reads all of it.

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

/// What a run shall be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Where all choices follow from.
    pub seed: u64,
    /// How many steps with faults; the steps until all work has ended come on top.
    pub steps: u64,
    /// Every how many steps everything is compared.
    pub audit_every: u64,
    /// Whether each line of the trace is printed.
    pub voice: Voice,
    /// What is broken on purpose.
    pub sabotage: Option<Sabotage>,
}

impl Settings {
    /// A run from this seed, of so many steps.
    pub fn new(seed: u64, steps: u64) -> Self {
        Self { seed, steps, audit_every: 1_000, voice: Voice::Silent, sabotage: None }
    }
}

/// What a run did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Summary {
    /// Steps, those after the faults stopped included.
    pub steps: u64,
    /// Tasks started.
    pub tasks: u64,
    /// Tasks that were dropped where they stood.
    pub kills: u64,
    /// Texts handed over to routes.
    pub handed: u64,
    /// Calls of the store that failed, before or after they were done.
    pub faults: u64,
    /// Calls of webhook receivers.
    pub visits: u64,
    /// How long the run took by its own clock, in milliseconds.
    pub millis: u64,
    /// What was committed.
    pub tally: Tally,
    /// A number that two runs share only when they were the same.
    pub hash: u64,
}

impl Summary {
    /// Both together; the hash says nothing any more.
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
/// The first broken promise.
pub fn run(settings: &Settings) -> Result<Summary, Box<Violation>> {
    Driver::new(*settings, None).run()
}

/// Runs one simulation with another store beside, which gets the same calls one after the other and
/// has to give the same answers; at the end both are read whole.
///
/// # Errors
///
/// The first broken promise, or the first difference.
pub fn run_beside(settings: &Settings, other: Other) -> Result<Summary, Box<Violation>> {
    Driver::new(*settings, Some(other)).run()
}
