//! The rate limit of the API: the counting is `sms_core`'s, the headers are here.
//!
//! [`Limiter`] is what the gate asks: [`RateLimiter`] counts in this process, [`SharedLimiter`]
//! with others over one store. Time is real time, never the clock of the sandbox.

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use poem::http::{HeaderMap, HeaderName, HeaderValue};
use sms_core::ids::ApiKeyId;
use sms_core::rate_limit::replica::make_room;
pub use sms_core::rate_limit::{Gcra, Verdict};

use crate::web::error::ApiError;

pub mod shared;

pub use shared::SharedLimiter;

/// Header with the number of requests a key may make at once.
pub const LIMIT_HEADER: HeaderName = HeaderName::from_static("ratelimit-limit");
/// Header with the number of requests that would pass right now, as far as this process knows:
/// others may have let requests through since it last asked.
pub const REMAINING_HEADER: HeaderName = HeaderName::from_static("ratelimit-remaining");
/// Header with the seconds until the full burst is there again.
pub const RESET_HEADER: HeaderName = HeaderName::from_static("ratelimit-reset");

/// How many keys are remembered before the least busy ones are forgotten.
const MAX_KEYS: usize = 100_000;

/// Counts requests, by itself or with others.
#[derive(Debug)]
pub enum Limiter {
    /// This process is all there is.
    Local(RateLimiter<ApiKeyId>),
    /// Others may share the store.
    Shared(SharedLimiter),
}

impl Limiter {
    /// Judges a request of `key` and counts it if it may pass. A shared limiter goes by the
    /// machine's own time rather than by `now`.
    pub async fn judge(&self, key: ApiKeyId, now: Instant) -> Verdict {
        match self {
            Self::Local(limiter) => limiter.judge(key, now),
            Self::Shared(limiter) => limiter.judge(key).await,
        }
    }
}

/// What to do with a request, and what its answer tells.
pub trait Tell {
    /// Nothing if the request may pass, else the 429.
    fn admit(&self) -> Result<(), ApiError>;
    /// Writes the `RateLimit-*` headers onto an answer.
    fn describe_in(&self, headers: &mut HeaderMap);
}

impl Tell for Verdict {
    fn admit(&self) -> Result<(), ApiError> {
        match self.retry_after {
            None => Ok(()),
            Some(seconds) => {
                let refused = ApiError::rate_limited(seconds);
                let headers = headers(self).into_iter();
                Err(headers.fold(refused, |error, (name, value)| error.with_header(name, value)))
            }
        }
    }

    fn describe_in(&self, into: &mut HeaderMap) {
        into.extend(headers(self));
    }
}

fn headers(verdict: &Verdict) -> [(HeaderName, HeaderValue); 3] {
    [
        (LIMIT_HEADER, HeaderValue::from(verdict.limit)),
        (REMAINING_HEADER, HeaderValue::from(verdict.remaining)),
        (RESET_HEADER, HeaderValue::from(verdict.reset)),
    ]
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
            make_room(&mut arrivals, self.max_keys, now, |arrival| *arrival);
        }
        self.gcra.judge(arrivals.entry(key).or_insert(now), now)
    }
}

impl<K> fmt::Debug for RateLimiter<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("RateLimiter").field("gcra", &self.gcra).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

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
}
