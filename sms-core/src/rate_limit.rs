//! How many requests a key may make, whatever the number of programs that take them.
//!
//! **The law.** In any window of `T` seconds at most `burst + rate × T` requests of a key are
//! admitted, by all programs (*replicas*) over one store together. `T` is measured by the store's
//! clock, and by a replica's own while it counts alone. Where the store goes by a wall clock, a
//! step of it forward by `S` seconds admits up to `rate × S` more, as though they had passed; a
//! step back by more than a lease may leave two counters side by side while a lease is trusted.
//!
//! A generic cell rate algorithm ([`Gcra`]) keeps it with one number per key, the *theoretical
//! arrival time*. A replica that is alone keeps the numbers itself. Several keep them in the store
//! ([`store`]) and take tokens from there ([`reservation`]), a few ahead of need, so that most
//! requests ask nobody. Who may do what is settled by leases ([`membership`]). [`replica`] is all
//! of a replica's side, without I/O, which whoever takes requests drives.
//!
//! # Why the law holds
//!
//! *Under one counter.* A token is granted at `t` for use at some moment from `t` to `t + hold`.
//! Granting moves the key's arrival time from `a` to `max(a, t + hold) + interval`, and is done
//! only if that is at most `t + burst × interval`. Let `n` tokens be used in a window from `x` to
//! `y`. The first of them was granted at `t₁` with `t₁ + hold₁ ≥ x`, so the arrival time was at
//! least `x` before it counted it, and at least `x + n × interval` after the last one. That one
//! was granted at `tₙ ≤ y`, so `x + n × interval ≤ y + burst × interval`, which is the law. Tokens
//! that nobody uses only lower `n`. The local counter is the case `hold = 0`.
//!
//! *From one counter to the next.* At any moment either one replica counts alone, or replicas
//! count in the store: each under a lease that it trusts for less long than the store keeps it.
//! Whenever one of the two ends, that moment is noted, and the next counter begins as though the
//! burst had just been spent: its arrival time is at least `start + burst × interval` with a
//! `start` no earlier than the end of all before. So it admits at most `rate × T` in its first `T`
//! seconds. A window that spans several counters holds at most `burst + rate × T₁` from the first,
//! and `rate × Tᵢ` from each that follows: the law again.
//!
//! What a request does not know is when it was admitted between its arrival and its answer; the
//! proof takes the moment of the grant, which lies between the two.
//!
//! All times are nanoseconds: those of a replica by its own monotonic clock, those of the store by
//! the store's. The two are never compared, only durations cross. The proof takes each to go on at
//! the pace of time; what a step of the store's clock does is said with the law.

pub mod membership;
pub mod replica;
pub mod reservation;
pub mod store;

#[cfg(test)]
mod law_tests;

/// A second.
pub const SECOND: u64 = 1_000_000_000;
/// The longest that a token may wait for its use: a quarter of a second.
const LONGEST_HOLD: u64 = SECOND / 4;
/// What part of the burst may be held ahead of need.
const PART_AHEAD: u64 = 8;

/// The rate and the burst: pure arithmetic, without keys and without a clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gcra {
    burst: u64,
    /// Nanoseconds between two requests of an even stream, rounded up, so never too many pass.
    interval: u64,
}

/// What the limiter says to one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict {
    /// The seconds to wait before the next try, at least 1; nothing if the request may pass.
    pub retry_after: Option<u64>,
    /// How many requests a key may make at once.
    pub limit: u64,
    /// How many more would pass right now.
    pub remaining: u64,
    /// Seconds until all of `limit` would pass again, rounded up.
    pub reset: u64,
}

impl Gcra {
    /// `rate_per_second` requests a second, up to `burst` at once. Both count as 1 at least.
    pub fn new(rate_per_second: u32, burst: u32) -> Self {
        Self {
            burst: u64::from(burst.max(1)),
            interval: SECOND.div_ceil(u64::from(rate_per_second.max(1))),
        }
    }

    /// Judges a request at `now`. If it passes, `arrival` becomes the key's new arrival time.
    ///
    /// An idle key has an `arrival` of `now` or before.
    pub fn judge(self, arrival: &mut u64, now: u64) -> Verdict {
        let verdict = self.look(*arrival, now);
        if verdict.retry_after.is_some() {
            return verdict;
        }
        *arrival = now.max(*arrival).saturating_add(self.interval);
        self.verdict(*arrival - now, None)
    }

    /// Judges a request at `now` without counting it.
    fn look(self, arrival: u64, now: u64) -> Verdict {
        let ahead = arrival.saturating_sub(now);
        let excess = ahead.saturating_sub(self.span() - self.interval);
        self.verdict(ahead, (excess > 0).then(|| excess.div_ceil(SECOND)))
    }

    /// How long the whole burst takes to come back.
    fn span(self) -> u64 {
        self.burst.saturating_mul(self.interval)
    }

    /// How many tokens may be taken ahead of need: an eighth of the burst, and no more than a
    /// quarter of a second's. Five at 20 requests a second with a burst of 40.
    fn most_ahead(self) -> u64 {
        (self.burst / PART_AHEAD).min(LONGEST_HOLD / self.interval)
    }

    /// For how long they may be used.
    fn hold(self) -> u64 {
        self.most_ahead() * self.interval
    }

    fn verdict(self, ahead: u64, retry_after: Option<u64>) -> Verdict {
        let used = ahead.div_ceil(self.interval);
        Verdict {
            retry_after,
            limit: self.burst,
            remaining: self.burst.saturating_sub(used),
            reset: ahead.div_ceil(SECOND),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MILLI: u64 = 1_000_000;

    #[test]
    fn a_burst_passes_and_the_next_has_to_wait() {
        let gcra = Gcra::new(20, 40);
        let (mut arrival, now) = (0, 5 * SECOND);
        for sent in 1..=40 {
            let verdict = gcra.judge(&mut arrival, now);
            assert_eq!(verdict.retry_after, None);
            assert_eq!(verdict.remaining, 40 - sent);
        }
        let refused = gcra.judge(&mut arrival, now);
        assert_eq!(refused.retry_after, Some(1));
        assert_eq!((refused.limit, refused.remaining, refused.reset), (40, 0, 2));
        assert_eq!(gcra.judge(&mut arrival, now + 50 * MILLI).retry_after, None);
        assert!(gcra.judge(&mut arrival, now + 60 * MILLI).retry_after.is_some());
    }

    #[test]
    fn a_rate_that_does_not_divide_a_second_is_rounded_down() {
        let gcra = Gcra::new(3, 1);
        let mut arrival = 0;
        assert_eq!(gcra.judge(&mut arrival, 0).retry_after, None);
        assert_eq!(gcra.judge(&mut arrival, 333_333_333).retry_after, Some(1));
        assert_eq!(gcra.judge(&mut arrival, 333_333_334).retry_after, None);
    }

    #[test]
    fn an_eighth_of_the_burst_is_taken_ahead_and_no_more_than_comes_back_in_a_quarter_second() {
        for (rate, burst, most) in [(20, 40, 5), (20, 7, 0), (20, 8, 1), (20, 400, 5), (100, 40, 5)]
        {
            let gcra = Gcra::new(rate, burst);
            assert_eq!(gcra.most_ahead(), most, "{rate} {burst}");
            assert_eq!(gcra.hold(), most * SECOND / u64::from(rate), "{rate} {burst}");
        }
    }

    proptest! {
        /// However the requests come, no window holds more than the burst and its share.
        #[test]
        fn the_law_of_the_window_holds(
            rate in 1_u32..200,
            burst in 1_u32..100,
            gaps in prop::collection::vec(0_u64..200 * MILLI, 1..400),
        ) {
            let gcra = Gcra::new(rate, burst);
            let (mut arrival, mut now) = (0, 0);
            let mut passed: Vec<u64> = Vec::new();
            for gap in gaps {
                now += gap;
                if gcra.judge(&mut arrival, now).retry_after.is_none() {
                    passed.push(now);
                }
            }
            for (index, first) in passed.iter().enumerate() {
                for (count, last) in (1_u128..).zip(&passed[index..]) {
                    let window = u128::from(last - first);
                    let share = window * u128::from(rate) / u128::from(SECOND);
                    prop_assert!(count <= u128::from(burst) + share);
                }
            }
        }

        /// Whoever waits as long as told is let through, and the wait is never padded.
        #[test]
        fn retry_after_is_honest(
            rate in 1_u32..200,
            burst in 1_u32..100,
            gaps in prop::collection::vec(0_u64..20 * MILLI, 1..400),
        ) {
            let gcra = Gcra::new(rate, burst);
            let (mut arrival, mut now) = (0, 0);
            for gap in gaps {
                now += gap;
                let Some(seconds) = gcra.judge(&mut arrival, now).retry_after else { continue };
                prop_assert!(seconds >= 1);
                let wait = seconds * SECOND;
                let mut after = arrival;
                prop_assert_eq!(gcra.judge(&mut after, now + wait).retry_after, None);
                if seconds > 1 {
                    let mut sooner = arrival;
                    let short = wait - SECOND;
                    prop_assert!(gcra.judge(&mut sooner, now + short).retry_after.is_some());
                }
            }
        }

        /// `remaining` is how many pass at once, and `reset` is enough to have them all.
        #[test]
        fn remaining_and_reset_are_honest(
            rate in 1_u32..200,
            burst in 1_u32..100,
            gaps in prop::collection::vec(0_u64..100 * MILLI, 1..200),
        ) {
            let gcra = Gcra::new(rate, burst);
            let (mut arrival, mut now) = (0, 0);
            for gap in gaps {
                now += gap;
                let verdict = gcra.judge(&mut arrival, now);
                let mut trial = arrival;
                for _ in 0..verdict.remaining {
                    prop_assert_eq!(gcra.judge(&mut trial, now).retry_after, None);
                }
                prop_assert!(gcra.judge(&mut trial, now).retry_after.is_some());
                let mut rested = arrival;
                let at_reset = now + verdict.reset * SECOND;
                prop_assert_eq!(gcra.judge(&mut rested, at_reset).remaining, u64::from(burst) - 1);
            }
        }
    }
}
