//! The queue of messages that wait to leave.

pub(crate) mod claim;
pub(crate) mod held;
pub(crate) mod lane;
pub(crate) mod lease;
pub(crate) mod look;
pub(crate) mod outcome;
pub(crate) mod race;
pub(crate) mod retry;
pub(crate) mod sender;
pub(crate) mod unanswered;
