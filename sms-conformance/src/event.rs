//! The event log.

pub(crate) mod every;
pub(crate) mod follow;
