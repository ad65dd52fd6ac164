//! What a program remembers of its own work between two calls: what it holds, what it could not
//! record, and when it last looked for what expired.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use crate::dispatch::{LOOK_FOR_EXPIRED_EVERY, LeaseToken, OutcomePlan};
use crate::time::Timestamp;

/// The leases of claims whose texts are being handed over by this program.
#[derive(Debug, Default)]
pub(in crate::service) struct HeldLeases(Mutex<BTreeSet<LeaseToken>>);

impl HeldLeases {
    pub(super) fn with<T>(&self, act: impl FnOnce(&mut BTreeSet<LeaseToken>) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Outcomes that the store could not record when they came. The texts have left: they are kept, and
/// held, until they are recorded, lest another worker hands them over again.
#[derive(Debug, Default)]
pub(in crate::service) struct Unrecorded(Mutex<Vec<Vec<OutcomePlan>>>);

impl Unrecorded {
    pub(super) fn with<T>(&self, act: impl FnOnce(&mut Vec<Vec<OutcomePlan>>) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// When texts that expired were last looked for among those whose routes cannot take them.
#[derive(Debug, Default)]
pub(in crate::service) struct ExpiredLook(Mutex<Option<Timestamp>>);

impl ExpiredLook {
    /// Whether it is time to look; whoever is told so does it.
    pub(super) fn is_due(&self, now: Timestamp) -> bool {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = last.is_none_or(|last| now.since(last) >= LOOK_FOR_EXPIRED_EVERY);
        if is_due {
            *last = Some(now);
        }
        is_due
    }

    /// There may be more.
    pub(super) fn look_again(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// What a claim holds its texts under.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hold {
    pub(super) token: LeaseToken,
    /// When it was made.
    pub(super) since: Timestamp,
}

/// Forgets a lease when the work under it ends, also when it is dropped.
pub(super) struct Held<'a> {
    pub(super) leases: &'a HeldLeases,
    pub(super) hold: Hold,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.leases.with(|tokens| tokens.remove(&self.hold.token));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_is_forgotten_when_the_work_under_it_ends() {
        let (leases, since) = (HeldLeases::default(), Timestamp::from_millis(7));
        let (ends, stays) = (LeaseToken(1), LeaseToken(2));
        leases.with(|tokens| tokens.extend([ends, stays]));
        drop(Held { leases: &leases, hold: Hold { token: ends, since } });
        assert_eq!(leases.with(|tokens| tokens.clone()), [stays].into());
    }
}
