//! Tracked links.

pub(super) mod click;
pub(super) mod keep;
