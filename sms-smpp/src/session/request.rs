//! A request to submit, and its outcome.

use std::fmt;

use tokio::sync::{OwnedSemaphorePermit, oneshot};

use crate::leave::Leave;
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
    /// It was not written, because it [may not be submitted any more](Leave).
    Withheld,
    /// It was written, at least in part, but got no response; it may have been sent.
    Unanswered,
}

type Act = Box<dyn FnOnce(&Submitted) + Send>;

/// What to do with a response as soon as it is read, before the next request is written.
pub struct Heard(Option<Act>);

impl Heard {
    /// Does nothing with the response.
    pub fn nothing() -> Self {
        Self(None)
    }

    /// Calls this, which must not take long, on the task of the session.
    pub fn then(act: impl FnOnce(&Submitted) + Send + 'static) -> Self {
        Self(Some(Box::new(act)))
    }

    pub(super) fn call(self, submitted: &Submitted) {
        if let Self(Some(act)) = self {
            act(submitted);
        }
    }
}

impl fmt::Debug for Heard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "something" } else { "nothing" })
    }
}

#[derive(Debug)]
pub(super) struct Request {
    pub(super) message: Box<ShortMessage>,
    pub(super) tell: oneshot::Sender<Submitted>,
    pub(super) heard: Heard,
    pub(super) leave: Leave,
    pub(super) place: OwnedSemaphorePermit,
}
