//! Since when this program holds a message, and under which lease: see the drawing in
//! [`from_birth`](super::from_birth).

use crate::dispatch::queue::LeaseToken;
use crate::time::Timestamp;

/// The lease of messages that this program holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hold {
    pub(super) token: LeaseToken,
    /// When they were claimed, or accepted if they are held from the start.
    pub(super) since: Timestamp,
}
