//! What a program remembers of its own work between two calls: its leases, its outcomes that could
//! not be recorded, whose turn it is, and when it last looked for expired messages.
//!
//! [`from_birth`](super::from_birth) draws where outcomes come from and go to.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use super::hold::Hold;
use super::room::Permit;
use crate::dispatch::LOOK_FOR_EXPIRED_EVERY;
use crate::dispatch::outcome::OutcomePlan;
use crate::dispatch::queue::LeaseToken;
use crate::dispatch::turns::Turns;
use crate::hand_over::Room;
use crate::time::Timestamp;

/// The leases of claims whose messages this program is handing over or recording, each with the
/// number of holders.
#[derive(Debug, Default)]
pub(in crate::service) struct HeldLeases(Mutex<BTreeMap<LeaseToken, usize>>);

impl HeldLeases {
    /// The tokens of all of them.
    pub(super) fn tokens(&self) -> BTreeSet<LeaseToken> {
        self.with(|held| held.keys().copied().collect())
    }

    fn with<T>(&self, act: impl FnOnce(&mut BTreeMap<LeaseToken, usize>) -> T) -> T {
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
    /// Dropped with the record, or once the outcomes are in the journal.
    pub(super) rooms: Vec<Room>,
    /// Dropped with the record.
    pub(super) permits: Vec<Arc<Permit>>,
}

impl Unrecorded {
    pub(super) fn with<T>(&self, act: impl FnOnce(&mut Vec<Known>) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Outcomes that are being recorded. Their leases are held meanwhile, however long the store takes.
/// Unless they were recorded, they are kept for the next try, also when the caller stops waiting.
pub(super) struct Recording<'a> {
    kept: &'a Unrecorded,
    known: Option<Known>,
    _held: Vec<Held<'a>>,
}

impl<'a> Recording<'a> {
    pub(super) fn of(known: Known, kept: &'a Unrecorded, leases: &'a HeldLeases) -> Self {
        let holds: BTreeMap<_, _> =
            known.plans.iter().map(|plan| (plan.token, plan.claimed_at)).collect();
        let held = |(token, since)| Held::of(Hold { token, since }, leases);
        Self { kept, _held: holds.into_iter().map(held).collect(), known: Some(known) }
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

/// Whose turn it is in this program's next claim.
#[derive(Debug, Default)]
pub(in crate::service) struct NextTurns(Mutex<Turns>);

impl NextTurns {
    pub(super) fn get(&self) -> Turns {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set(&self, turns: Turns) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = turns;
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

/// Holds a lease until the work under it ends, or until this is dropped.
pub(super) struct Held<'a> {
    leases: &'a HeldLeases,
    pub(super) hold: Hold,
}

impl<'a> Held<'a> {
    pub(super) fn of(hold: Hold, leases: &'a HeldLeases) -> Self {
        leases.with(|held| *held.entry(hold.token).or_default() += 1);
        Self { leases, hold }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.leases.with(|held| {
            let count = held.entry(self.hold.token).or_default();
            *count = count.saturating_sub(1);
            if *count == 0 {
                held.remove(&self.hold.token);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::MessageId;
    use crate::route::HandOver;
    use crate::samples::{ids, now};

    #[test]
    fn outcomes_are_kept_and_their_leases_held_until_they_are_recorded() {
        let (kept, leases, token) = (Unrecorded::default(), HeldLeases::default(), LeaseToken(1));
        let (message, at) = (MessageId::from_u128(1), now());
        let result = HandOver::Taken { simulated: Vec::new() };
        let plan =
            OutcomePlan { message, token, claimed_at: at, result, at, held: None, ids: ids() };
        let known = Known { plans: vec![plan], ..Known::default() };
        let recording = Recording::of(known, &kept, &leases);
        assert_eq!(leases.tokens(), [token].into());
        drop(recording);
        assert_eq!(kept.with(|kept| kept.len()), 1, "the caller stopped waiting");
        let known = kept.with(Vec::pop).unwrap();
        Recording::of(known, &kept, &leases).succeeded();
        assert!(kept.with(|kept| kept.is_empty()));
        assert_eq!(leases.tokens(), [].into());
    }

    #[test]
    fn a_lease_is_forgotten_when_all_work_under_it_ends() {
        let (leases, since) = (HeldLeases::default(), now());
        let held = |token| Held::of(Hold { token, since }, &leases);
        let (ends, stays) = (LeaseToken(1), LeaseToken(2));
        let (first, second, _stays) = (held(ends), held(ends), held(stays));
        drop(first);
        assert_eq!(leases.tokens(), [ends, stays].into());
        drop(second);
        assert_eq!(leases.tokens(), [stays].into());
    }
}
