//! Taking tokens from the counter that several replicas share.

use super::{Gcra, SECOND};
use crate::ids::ApiKeyId;

/// The tokens of one key that a replica asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reservation {
    /// Whose.
    pub key: ApiKeyId,
    /// The limit of the key.
    pub gcra: Gcra,
    /// Tokens for requests that wait, to be used at once.
    pub waiting: u64,
    /// Tokens for requests that may come.
    pub ahead: u64,
}

/// What the store knows of a key, read with the key locked. Times are nanoseconds by the store's
/// clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReservationFacts {
    /// The key's arrival time, if it has one.
    pub arrival: Option<u64>,
    /// When counting in the store began; nothing if that is not known, as when a crash has emptied
    /// the store's counters.
    pub start: Option<u64>,
    /// The present, read after the lock was had.
    pub now: u64,
}

/// What a replica gets, and the key's new arrival time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Granted {
    /// How many of those that wait may pass.
    pub waiting: u64,
    /// How many tokens are ahead of need, to be used within the limit's hold.
    pub ahead: u64,
    /// To be kept as the key's arrival time.
    pub arrival: u64,
    /// When that was, by the store's clock.
    pub now: u64,
}

impl Reservation {
    /// Grants what the law allows: to those that wait as much as there is, ahead of need only while
    /// half of the burst is free, so that tokens nobody uses refuse no one.
    pub fn settle(&self, facts: ReservationFacts) -> Granted {
        let ReservationFacts { arrival, start, now } = facts;
        let (gcra, limit) = (self.gcra, now.saturating_add(self.gcra.span()));
        // A counter begins with its burst spent.
        let begun = start.map_or(limit, |start| start.saturating_add(gcra.span()));
        let mut arrival = arrival.unwrap_or(0).max(begun);
        if arrival > limit.saturating_add(SECOND) {
            // Written by a clock that has been set back since.
            arrival = limit;
        }
        let waiting = gcra.take(&mut arrival, now, limit, self.waiting);
        let half = now.saturating_add(gcra.span() / 2);
        let wanted = if waiting < self.waiting { 0 } else { self.ahead.min(gcra.most_ahead()) };
        // Charged as though used at the last moment: see the proof in `rate_limit`.
        let ahead = gcra.take(&mut arrival, now.saturating_add(gcra.hold()), half, wanted);
        Granted { waiting, ahead, arrival, now }
    }
}

impl Gcra {
    /// Takes up to `wanted` tokens to be used at `at` or before, as long as the arrival time stays
    /// within `limit`.
    fn take(self, arrival: &mut u64, at: u64, limit: u64, wanted: u64) -> u64 {
        let base = at.max(*arrival);
        let taken = (limit.saturating_sub(base) / self.interval).min(wanted);
        if taken > 0 {
            *arrival = base + taken * self.interval;
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Id;

    const NOW: u64 = 1_000 * SECOND;
    const MILLI: u64 = SECOND / 1_000;

    fn ask(waiting: u64, ahead: u64) -> Reservation {
        Reservation { key: Id::from_u128(1), gcra: Gcra::new(20, 40), waiting, ahead }
    }

    fn facts(arrival: Option<u64>) -> ReservationFacts {
        ReservationFacts { arrival, start: Some(0), now: NOW }
    }

    #[test]
    fn an_idle_key_has_its_burst_and_no_more() {
        let granted = ask(50, 5).settle(facts(None));
        assert_eq!((granted.waiting, granted.ahead), (40, 0));
        assert_eq!(granted.arrival, NOW + 2 * SECOND);
        let again = ask(1, 5).settle(facts(Some(granted.arrival)));
        assert_eq!((again.waiting, again.ahead, again.arrival), (0, 0, granted.arrival));
    }

    #[test]
    fn tokens_ahead_are_charged_as_though_used_at_the_last_moment() {
        let granted = ask(1, 9).settle(facts(None));
        assert_eq!((granted.waiting, granted.ahead), (1, 5));
        assert_eq!(granted.arrival, NOW + 250 * MILLI + 5 * 50 * MILLI);
    }

    #[test]
    fn what_is_not_wanted_ahead_is_not_charged() {
        let granted = ask(1, 0).settle(facts(None));
        assert_eq!((granted.waiting, granted.ahead), (1, 0));
        assert_eq!(granted.arrival, NOW + 50 * MILLI);
    }

    #[test]
    fn nothing_is_given_ahead_when_half_the_burst_is_gone() {
        let granted = ask(18, 5).settle(facts(None));
        assert_eq!((granted.waiting, granted.ahead), (18, 2));
        assert_eq!(ask(20, 5).settle(facts(None)).ahead, 0);
    }

    #[test]
    fn a_counter_begins_with_its_burst_spent() {
        let begun = |ago: u64| ReservationFacts { start: Some(NOW - ago), ..facts(None) };
        assert_eq!(ask(50, 5).settle(begun(0)).waiting, 0);
        assert_eq!(ask(50, 5).settle(begun(100 * MILLI)).waiting, 2);
        assert_eq!(ask(50, 5).settle(begun(2 * SECOND)).waiting, 40);
        let unknown = ReservationFacts { start: None, ..facts(None) };
        assert_eq!(ask(50, 5).settle(unknown).waiting, 0);
    }

    #[test]
    fn a_clock_that_was_set_back_locks_nobody_out() {
        let granted = ask(1, 0).settle(facts(Some(NOW + 3_600 * SECOND)));
        assert_eq!((granted.waiting, granted.arrival), (0, NOW + 2 * SECOND));
        // A second more than the burst is what clocks may differ by.
        for (ahead, kept) in [(3 * SECOND, 3 * SECOND), (3 * SECOND + 1, 2 * SECOND)] {
            let granted = ask(0, 0).settle(facts(Some(NOW + ahead)));
            assert_eq!(granted.arrival, NOW + kept);
        }
    }
}
