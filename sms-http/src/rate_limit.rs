//! The rate limit of the API: how many requests a key may make.
//!
//! # The promise
//!
//! In any window of `T` seconds, up to an hour, one server admits at most `burst + rate × T`
//! requests of a key. Several servers over one database together admit at most one **lot** more for
//! each further server. A lot is an eighth of the burst and at most what comes back in a quarter of
//! a second: 5 requests at 20 requests a second with a burst of 40.
//!
//! # How it works
//!
//! The generic cell rate algorithm ([`Gcra`]) keeps one number for each key, its *arrival time*.
//! Each admitted request moves the arrival time one interval ahead. A request is refused while the
//! arrival time is too far ahead of the clock.
//!
//! Each server keeps the arrival times in memory and judges every request by them ([`limiter`]).
//! Where servers share a database, the database keeps one arrival time for each key, too. When a
//! server has admitted a lot of a key's requests, it adds them to the shared arrival time, and goes
//! on from the sum, which contains what the other servers added. So a busy key costs one statement
//! per lot, and most requests cost none.
//!
//! `docs/decisions.md` proves the promise, and says what happens when a server stops and when the
//! database does not answer.

use poem::http::{HeaderName, HeaderValue};

use crate::web::error::ApiError;

pub mod crowd;
pub mod limiter;

pub use limiter::{Lot, RateLimiter, SharedArrivals, Stopwatch};

/// A second in nanoseconds. All times here are nanoseconds.
pub const SECOND: u64 = 1_000_000_000;

/// The rate and the burst: pure arithmetic, without keys and without a clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gcra {
    burst: u64,
    /// The time between two requests of an even stream, rounded up.
    interval: u64,
}

/// The limiter's answer to one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict {
    /// Seconds to wait before the next try, at least 1; `None` if the request is admitted.
    pub retry_after: Option<u64>,
    /// How many requests a key may make at once.
    pub limit: u64,
    /// How many more requests would pass right now.
    pub remaining: u64,
    /// Seconds until all of `limit` would pass again, rounded up.
    pub reset: u64,
}

impl Gcra {
    /// `rate_per_second` requests a second, up to `burst` at once. Both are at least 1.
    pub fn new(rate_per_second: u32, burst: u32) -> Self {
        Self {
            burst: u64::from(burst.max(1)),
            interval: SECOND.div_ceil(u64::from(rate_per_second.max(1))),
        }
    }

    /// `count` requests an hour, up to `burst` at once. Both are at least 1.
    pub fn per_hour(count: u32, burst: u32) -> Self {
        let hour = 3_600 * SECOND;
        Self { burst: u64::from(burst.max(1)), interval: hour.div_ceil(u64::from(count.max(1))) }
    }

    /// Judges a request at `now`, and moves `arrival` if it admits the request. The arrival time of
    /// an idle key is `now` or earlier.
    pub fn judge(self, arrival: &mut u64, now: u64) -> Verdict {
        let ahead = arrival.saturating_sub(now);
        let excess = ahead.saturating_sub(self.span() - self.interval);
        if excess > 0 {
            return self.verdict(ahead, Some(excess.div_ceil(SECOND)));
        }
        self.admit(arrival, now);
        self.verdict(*arrival - now, None)
    }

    /// How many requests one server admits before it adds them to the shared arrival time.
    pub fn lot(self) -> u64 {
        (self.burst / 8).min(SECOND / 4 / self.interval).max(1)
    }

    fn admit(self, arrival: &mut u64, now: u64) {
        *arrival = now.max(*arrival).saturating_add(self.interval);
    }

    /// How long the whole burst takes to come back.
    fn span(self) -> u64 {
        self.burst.saturating_mul(self.interval)
    }

    fn verdict(self, ahead: u64, retry_after: Option<u64>) -> Verdict {
        Verdict {
            retry_after,
            limit: self.burst,
            remaining: self.burst.saturating_sub(ahead.div_ceil(self.interval)),
            reset: ahead.div_ceil(SECOND),
        }
    }
}

impl Verdict {
    /// The `RateLimit-*` headers of the response, or the 429 that carries them.
    pub fn headers(&self) -> Result<Vec<(HeaderName, HeaderValue)>, ApiError> {
        let header = |name, value: u64| (HeaderName::from_static(name), HeaderValue::from(value));
        let headers = [
            header("ratelimit-limit", self.limit),
            header("ratelimit-remaining", self.remaining),
            header("ratelimit-reset", self.reset),
        ];
        let Some(seconds) = self.retry_after else { return Ok(headers.into()) };
        let mut refused = ApiError::rate_limited(seconds);
        for (name, value) in headers {
            refused = refused.with_header(name, value);
        }
        Err(refused)
    }
}

#[cfg(test)]
mod tests;
