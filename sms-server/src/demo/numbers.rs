//! The demo's own numbers, from the range that Ofcom reserves for drama: they belong to no phone.

/// The number that all accounts share.
pub(super) const SHARED_NUMBER: &str = "07700 900000";
/// The demo account's own number.
pub(super) const DEDICATED_NUMBER: &str = "07700 900001";
