//! Campaigns.

pub(super) mod cancel;
pub(super) mod counts;
pub(super) mod draft;
pub(super) mod launch;
pub(super) mod race;
