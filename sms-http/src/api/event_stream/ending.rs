//! Why a stream ends while its reader is still there.

/// Why the server ends a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    ServerStopping,
    ReaderTooSlow,
    KeyRevoked,
    AccountSuspended,
    /// The log could not be read.
    Unavailable,
}

impl Ending {
    /// The name in the last event and in metrics.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::ServerStopping => "server_stopping",
            Self::ReaderTooSlow => "reader_too_slow",
            Self::KeyRevoked => "key_revoked",
            Self::AccountSuspended => "account_suspended",
            Self::Unavailable => "unavailable",
        }
    }

    /// What to do, for people.
    pub(super) fn message(self) -> &'static str {
        match self {
            Self::ServerStopping => "the server stops: connect again",
            Self::ReaderTooSlow => "events were not read for too long: connect again, read faster",
            Self::KeyRevoked => "the key was revoked: use another",
            Self::AccountSuspended => "the account is suspended: ask the operator",
            Self::Unavailable => "the events cannot be read at the moment: connect again later",
        }
    }
}
