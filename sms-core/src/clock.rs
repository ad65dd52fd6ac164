//! Where the time comes from. Nothing else in this crate asks what time it is.

use std::fmt;
use std::sync::Mutex;
use std::time::Duration;

use crate::time::Timestamp;

/// Tells the time to a whole service: its rules, its workers and its stores.
pub trait Clock: Send + Sync + fmt::Debug {
    /// The present moment.
    fn now(&self) -> Timestamp;
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        #[expect(
            clippy::disallowed_methods,
            reason = "the one place that reads the machine's clock"
        )]
        let now = chrono::Utc::now();
        Timestamp::from(now)
    }
}

/// A clock that stands still until it is moved, for tests and simulations.
///
/// ```
/// use std::time::Duration;
/// use sms_core::clock::{Clock, ManualClock};
/// use sms_core::time::Timestamp;
///
/// let clock = ManualClock::at(Timestamp::from_millis(0));
/// clock.advance(Duration::from_secs(60));
/// assert_eq!(clock.now(), Timestamp::from_millis(60_000));
/// ```
#[derive(Debug)]
pub struct ManualClock(Mutex<Timestamp>);

impl ManualClock {
    /// A clock that shows `start`.
    pub fn at(start: Timestamp) -> Self {
        Self(Mutex::new(start))
    }

    /// Moves the clock on by `by`, and returns the new time.
    pub fn advance(&self, by: Duration) -> Timestamp {
        let mut now = self.lock();
        *now = now.plus(by);
        *now
    }

    /// Moves the clock on to `to`; a moment that has passed is ignored, for time never goes back.
    pub fn advance_to(&self, to: Timestamp) {
        let mut now = self.lock();
        *now = to.max(*now);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Timestamp> {
        // A panic elsewhere cannot leave a plain number half written.
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        *self.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_clock_stands_until_moved_and_never_goes_back() {
        let clock = ManualClock::at(Timestamp::from_millis(1_000));
        assert_eq!((clock.now(), clock.now()), (Timestamp::from_millis(1_000), clock.now()));
        clock.advance_to(Timestamp::from_millis(500));
        assert_eq!(clock.now(), Timestamp::from_millis(1_000));
        clock.advance_to(Timestamp::from_millis(1_500));
        assert_eq!(clock.advance(Duration::from_millis(1)), Timestamp::from_millis(1_501));
        assert_eq!(clock.now(), Timestamp::from_millis(1_501));
    }
}
