//! Receipts.

pub(crate) mod follow_up;
pub(crate) mod late;
pub(crate) mod record;
pub(crate) mod report;
pub(crate) mod reused;
pub(crate) mod unmatched;
