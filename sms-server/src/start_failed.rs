//! Why a server did not start, or stopped early.

use std::net::SocketAddr;

use sms_workers::{JournalRefused, WorkerPanicked};

use crate::backing::OpenFailed;
use crate::mistakes::Mistakes;
use crate::settings::SettingsRefused;

/// Why the server did not start, or stopped early.
#[derive(Debug, thiserror::Error)]
pub enum StartFailed {
    /// Settings are missing, invalid or contradict each other.
    #[error(transparent)]
    Settings(#[from] Mistakes),
    /// An address could not be listened on.
    #[error("cannot listen on {addr}: {source}")]
    Listen {
        /// The address.
        addr: SocketAddr,
        /// The cause.
        source: std::io::Error,
    },
    /// The webhook client could not be set up.
    #[error("the webhook client could not be set up")]
    Webhooks(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The data could not be opened.
    #[error(transparent)]
    Data(#[from] OpenFailed),
    /// The operator's token could not be kept.
    #[error("the operator's token cannot be kept in {file}: {source}")]
    Token {
        /// The file.
        file: String,
        /// The cause.
        source: std::io::Error,
    },
    /// The journal could not be opened.
    #[error("SMS_JOURNAL_DIR: {0}")]
    Journal(#[from] JournalRefused),
    /// The stored webhook secrets cannot be opened or sealed.
    #[error("the stored webhook secrets cannot be used, check SMS_SECRET_KEY: {0}")]
    Secrets(sms_core::Error),
    /// The demo account could not be created.
    #[error("the demo account could not be created")]
    Demo(#[from] sms_core::Error),
    /// A worker panicked.
    #[error(transparent)]
    Worker(#[from] WorkerPanicked),
    /// A task of the server panicked.
    #[error("a task of the server panicked; see the log")]
    TaskPanicked,
    /// Metrics could not be set up.
    #[error("metrics could not be set up")]
    Metrics,
}

impl From<SettingsRefused> for StartFailed {
    fn from(refused: SettingsRefused) -> Self {
        Self::Settings(Mistakes::all(&[refused]))
    }
}
