//! How much a claim takes, and how often one is made while the store is slow.

use std::sync::atomic::AtomicUsize;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::hand_over::look::FRESH_FOR;
use crate::time::Timestamp;

/// How large claims are, and which routes are next.
#[derive(Debug, Default)]
pub(in crate::service) struct ClaimSize {
    state: Mutex<State>,
    /// Counts claims, so that lanes with little room take turns with the others.
    pub(super) turn: AtomicUsize,
}

#[derive(Debug, Default)]
struct State {
    /// How often the limit is halved, because claims took long: what a claim took a second for
    /// could no longer be submitted.
    halved: u32,
    /// How many of the smallest claims in a row came too late for what they took.
    late: u32,
    /// No claim is made before this time.
    pause: Option<Timestamp>,
}

/// Halved so often, no claim of a worker takes more than one message.
const HALVED_AT_MOST: u32 = 9;
/// The pause after the first of the smallest claims that came too late. It doubles with each.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

impl ClaimSize {
    pub(super) fn of(&self, limit: usize) -> usize {
        (limit >> self.state().halved).max(1)
    }

    /// Whether no claim is made now, because it would come too late.
    pub(super) fn pauses(&self, now: Timestamp) -> bool {
        self.state().pause.is_some_and(|until| now < until)
    }

    /// A claim took so long, until now.
    pub(super) fn took(&self, time: Duration, now: Timestamp) {
        let mut state = self.state();
        let is_smallest = state.halved == HALVED_AT_MOST;
        if time < FRESH_FOR {
            if state.late > 0 {
                tracing::info!("claims of messages are in time again");
            }
            (state.late, state.pause) = (0, None);
        } else if is_smallest {
            if state.late == 0 {
                tracing::warn!(
                    took = ?time,
                    "the store takes too long for claims: messages wait until it is faster"
                );
            }
            let pause = 2_u32.checked_pow(state.late).and_then(|it| FIRST_PAUSE.checked_mul(it));
            let pause = pause.map_or(LONGEST_PAUSE, |pause| pause.min(LONGEST_PAUSE));
            state.late += 1;
            state.pause = Some(now.plus(pause));
        }
        state.halved = if time > FRESH_FOR / 2 {
            HALVED_AT_MOST.min(state.halved + 1)
        } else {
            state.halved.saturating_sub(1)
        };
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::now;

    #[test]
    fn claims_that_take_long_become_small_then_rare_and_recover() {
        let size = ClaimSize::default();
        let mut at = now();
        for limit in [500, 250, 125, 62, 31, 15, 7, 3, 1] {
            assert_eq!((size.of(500), size.pauses(at)), (limit, false));
            size.took(FRESH_FOR, at);
        }
        for pause in [1, 2, 4, 8, 16, 30, 30] {
            assert_eq!((size.of(500), size.pauses(at)), (1, false));
            size.took(FRESH_FOR, at);
            at = at.plus(Duration::from_secs(pause));
            assert!(size.pauses(at.minus(Duration::from_millis(1))), "{pause}");
        }
        for limit in [1, 1, 3, 7, 15, 31, 62, 125, 250, 500] {
            assert_eq!((size.of(500), size.pauses(at)), (limit, false));
            size.took(Duration::from_millis(5), at);
        }
    }

    #[test]
    fn claims_that_are_just_in_time_are_made_without_a_pause() {
        let size = ClaimSize::default();
        for _ in 0..20 {
            size.took(FRESH_FOR / 2 + Duration::from_millis(1), now());
        }
        assert_eq!((size.of(500), size.pauses(now())), (1, false));
    }
}
