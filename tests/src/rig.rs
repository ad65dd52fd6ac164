//! Real servers, as processes of their own, on a real PostgreSQL that writes to disk, under load
//! and under faults.
//!
//! `campaign` kills, stops, restarts and cuts off whatever it can, one fault a round, and audits
//! the database after each and at the end. `sleeper` stops a server for longer than its lease
//! while it holds texts. `cut_off` is thousands of requests whose clients hang up. All of them
//! drive the same `fleet` of servers, whose route (`carrier`) writes down every text it is
//! handed. Timing is the machine's, so a seed draws the same faults but not the same run.

use std::path::PathBuf;

mod address;
mod audit;
pub mod campaign;
pub mod carrier;
pub mod cut_off;
mod fault;
mod fleet;
mod hand_overs;
mod http;
mod load;
mod receiver;
mod records;
pub mod replica;
pub mod report;
mod site;
pub mod sleeper;
mod world;

pub use fault::Fault;
pub use report::{Report, Violation};

/// Why the rig could not go on; nothing is said of the service by that.
#[derive(Debug, thiserror::Error)]
pub enum RigFailed {
    /// The rig's own questions to the database.
    #[error("the database could not be asked")]
    Database(#[from] sqlx::Error),
    /// A process or a file.
    #[error("a process or a file failed")]
    Io(#[from] std::io::Error),
    /// A server did not come up.
    #[error("replica {replica} did not start; its log is {}", log.display())]
    NotStarted {
        /// Which one.
        replica: usize,
        /// Where it says why.
        log: PathBuf,
    },
    /// A request that sets things up was not answered as it should.
    #[error("setting up: {path} answered {status}")]
    Setup {
        /// Where it went.
        path: String,
        /// The status, 0 for no answer.
        status: u16,
    },
    /// What has to come about for the scenario did not.
    #[error("{0} did not come about in time")]
    Late(&'static str),
}
