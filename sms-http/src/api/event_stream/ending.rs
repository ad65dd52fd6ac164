//! Why a stream ends while its reader is still there.

use crate::web::standing::Lost;

/// Why the server ends a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    ServerStopping,
    ReaderTooSlow,
    /// Whoever reads it is admitted no longer.
    AdmissionLost(Lost),
    /// The log could not be read.
    Unavailable,
}

impl Ending {
    /// The name in the last event and in metrics.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::ServerStopping => "server_stopping",
            Self::ReaderTooSlow => "reader_too_slow",
            Self::AdmissionLost(lost) => lost.reason,
            Self::Unavailable => "unavailable",
        }
    }

    /// What to do, for people.
    pub(super) fn message(self) -> &'static str {
        match self {
            Self::ServerStopping => "the server stops: connect again",
            Self::ReaderTooSlow => "events were not read for too long: connect again, read faster",
            Self::AdmissionLost(lost) => lost.message,
            Self::Unavailable => "the events cannot be read at the moment: connect again later",
        }
    }
}
