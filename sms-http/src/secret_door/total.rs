//! One count for all clients.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::rate_limit::{Gcra, Stopwatch};

/// Counts what all clients do together.
#[derive(Debug)]
pub(super) struct Total {
    gcra: Gcra,
    stopwatch: Stopwatch,
    start: Instant,
    arrival: Mutex<u64>,
}

impl Total {
    pub(super) fn new(gcra: Gcra, stopwatch: Stopwatch) -> Self {
        Self { gcra, start: stopwatch.now(), stopwatch, arrival: Mutex::new(0) }
    }

    /// Counts one more, if that is within the rate; else says how many seconds to wait.
    pub(super) fn spend(&self) -> Result<(), u64> {
        let now = self.stopwatch.since(self.start);
        self.judge(&mut self.lock(), now)
    }

    /// How many seconds to wait until one more fits; `Ok` if it does.
    pub(super) fn has_room(&self) -> Result<(), u64> {
        let mut arrival = *self.lock();
        self.judge(&mut arrival, self.stopwatch.since(self.start))
    }

    fn judge(&self, arrival: &mut u64, now: u64) -> Result<(), u64> {
        self.gcra.judge(arrival, now).retry_after.map_or(Ok(()), Err)
    }

    fn lock(&self) -> MutexGuard<'_, u64> {
        self.arrival.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
