//! What is remembered under an idempotency key.

use sms_core::idempotency::{Earlier, Kept};
use sms_core::sending::idempotency::{EarlierSend, KeyUse};
use sms_core::time::Timestamp;

/// What is remembered under a key.
pub(crate) enum Remembered {
    /// A send, from which its answer is built again.
    Send(EarlierSend),
    /// Any other command, with its answer as JSON.
    Command(Earlier),
}

impl Remembered {
    /// When the request was accepted.
    pub(crate) fn accepted_at(&self) -> Timestamp {
        match self {
            Self::Send(earlier) => earlier.accepted_at,
            Self::Command(earlier) => earlier.accepted_at,
        }
    }

    /// As a send finds it.
    pub(crate) fn key_use(&self) -> KeyUse {
        match self {
            Self::Send(earlier) => KeyUse::Send(earlier.clone()),
            Self::Command(earlier) => KeyUse::Other { accepted_at: earlier.accepted_at },
        }
    }

    /// As every other command finds it.
    pub(crate) fn earlier(&self) -> Earlier {
        match self {
            Self::Command(earlier) => earlier.clone(),
            Self::Send(EarlierSend { fingerprint, accepted_at, .. }) => {
                Earlier { fingerprint: *fingerprint, accepted_at: *accepted_at, kept: Kept::Send }
            }
        }
    }
}
