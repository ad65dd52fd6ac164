//! Amounts of credits in requests of the operator.

/// The most credits an account can hold, as [`sms_core::credits::Credits::MAX`]: 2^53 - 1.
pub(super) const MAX_CREDITS: u64 = (1 << 53) - 1;
