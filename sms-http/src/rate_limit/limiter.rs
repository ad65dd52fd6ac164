//! Counts the requests of each key, in this server's memory and with the servers that share its
//! database. The promise and the reason why it holds are in [`rate_limit`](super).
//!
//! No task runs in the background: the request that follows a whole lot adds the lot. Time is real
//! time, never the clock of the sandbox.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use sms_core::error::causes;
use sms_core::ids::ApiKeyId;
use sms_core::store::StoreError;
use tokio::time::timeout;

use super::{Gcra, SECOND, Verdict};

/// The longest that a request waits for the database.
const PATIENCE: Duration = Duration::from_millis(500);
/// For how long the database is not asked after it failed or did not answer.
const PAUSE_AFTER_FAILURE: u64 = SECOND;
/// A key is forgotten this long after its burst has come back.
const IDLE: u64 = 3_600 * SECOND;
/// How far the shared arrival time may be ahead of the clock, beyond the burst. It limits the harm
/// when the database's clock is set back.
const MOST_BEYOND_BURST: u64 = 10 * SECOND;
/// How many keys are kept before idle ones are looked for.
const FEW_KEYS: usize = 1_024;

/// The arrival times that servers share: the database's.
#[async_trait]
pub trait SharedArrivals: Send + Sync + fmt::Debug {
    /// Adds a lot to the key's arrival time, which becomes `max(arrival + charge, now + ahead)` and
    /// at most `now + most`. Returns how far it then is ahead of `now`, or a negative number.
    ///
    /// `now` is the database's time. Only durations are exchanged, so no two clocks are compared.
    async fn add(&self, key: ApiKeyId, lot: Lot) -> Result<i64, StoreError>;
}

/// What a server adds for the requests of a key that it admitted. Nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lot {
    /// One interval for each request.
    pub charge: i64,
    /// How far this server's requests alone would have moved the arrival time ahead of now;
    /// negative if that moment has passed.
    pub ahead: i64,
    /// How far the shared arrival time may be ahead of now.
    pub most: i64,
}

/// The clock of the rate limit: real time, except in tests.
#[derive(Clone)]
pub struct Stopwatch(Arc<dyn Fn() -> Instant + Send + Sync>);

/// Counts the requests of each key.
#[derive(Debug)]
pub struct RateLimiter {
    gcra: Gcra,
    stopwatch: Stopwatch,
    start: Instant,
    shared: Option<Arc<dyn SharedArrivals>>,
    /// Until when the database is not asked.
    away_until: AtomicU64,
    keys: Mutex<Keys>,
}

#[derive(Debug, Default)]
struct Keys {
    counts: HashMap<ApiKeyId, Arc<tokio::sync::Mutex<KeyCount>>>,
    /// The number of keys at which idle ones are forgotten.
    sweep_at: usize,
}

/// The count of one key.
#[derive(Debug, Default)]
struct KeyCount {
    /// The arrival time that requests are judged by.
    arrival: u64,
    /// How many requests were admitted since a lot was last added.
    admitted: u64,
    /// The arrival time that this server's requests alone would have caused. The database gets this
    /// one: `arrival` contains the time that answers took, and would grow with each of them.
    own_arrival: u64,
}

impl RateLimiter {
    /// A limiter that has seen no request. Without `shared` this server is the only one.
    pub fn new(gcra: Gcra, stopwatch: Stopwatch, shared: Option<Arc<dyn SharedArrivals>>) -> Self {
        Self {
            gcra,
            start: stopwatch.now(),
            stopwatch,
            shared,
            away_until: AtomicU64::default(),
            keys: Mutex::default(),
        }
    }

    /// Judges a request of `key`, and counts it if it is admitted.
    pub async fn judge(&self, key: ApiKeyId) -> Verdict {
        let count = self.count(key);
        // One request of a key at a time: others wait while a lot is added.
        let mut count = count.lock().await;
        if let Some(shared) = &self.shared
            && count.admitted >= self.gcra.lot()
        {
            // Others can only have moved the arrival time further ahead, so that a refusal stands.
            let verdict = self.gcra.judge(&mut count.arrival.clone(), self.now());
            if verdict.retry_after.is_some() {
                return verdict;
            }
            self.add_lot(shared.as_ref(), key, &mut count).await;
        }
        let now = self.now();
        let verdict = self.gcra.judge(&mut count.arrival, now);
        if verdict.retry_after.is_none() {
            count.admitted += 1;
            self.gcra.admit(&mut count.own_arrival, now);
        }
        verdict
    }

    /// Adds the lot and goes on from the sum. A lot that the database does not take is dropped.
    async fn add_lot(&self, shared: &dyn SharedArrivals, key: ApiKeyId, count: &mut KeyCount) {
        let now = self.now();
        let nanos = |time: u64| i64::try_from(time).unwrap_or(i64::MAX);
        let lot = Lot {
            charge: nanos(count.admitted.saturating_mul(self.gcra.interval)),
            ahead: nanos(count.own_arrival).saturating_sub(nanos(now)),
            most: nanos(self.gcra.span().saturating_add(MOST_BEYOND_BURST)),
        };
        let is_away = now < self.away_until.load(Ordering::Relaxed);
        let sum = if is_away { None } else { self.ask(shared.add(key, lot)).await };
        match sum {
            Some(ahead) => {
                count.arrival = count.arrival.max(self.now().saturating_add_signed(ahead));
            }
            None => metrics::counter!("sms_rate_limit_unshared_total").increment(count.admitted),
        }
        count.admitted = 0;
    }

    /// Waits for the database's answer. Returns `None` if it fails or does not answer in time.
    async fn ask(&self, answer: impl Future<Output = Result<i64, StoreError>>) -> Option<i64> {
        let error = match timeout(PATIENCE, answer).await {
            Ok(Ok(ahead)) => return Some(ahead),
            Ok(Err(error)) => causes(&error),
            Err(_) => format!("no answer within {} ms", PATIENCE.as_millis()),
        };
        let now = self.now();
        // Many keys may wait when the database fails. The first one reports it.
        if self.away_until.swap(now.saturating_add(PAUSE_AFTER_FAILURE), Ordering::Relaxed) <= now {
            tracing::warn!(
                error,
                "the shared rate limit failed: this server counts alone for a second"
            );
        }
        None
    }

    fn now(&self) -> u64 {
        self.stopwatch.since(self.start)
    }

    fn count(&self, key: ApiKeyId) -> Arc<tokio::sync::Mutex<KeyCount>> {
        // A panic cannot leave the map half changed, so a poisoned lock does no harm.
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        if keys.counts.len() >= keys.sweep_at {
            let now = self.now();
            let is_idle = |count: &KeyCount| count.arrival.saturating_add(IDLE) <= now;
            // A count that is in use has another owner, and stays.
            keys.counts.retain(|_, count| {
                !Arc::get_mut(count).is_some_and(|count| is_idle(count.get_mut()))
            });
            keys.sweep_at = FEW_KEYS.max(2 * keys.counts.len());
        }
        Arc::clone(keys.counts.entry(key).or_default())
    }
}

impl Stopwatch {
    /// Tells the time by `now`, which must not go back.
    pub fn new(now: impl Fn() -> Instant + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    pub(crate) fn now(&self) -> Instant {
        (self.0)()
    }

    /// The nanoseconds since `start`.
    pub(crate) fn since(&self, start: Instant) -> u64 {
        let passed = self.now().saturating_duration_since(start);
        u64::try_from(passed.as_nanos()).unwrap_or(u64::MAX)
    }
}

impl Default for Stopwatch {
    fn default() -> Self {
        Self::new(Instant::now)
    }
}

impl fmt::Debug for Stopwatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Stopwatch")
    }
}

#[cfg(test)]
mod tests;
