//! Counts requests by keys that strangers choose, such as client addresses, in a fixed amount of
//! memory.
//!
//! A map from keys to counts would grow with every new key, and forgetting some of them would help
//! whoever makes up many. So the counts are a sketch: rows of cells, each with an arrival time. A
//! key has one cell in each row, by a secret hash, and is judged by the earliest of its cells. Each
//! cell is at least as late as the key alone would have made it, so that no key is admitted more
//! often than the rate and the burst allow. A key is refused because of others only if others have
//! used up its cell in every row. With 16,384 cells in each of four rows, that happens to one key
//! in 70,000 while a thousand others are at their limit.

use std::fmt;
use std::hash::{BuildHasher, Hash, RandomState};
use std::marker::PhantomData;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use super::{Gcra, Stopwatch, Verdict};

const ROWS: usize = 4;
const CELLS: usize = 16_384;

/// Counts requests by keys of any number.
pub struct CrowdLimiter<K> {
    gcra: Gcra,
    stopwatch: Stopwatch,
    start: Instant,
    /// Secret, so that nobody can choose keys that share a cell with another.
    hasher: RandomState,
    /// The rows, one after another.
    arrivals: Mutex<Box<[u64]>>,
    keys: PhantomData<fn(K)>,
}

/// What a request added to the counts, so that it can be taken back.
#[derive(Debug)]
pub struct Charge {
    /// The place of each cell, and by how much it became later.
    added: [(usize, u64); ROWS],
}

impl<K: Hash> CrowdLimiter<K> {
    /// A limiter that has seen no request.
    pub fn new(gcra: Gcra, stopwatch: Stopwatch) -> Self {
        Self {
            gcra,
            start: stopwatch.now(),
            stopwatch,
            hasher: RandomState::new(),
            arrivals: Mutex::new(vec![0; ROWS * CELLS].into()),
            keys: PhantomData,
        }
    }

    /// Judges a request of `key`, and counts it if it is admitted. A refusal says how many seconds
    /// to wait.
    pub fn admit(&self, key: &K) -> Result<Charge, u64> {
        let now = self.stopwatch.since(self.start);
        let places = std::array::from_fn(|row| self.place(row, key));
        // A panic cannot leave a cell half changed.
        let mut arrivals = self.arrivals.lock().unwrap_or_else(PoisonError::into_inner);
        let mut arrival = places.iter().map(|place: &usize| arrivals[*place]).min().unwrap_or(0);
        let verdict: Verdict = self.gcra.judge(&mut arrival, now);
        if let Some(seconds) = verdict.retry_after {
            return Err(seconds);
        }
        let added = places.map(|place| {
            let before = arrivals[place].max(now);
            arrivals[place] = before.max(arrival);
            (place, arrivals[place] - before)
        });
        Ok(Charge { added })
    }

    /// Takes a request back, as if it had not been made.
    pub fn refund(&self, Charge { added }: Charge) {
        let mut arrivals = self.arrivals.lock().unwrap_or_else(PoisonError::into_inner);
        for (place, by) in added {
            arrivals[place] = arrivals[place].saturating_sub(by);
        }
    }

    fn place(&self, row: usize, key: &K) -> usize {
        // A remainder below the number of cells fits.
        let cell = self.hasher.hash_one((row, key)) % CELLS as u64;
        row * CELLS + usize::try_from(cell).unwrap_or_default()
    }
}

impl<K> fmt::Debug for CrowdLimiter<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CrowdLimiter").field("gcra", &self.gcra).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;

    /// Five a second, bursts of twenty, and the time that has passed.
    fn limiter() -> (CrowdLimiter<u64>, Arc<Mutex<Duration>>) {
        let (start, passed) = (Instant::now(), Arc::new(Mutex::new(Duration::ZERO)));
        let shown = Arc::clone(&passed);
        let stopwatch = Stopwatch::new(move || start + *shown.lock().unwrap());
        (CrowdLimiter::new(Gcra::new(5, 20), stopwatch), passed)
    }

    fn admitted(limiter: &CrowdLimiter<u64>, key: u64, requests: usize) -> usize {
        (0..requests).filter(|_| limiter.admit(&key).is_ok()).count()
    }

    #[test]
    fn a_key_is_admitted_in_bursts_and_at_its_rate() {
        let (limiter, passed) = limiter();
        assert_eq!(admitted(&limiter, 7, 100), 20);
        assert_eq!(limiter.admit(&7).unwrap_err(), 1);
        *passed.lock().unwrap() += Duration::from_secs(2);
        assert_eq!(admitted(&limiter, 7, 100), 10);
        *passed.lock().unwrap() += Duration::from_hours(1);
        assert_eq!(admitted(&limiter, 7, 100), 20);
    }

    #[test]
    fn a_request_that_is_taken_back_does_not_count() {
        let (limiter, _) = limiter();
        for _ in 0..100 {
            let charge = limiter.admit(&7).unwrap();
            limiter.refund(charge);
        }
        assert_eq!(admitted(&limiter, 7, 100), 20);
    }

    /// More keys than there are cells: they take no memory, and nobody gains by making them up.
    #[test]
    fn a_flood_of_keys_neither_frees_a_key_that_is_refused_nor_takes_memory() {
        let (limiter, _) = limiter();
        assert_eq!(admitted(&limiter, 7, 20), 20);
        for key in 1_000..101_000 {
            let _ = limiter.admit(&key);
        }
        assert_eq!(admitted(&limiter, 7, 100), 0);
        assert_eq!(limiter.arrivals.lock().unwrap().len(), ROWS * CELLS);
    }

    #[test]
    fn a_thousand_keys_at_their_limit_leave_the_others_alone() {
        let (limiter, _) = limiter();
        for key in 0..1_000 {
            admitted(&limiter, key, 100);
        }
        let refused = (1_000..2_000).filter(|key| limiter.admit(key).is_err()).count();
        assert!(refused <= 2, "{refused} of a thousand");
    }
}
