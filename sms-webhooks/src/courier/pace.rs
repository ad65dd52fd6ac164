//! When to claim: at once when there is something new, and in portions while endpoints have more
//! due deliveries than slots.

use std::time::Duration;

use tokio::time::Instant;

/// The longest that free slots wait for more to become free before the next claim.
const WAITS_FOR_MORE: Duration = Duration::from_millis(5);

/// Whether a claim may have left due deliveries for want of slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Left {
    None,
    Some,
}

/// What a slot means that becomes free.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum FreeSlot {
    /// Nothing: the last claim left nothing.
    #[default]
    IsNotNeeded,
    /// A claim, if the one under way leaves something: that one does not know of the slot.
    IsNoted,
    /// One became free while a claim was under way.
    Came,
    /// A claim: the last one left something for want of slots.
    IsClaimedFor,
}

/// When the next claim begins.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// Whether there may be something to claim.
    is_wanted: bool,
    free_slot: FreeSlot,
    is_stopped: bool,
    /// How many slots have to become free before the next claim, and the longest wait for them.
    slots_to_come: usize,
    until: Option<Instant>,
}

impl Pace {
    /// There may be something to claim.
    pub(super) fn look(&mut self) {
        (self.is_wanted, self.is_stopped) = (true, false);
    }

    /// Nothing more is to be claimed.
    pub(super) fn stop(&mut self) {
        (self.is_wanted, self.free_slot, self.is_stopped) = (false, FreeSlot::IsNotNeeded, true);
    }

    /// Whether a claim is to come.
    pub(super) fn is_wanted(&self) -> bool {
        self.is_wanted
    }

    /// A slot has become free.
    pub(super) fn slot_freed(&mut self) {
        self.slots_to_come = self.slots_to_come.saturating_sub(1);
        match self.free_slot {
            FreeSlot::IsNotNeeded | FreeSlot::Came => {}
            FreeSlot::IsNoted => self.free_slot = FreeSlot::Came,
            FreeSlot::IsClaimedFor => self.is_wanted = true,
        }
    }

    /// Whether a claim begins at `now`, while `under_way` attempts are in flight.
    pub(super) fn begin(&mut self, now: Instant, under_way: usize) -> bool {
        let waits =
            under_way > 0 && self.slots_to_come > 0 && self.until.is_some_and(|until| until > now);
        if waits || !self.is_wanted {
            return false;
        }
        (self.is_wanted, self.free_slot) = (false, FreeSlot::IsNoted);
        true
    }

    /// When a claim may begin although no more slots become free; `None` if none is wanted.
    pub(super) fn begins_at(&self) -> Option<Instant> {
        self.until.filter(|_| self.is_wanted)
    }

    /// A claim took `count` deliveries, and this is what it left. If slots were the limit, half of
    /// them have to become free before the next claim, unless that takes long.
    pub(super) fn ended(&mut self, count: usize, left: Left, now: Instant) {
        let is_limited = left == Left::Some && !self.is_stopped;
        self.is_wanted |= is_limited && self.free_slot == FreeSlot::Came;
        self.free_slot = if is_limited { FreeSlot::IsClaimedFor } else { FreeSlot::IsNotNeeded };
        self.slots_to_come = if is_limited { count / 2 } else { 0 };
        self.until = Some(now + WAITS_FOR_MORE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_due_is_claimed_at_once_and_once() {
        let (mut pace, now) = (Pace::default(), Instant::now());
        assert!(!pace.begin(now, 0), "nobody asked");
        pace.look();
        assert!(pace.begin(now, 1));
        assert!(!pace.begin(now, 0));
        pace.ended(3, Left::None, now);
        pace.slot_freed();
        assert!(!pace.begin(now, 0), "nothing was left");
        pace.look();
        assert!(pace.begin(now, 1));
    }

    #[test]
    fn while_slots_are_the_limit_half_of_them_are_claimed_for_at_a_time() {
        let (mut pace, now) = (Pace::default(), Instant::now());
        pace.look();
        assert!(pace.begin(now, 0));
        pace.ended(4, Left::Some, now);
        assert_eq!(pace.begins_at(), None, "no slot is free");
        pace.slot_freed();
        assert!(!pace.begin(now, 1));
        assert_eq!(pace.begins_at(), Some(now + WAITS_FOR_MORE));
        pace.slot_freed();
        assert!(pace.begin(now, 1));
    }

    #[test]
    fn a_free_slot_waits_for_others_no_longer_than_some_milliseconds_or_until_all_are_free() {
        let now = Instant::now();
        for (at, under_way) in [(now + WAITS_FOR_MORE, 1), (now, 0)] {
            let mut pace = Pace::default();
            pace.ended(32, Left::Some, now);
            pace.slot_freed();
            assert!(!pace.begin(now, 1));
            assert!(pace.begin(at, under_way));
        }
    }

    #[test]
    fn news_during_a_claim_are_looked_at_after_it() {
        let (mut pace, now) = (Pace::default(), Instant::now());
        pace.look();
        assert!(pace.begin(now, 0));
        pace.look();
        pace.ended(1, Left::None, now);
        assert!(pace.begin(now, 1));
    }

    #[test]
    fn a_slot_that_becomes_free_during_a_claim_is_claimed_for_after_it() {
        for (left, expected) in [(Left::Some, true), (Left::None, false)] {
            let (mut pace, now) = (Pace::default(), Instant::now());
            pace.look();
            assert!(pace.begin(now, 1));
            pace.slot_freed();
            pace.ended(0, left, now);
            assert_eq!(pace.is_wanted(), expected, "{left:?}: it may be the last to become free");
            assert_eq!(pace.begin(now, 0), expected, "{left:?}");
        }
    }

    #[test]
    fn nothing_is_claimed_after_the_end() {
        let (mut pace, now) = (Pace::default(), Instant::now());
        pace.ended(4, Left::Some, now);
        pace.look();
        pace.stop();
        pace.slot_freed();
        assert!(!pace.begin(now, 0));
        pace.ended(4, Left::Some, now);
        pace.slot_freed();
        assert!(!pace.begin(now, 0), "the last claim was under way");
    }
}
