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

pub mod air;
pub mod beside;
pub mod chance;
pub mod dice;
pub mod driver;
pub mod ending;
pub mod executor;
pub mod fault;
pub mod follower;
pub mod haze;
pub mod inventory;
pub mod measure;
pub mod model;
pub mod network;
pub mod own_positions;
pub mod receiver;
pub mod sabotage;
pub mod settings;
pub mod stage;
pub mod summary;
pub mod talk;
pub mod trace;
pub mod twin;
pub mod users;
pub mod violation;
pub mod visits;
pub mod whole_log;
pub mod wish;
pub mod workers;
pub mod world;

pub use sabotage::Sabotage;
pub use settings::Settings;
pub use summary::Summary;
pub use trace::Voice;
pub use twin::Other;
pub use violation::Violation;

use driver::Driver;

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
