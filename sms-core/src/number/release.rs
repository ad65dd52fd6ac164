//! Numbers that their holder no longer has.
//!
//! People continue to answer to a number after its account has given it up. So for 30 days another
//! holder does not get it, and what arrives on it leads back to the account that last sent the
//! person a message from it.

use std::time::Duration;

use super::{Holder, Number};
use crate::phone::E164;
use crate::time::Timestamp;

/// How long a released number is kept from other holders: 30 days.
pub const QUARANTINE: Duration = Duration::from_hours(30 * 24);

/// The last time that a holder gave up a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Release {
    /// The number that was given up.
    pub phone: E164,
    /// Who gave it up, and may have it back at any time.
    pub holder: Holder,
    /// When it was released.
    pub at: Timestamp,
}

impl Release {
    /// The release of a number at `at`.
    pub fn of(number: &Number, at: Timestamp) -> Self {
        Self { phone: number.phone, holder: number.holder, at }
    }

    /// When another holder may have the number.
    pub fn ends_at(&self) -> Timestamp {
        self.at.plus(QUARANTINE)
    }

    /// Whether the number is still kept from other holders.
    pub fn is_recent(&self, now: Timestamp) -> bool {
        now < self.ends_at()
    }
}

/// Whether a new number may be one that another holder has just released.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Quarantine {
    /// It may not, for 30 days: the plan is refused.
    #[default]
    Respect,
    /// It may: the operator insists.
    Override,
}

/// A plan to add a number to those of the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddPlan {
    /// The number as it will be stored.
    pub number: Number,
    /// What to do about an earlier holder.
    pub quarantine: Quarantine,
}

impl AddPlan {
    /// A plan that respects the quarantine.
    pub fn new(number: Number) -> Self {
        Self { number, quarantine: Quarantine::Respect }
    }

    /// The verdict, given the last release of the phone number, which the store reads once the
    /// number is locked or written: when the quarantine ends that forbids it. The former holder may
    /// have the number back at any time.
    pub fn settle(&self, released: Option<&Release>) -> Result<(), Timestamp> {
        let Self { number, quarantine } = self;
        let forbids = |release: &&Release| {
            release.is_recent(number.assigned_at) && release.holder != number.holder
        };
        match (quarantine, released.filter(forbids)) {
            (Quarantine::Respect, Some(release)) => Err(release.ends_at()),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::AccountId;
    use crate::samples::{millis, now, shared_number};

    fn held_by(holder: Holder) -> Number {
        Number { holder, assigned_at: now(), ..shared_number() }
    }

    #[test]
    fn a_released_number_is_kept_for_its_holder_for_30_days() {
        let account = |n| Holder::Dedicated(AccountId::from_u128(n));
        let month = i64::try_from(QUARANTINE.as_millis()).unwrap();
        for (before, after, ago, is_free) in [
            (account(1), account(1), 0, true),
            (account(1), account(2), 0, false),
            (account(1), account(2), month - 1, false),
            (account(1), account(2), month, true),
            (account(1), Holder::Shared, 0, false),
            (Holder::Shared, account(1), 0, false),
            (Holder::Shared, Holder::Shared, 0, true),
        ] {
            let release = Release::of(&held_by(before), millis(-ago));
            let plan = AddPlan::new(held_by(after));
            let expected = if is_free { Ok(()) } else { Err(millis(month - ago)) };
            assert_eq!(plan.settle(Some(&release)), expected, "{before:?} {after:?} {ago}");
            assert_eq!(plan.settle(None), Ok(()));
            let forced = AddPlan { quarantine: Quarantine::Override, ..plan };
            assert_eq!(forced.settle(Some(&release)), Ok(()));
        }
    }
}
