//! Credits: what messages cost, and the ledger that records every change of a balance.
//!
//! One credit pays for one segment. A balance never goes below zero and is always the sum of the
//! account's ledger entries: see [`ledger`].

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::text::encoding::Segments;

pub mod adjust;
pub mod ledger;
pub mod store;

/// An amount of credits, 0 to 2^53 - 1, so that every JSON parser reads it exactly.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(try_from = "u64", into = "u64")]
pub struct Credits(u64);

/// The amount exceeds what an account can hold, 2^53 - 1 credits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an account can hold at most 9,007,199,254,740,991 credits")]
pub struct TooManyCredits;

impl Credits {
    /// No credits: the lowest balance, and what a test send is charged.
    pub const ZERO: Self = Self(0);
    /// The most that an account can hold: 2^53 - 1.
    pub const MAX: Self = Self((1 << 53) - 1);

    /// The highest balance that a top-up may lead to: half of [`Credits::MAX`], so that refunds
    /// always have room.
    pub const MOST_TOPPED_UP: Self = Self(Self::MAX.0 / 2);

    /// The amount given, or an error if an account cannot hold it.
    pub fn new(amount: u64) -> Result<Self, TooManyCredits> {
        if amount > Self::MAX.0 { Err(TooManyCredits) } else { Ok(Self(amount)) }
    }

    /// The price of `segments`: one credit each.
    pub fn for_segments(segments: Segments) -> Self {
        Self(u64::from(segments.get()))
    }

    /// The amount as an integer.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The amount with its unit, for a sentence: `1 credit`, `12 credits`.
    pub(crate) fn with_unit(self) -> String {
        if self.0 == 1 { "1 credit".to_owned() } else { format!("{self} credits") }
    }

    /// The change that adds this amount.
    pub fn gain(self) -> Change {
        Change(i64::try_from(self.0).unwrap_or(i64::MAX))
    }

    /// The change that takes this amount away.
    pub fn loss(self) -> Change {
        Change(-self.gain().0)
    }

    /// The sum; `None` if an account cannot hold it.
    pub fn checked_add(self, other: Self) -> Option<Self> {
        self.0.checked_add(other.0).and_then(|sum| Self::new(sum).ok())
    }

    /// The amount after `change`; `None` if that is below zero or more than an account can hold.
    pub fn checked_apply(self, change: Change) -> Option<Self> {
        let changed = self.0.checked_add_signed(change.0)?;
        Self::new(changed).ok()
    }
}

impl TryFrom<u64> for Credits {
    type Error = TooManyCredits;

    fn try_from(amount: u64) -> Result<Self, TooManyCredits> {
        Self::new(amount)
    }
}

impl From<Credits> for u64 {
    fn from(credits: Credits) -> Self {
        credits.0
    }
}

impl fmt::Display for Credits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// A change of a balance: credits gained (positive) or lost (negative).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize)]
#[serde(transparent)]
pub struct Change(i64);

impl Change {
    /// A change by `amount`; `None` if its absolute value is more than an account can hold.
    pub fn new(amount: i64) -> Option<Self> {
        Credits::new(amount.unsigned_abs()).ok().map(|_| Self(amount))
    }

    /// The change as an integer.
    pub const fn get(self) -> i64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_balance_never_goes_below_zero_or_past_what_json_keeps() {
        let ten = Credits::new(10).unwrap();
        assert_eq!(ten.checked_apply(ten.loss()), Some(Credits::ZERO));
        assert_eq!(ten.checked_apply(Change(-11)), None);
        assert_eq!(Credits::MAX.checked_apply(Change(1)), None);
        assert_eq!(Credits::MAX.checked_add(ten), None);
        assert_eq!(Credits::MOST_TOPPED_UP.get(), (1 << 52) - 1);
        assert!(Credits::new(1 << 53).is_err());
        assert_eq!(Change::new(i64::MIN), None);
    }

    #[test]
    fn credits_are_a_bare_number_in_json_within_what_json_keeps() {
        let json = serde_json::to_string(&Credits::MAX).unwrap();
        assert_eq!(json, "9007199254740991");
        assert_eq!(Credits::MAX.to_string(), json);
        assert_eq!(serde_json::from_str::<Credits>(&json).unwrap(), Credits::MAX);
        for bad in ["9007199254740992", "-1", "1.5", "\"1\"", "null"] {
            assert!(serde_json::from_str::<Credits>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_gain_and_a_loss_of_the_same_credits_cancel_out() {
        for amount in [0, 1, 11, Credits::MAX.0] {
            let credits = Credits(amount);
            assert_eq!(Credits::ZERO.checked_apply(credits.gain()), Some(credits));
            assert_eq!(credits.checked_apply(credits.loss()), Some(Credits::ZERO));
            assert_eq!(credits.gain().get(), -credits.loss().get());
        }
        let limit = i64::try_from(Credits::MAX.0).unwrap();
        assert_eq!(Change::new(limit), Some(Credits::MAX.gain()));
        assert_eq!((Change::new(limit + 1), Change::new(-limit - 1)), (None, None));
    }

    #[test]
    fn a_message_costs_one_credit_per_segment() {
        for parts in [1, 2, 11] {
            assert_eq!(Credits::for_segments(Segments::new(parts)).get(), u64::from(parts));
        }
    }
}
