//! What a program remembers of its own work between two calls: its leases, its outcomes that could
//! not be recorded, and when it last looked for expired messages.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use crate::dispatch::{LOOK_FOR_EXPIRED_EVERY, LeaseToken, OutcomePlan};
use crate::route::Room;
use crate::time::Timestamp;

/// The leases of claims whose messages this program is handing over.
#[derive(Debug, Default)]
pub(in crate::service) struct HeldLeases(Mutex<BTreeSet<LeaseToken>>);

impl HeldLeases {
    pub(super) fn with<T>(&self, act: impl FnOnce(&mut BTreeSet<LeaseToken>) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Outcomes that the store could not record when they arrived. Their messages may have been sent,
/// so the program keeps the outcomes, and its hold on the messages, until they are recorded.
/// Otherwise another worker would send the messages again.
#[derive(Debug, Default)]
pub(in crate::service) struct Unrecorded(Mutex<Vec<Known>>);

/// Outcomes to record, and the room that their messages take in their routes until then.
#[derive(Debug, Default)]
pub(super) struct Known {
    pub(super) plans: Vec<OutcomePlan>,
    /// Dropped with the record.
    pub(super) rooms: Vec<Room>,
}

impl Unrecorded {
    pub(super) fn with<T>(&self, act: impl FnOnce(&mut Vec<Known>) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Outcomes that are being recorded. Unless they were, they are kept for the next try, also when
/// the caller stops waiting.
pub(super) struct Recording<'a> {
    kept: &'a Unrecorded,
    known: Option<Known>,
}

impl<'a> Recording<'a> {
    pub(super) fn of(known: Known, kept: &'a Unrecorded) -> Self {
        Self { kept, known: Some(known) }
    }

    pub(super) fn plans(&self) -> &[OutcomePlan] {
        self.known.as_ref().map_or(&[], |known| &known.plans)
    }

    /// They were recorded. Frees their rooms.
    pub(super) fn succeeded(mut self) {
        self.known = None;
    }
}

impl Drop for Recording<'_> {
    fn drop(&mut self) {
        if let Some(known) = self.known.take() {
            self.kept.with(|kept| kept.push(known));
        }
    }
}

/// When this program last looked for expired messages whose routes have no room.
#[derive(Debug, Default)]
pub(in crate::service) struct ExpiredLook(Mutex<Option<Timestamp>>);

impl ExpiredLook {
    /// Whether it is time to look. A caller that gets true has to look.
    pub(super) fn is_due(&self, now: Timestamp) -> bool {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = last.is_none_or(|last| now.since(last) >= LOOK_FOR_EXPIRED_EVERY);
        if is_due {
            *last = Some(now);
        }
        is_due
    }

    /// Looks again at once, because there may be more.
    pub(super) fn look_again(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// The lease of a claim.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hold {
    pub(super) token: LeaseToken,
    /// When the claim was made.
    pub(super) since: Timestamp,
}

/// Forgets a lease when the work under it ends, or when it is dropped.
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
    fn outcomes_are_kept_until_they_are_recorded() {
        let kept = Unrecorded::default();
        drop(Recording::of(Known::default(), &kept));
        assert_eq!(kept.with(|kept| kept.len()), 1, "the caller stopped waiting");
        let known = kept.with(Vec::pop).unwrap();
        Recording::of(known, &kept).succeeded();
        assert!(kept.with(|kept| kept.is_empty()));
    }

    #[test]
    fn a_lease_is_forgotten_when_the_work_under_it_ends() {
        let (leases, since) = (HeldLeases::default(), Timestamp::from_millis(7));
        let (ends, stays) = (LeaseToken(1), LeaseToken(2));
        leases.with(|tokens| tokens.extend([ends, stays]));
        drop(Held { leases: &leases, hold: Hold { token: ends, since } });
        assert_eq!(leases.with(|tokens| tokens.clone()), [stays].into());
    }
}
