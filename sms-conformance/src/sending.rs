//! Accepting sends.

pub(crate) mod accept;
pub(crate) mod idempotency;
pub(crate) mod race;
pub(crate) mod refusal;
pub(crate) mod remembered;
pub(crate) mod test_limit;
