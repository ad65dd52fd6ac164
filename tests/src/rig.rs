//! Real servers, as separate processes, on a real PostgreSQL that writes to disk, or one on a file,
//! under load and faults.
//!
//! `campaign` kills, stops, restarts and disconnects servers and database, one fault a round, and
//! audits the database after each round and at the end. `sleeper` stops a server for longer than
//! its lease while it holds messages. `cut_off` makes thousands of requests whose clients hang up.
//! `drill` kills a primary and promotes its standby. `disk_full` fills the database's disks. These
//! five use the same `fleet` of servers, whose route (`carrier`) records every message that it is
//! handed. `window` kills a server that submits to an SMSC (`smsc`), and counts what arrives twice.
//! A run depends on the machine's timing, so a seed repeats the faults but not the run.

use std::path::PathBuf;

mod address;
mod audit;
pub mod campaign;
pub mod carrier;
pub mod cut_off;
pub mod disk_full;
pub mod drill;
mod fault;
mod fleet;
mod hand_overs;
mod http;
mod load;
mod receiver;
mod records;
pub mod replica;
pub mod report;
pub mod scene;
mod site;
pub mod sleeper;
mod smsc;
pub mod window;
mod world;

pub use fault::Fault;
pub use report::{Report, Violation};
pub use site::StoreKind;

/// Why the rig itself failed. This says nothing about the service.
#[derive(Debug, thiserror::Error)]
pub enum RigFailed {
    /// A query of the rig failed.
    #[error("the rig could not query the database")]
    Database(#[from] sqlx::Error),
    /// The rig may not mount a small disk.
    #[error(transparent)]
    Mount(#[from] sms_test_postgres::MountRefused),
    /// The file could not be read.
    #[error("the rig could not read the file")]
    File(#[from] sms_store_sqlite::MaintenanceError),
    /// A query of the rig on the file failed.
    #[error("the rig could not query the file")]
    Query(#[from] rusqlite::Error),
    /// The scenario was asked for something that servers on a file do not have.
    #[error("this fault needs PostgreSQL: leave out --on file, or choose other faults")]
    NeedsPostgres,
    /// A process or file operation failed.
    #[error("a process or file operation failed")]
    Io(#[from] std::io::Error),
    /// A server did not start.
    #[error("server {replica} did not start; see its log {}", log.display())]
    NotStarted {
        /// The server's index.
        replica: usize,
        /// The path of its log.
        log: PathBuf,
    },
    /// A setup request failed.
    #[error("setup failed: {path} answered {status}")]
    Setup {
        /// The path of the request.
        path: String,
        /// The status of the answer, 0 for none.
        status: u16,
    },
    /// A precondition of the scenario was not met in time.
    #[error("timed out waiting for {0}")]
    Late(&'static str),
}
