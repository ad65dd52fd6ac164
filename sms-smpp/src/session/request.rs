//! A request to submit, and its outcome.

use tokio::sync::{OwnedSemaphorePermit, oneshot};

use crate::pdu::{ShortMessage, Status};

/// The outcome of one `submit_sm`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Submitted {
    /// The SMSC accepted it.
    Accepted {
        /// The message id, as the SMSC spells it.
        id: String,
    },
    /// The SMSC refused it, with this `command_status`.
    Refused(Status),
    /// It was not written, so it was not sent.
    NotWritten,
    /// It was written, at least in part, but got no response; it may have been sent.
    Unanswered,
}

#[derive(Debug)]
pub(super) struct Request {
    pub(super) message: Box<ShortMessage>,
    pub(super) tell: oneshot::Sender<Submitted>,
    pub(super) place: OwnedSemaphorePermit,
}
