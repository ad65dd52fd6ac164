//! How many requests a key may make: a generic cell rate algorithm (GCRA), one number per key.
//!
//! The number is the *theoretical arrival time*: when a key that sent its requests evenly would
//! send the next. A request is let through unless that time is too far ahead. In any window of `T`
//! seconds at most `burst + rate × T` requests pass.
//!
//! Time is passed in, as nanoseconds ([`Gcra`]) or as [`Instant`] ([`RateLimiter`]); this is real
//! time, never the clock of the sandbox. The limits are those of one process: several replicas let
//! through the sum of their shares.

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use poem::http::{HeaderMap, HeaderName, HeaderValue};

use crate::error::ApiError;

/// Header with the number of requests a key may make at once.
pub const LIMIT_HEADER: HeaderName = HeaderName::from_static("ratelimit-limit");
/// Header with the number of requests that would pass right now.
pub const REMAINING_HEADER: HeaderName = HeaderName::from_static("ratelimit-remaining");
/// Header with the seconds until the full burst is there again.
pub const RESET_HEADER: HeaderName = HeaderName::from_static("ratelimit-reset");

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// How many keys are remembered before the least busy ones are forgotten.
const MAX_KEYS: usize = 100_000;

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
            interval: NANOS_PER_SECOND.div_ceil(u64::from(rate_per_second.max(1))),
        }
    }

    /// Judges a request at `now`. If it passes, `arrival` becomes the key's new arrival time.
    ///
    /// An idle key has an `arrival` of `now` or before.
    pub fn judge(self, arrival: &mut u64, now: u64) -> Verdict {
        let ahead = arrival.saturating_sub(now);
        let excess = ahead.saturating_sub(self.tolerance());
        if excess > 0 {
            return self.verdict(ahead, Some(excess.div_ceil(NANOS_PER_SECOND)));
        }
        *arrival = now.max(*arrival).saturating_add(self.interval);
        self.verdict(*arrival - now, None)
    }

    /// How far ahead of time a request may come.
    fn tolerance(self) -> u64 {
        (self.burst - 1).saturating_mul(self.interval)
    }

    fn verdict(self, ahead: u64, retry_after: Option<u64>) -> Verdict {
        let used = ahead.div_ceil(self.interval);
        Verdict {
            retry_after,
            limit: self.burst,
            remaining: self.burst.saturating_sub(used),
            reset: ahead.div_ceil(NANOS_PER_SECOND),
        }
    }
}

impl Verdict {
    /// Nothing if the request may pass, else the 429.
    pub fn admit(&self) -> Result<(), ApiError> {
        match self.retry_after {
            None => Ok(()),
            Some(seconds) => {
                let refused = ApiError::rate_limited(seconds);
                let headers = self.headers().into_iter();
                Err(headers.fold(refused, |error, (name, value)| error.with_header(name, value)))
            }
        }
    }

    /// Writes the `RateLimit-*` headers onto an answer.
    pub fn describe_in(&self, headers: &mut HeaderMap) {
        headers.extend(self.headers());
    }

    fn headers(&self) -> [(HeaderName, HeaderValue); 3] {
        [
            (LIMIT_HEADER, HeaderValue::from(self.limit)),
            (REMAINING_HEADER, HeaderValue::from(self.remaining)),
            (RESET_HEADER, HeaderValue::from(self.reset)),
        ]
    }
}

/// The arrival times of all keys in use.
///
/// Memory is bounded: idle keys are forgotten without loss, and should more than 100,000 be busy
/// at once, the least busy half starts afresh. That lets a few requests too many pass rather than
/// refuse right ones.
pub struct RateLimiter<K> {
    gcra: Gcra,
    start: Instant,
    arrivals: Mutex<HashMap<K, u64>>,
    max_keys: usize,
}

impl<K: Eq + Hash> RateLimiter<K> {
    /// A limiter that has seen no request. `start` is not after any later `now`.
    pub fn new(gcra: Gcra, start: Instant) -> Self {
        Self { gcra, start, arrivals: Mutex::new(HashMap::new()), max_keys: MAX_KEYS }
    }

    /// Judges a request of `key` and counts it if it may pass.
    pub fn judge(&self, key: K, now: Instant) -> Verdict {
        let since_start = now.saturating_duration_since(self.start).as_nanos();
        let now = u64::try_from(since_start).unwrap_or(u64::MAX);
        // A panic cannot leave the map half changed, so a poisoned lock is as good as any.
        let mut arrivals = self.arrivals.lock().unwrap_or_else(PoisonError::into_inner);
        if arrivals.len() >= self.max_keys && !arrivals.contains_key(&key) {
            make_room(&mut arrivals, self.max_keys, now);
        }
        self.gcra.judge(arrivals.entry(key).or_insert(now), now)
    }
}

impl<K> fmt::Debug for RateLimiter<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("RateLimiter").field("gcra", &self.gcra).finish_non_exhaustive()
    }
}

/// Forgets idle keys, and the less busy half if that leaves more than half.
fn make_room<K: Eq + Hash>(arrivals: &mut HashMap<K, u64>, max_keys: usize, now: u64) {
    arrivals.retain(|_, arrival| *arrival > now);
    if arrivals.len() > max_keys / 2 {
        let mut times: Vec<u64> = arrivals.values().copied().collect();
        let middle = times.len() / 2;
        let (_, median, _) = times.select_nth_unstable(middle);
        let median = *median;
        arrivals.retain(|_, arrival| *arrival > median);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    const MILLI: u64 = 1_000_000;

    #[test]
    fn a_burst_passes_and_the_next_has_to_wait() {
        let gcra = Gcra::new(20, 40);
        let (mut arrival, now) = (0, 5 * NANOS_PER_SECOND);
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
    fn keys_do_not_share() {
        let start = Instant::now();
        let limiter = RateLimiter::new(Gcra::new(1, 1), start);
        assert_eq!(limiter.judge("a", start).retry_after, None);
        assert_eq!(limiter.judge("a", start).retry_after, Some(1));
        assert_eq!(limiter.judge("b", start).retry_after, None);
    }

    #[test]
    fn memory_is_bounded_and_the_busiest_stay_limited() {
        let start = Instant::now();
        let mut limiter = RateLimiter::new(Gcra::new(1, 10), start);
        limiter.max_keys = 100;
        for _ in 0..10 {
            assert_eq!(limiter.judge(0, start).retry_after, None);
        }
        for key in 1..10_000 {
            limiter.judge(key, start);
            assert!(limiter.arrivals.lock().unwrap().len() <= 100);
        }
        assert!(limiter.judge(0, start).retry_after.is_some());
        let later = start + Duration::from_mins(1);
        limiter.judge(20_000, later);
        for key in 20_001..20_200 {
            limiter.judge(key, later);
        }
        assert!(limiter.arrivals.lock().unwrap().len() <= 100);
    }

    #[test]
    fn a_refusal_carries_its_headers() {
        let limiter = RateLimiter::new(Gcra::new(20, 1), Instant::now());
        let now = Instant::now();
        limiter.judge("a", now).admit().unwrap();
        let refused = limiter.judge("a", now).admit().unwrap_err();
        let response = poem::IntoResponse::into_response(refused);
        assert_eq!(response.status(), 429);
        for (name, value) in [("retry-after", "1"), ("ratelimit-limit", "1")] {
            assert_eq!(response.headers().get(name).unwrap(), value);
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
                    let share = window * u128::from(rate) / u128::from(NANOS_PER_SECOND);
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
                let wait = seconds * NANOS_PER_SECOND;
                let mut after = arrival;
                prop_assert_eq!(gcra.judge(&mut after, now + wait).retry_after, None);
                if seconds > 1 {
                    let mut sooner = arrival;
                    let short = wait - NANOS_PER_SECOND;
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
                let at_reset = now + verdict.reset * NANOS_PER_SECOND;
                prop_assert_eq!(gcra.judge(&mut rested, at_reset).remaining, u64::from(burst) - 1);
            }
        }
    }
}
