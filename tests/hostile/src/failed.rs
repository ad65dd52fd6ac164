//! Why the rig could not run.

use std::io;
use std::path::PathBuf;

/// Why the rig could not run. It says nothing about the server's defences.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failed {
    /// A file, a process or a socket failed.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// There is no server to attack.
    #[error("there is no server at {}: build it with cargo build --release", .0.display())]
    NoServer(PathBuf),
    /// The settings in the environment are no settings.
    #[error("{0}")]
    Settings(#[from] clap::Error),
    /// The server did not answer after its start.
    #[error("the server did not start within {0} s")]
    NotStarted(u64),
    /// A step that prepares an attack was refused.
    #[error("{path} answered {status}: {body}")]
    Setup {
        /// The path that was asked.
        path: String,
        /// The status, 0 for no answer.
        status: u16,
        /// The start of the body.
        body: String,
    },
}
