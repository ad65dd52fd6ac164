//! The audit: what must hold in the database, at every moment and at the end.
//!
//! [`rules`] are questions whose every answer is a violation; [`texts`] compares the texts with
//! what clients were told and networks wrote down, [`webhooks`] the deliveries with what the
//! receiver took.

pub(super) mod rules;
pub(super) mod texts;
pub(super) mod webhooks;
