//! Sends that wait for a commit.

use sms_core::sending::plan::SendPlan;

/// A plan that waits for its commit.
pub(super) struct Waiting {
    pub(super) plan: SendPlan,
    pub(super) order: Order,
}

/// In which order a plan is settled.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// In any: it is alone in its call.
    Any,
    /// After those of its account that stand before it in its call.
    InTurn,
}
