//! Clocks, the source of the time. Nothing else in this crate asks for the current time.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::time::Timestamp;

/// Gives the time to a whole service: its rules, its workers and its stores.
pub trait Clock: Send + Sync + fmt::Debug {
    /// The current time.
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

/// A clock that stands still until a test or simulation moves it.
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

    /// Moves the clock forward by `by` and returns the new time.
    pub fn advance(&self, by: Duration) -> Timestamp {
        let mut now = self.lock();
        *now = now.plus(by);
        *now
    }

    /// Moves the clock forward to `to`. A moment in the past is ignored, because time never goes
    /// back.
    pub fn advance_to(&self, to: Timestamp) {
        let mut now = self.lock();
        *now = to.max(*now);
    }

    fn lock(&self) -> MutexGuard<'_, Timestamp> {
        // A panic elsewhere cannot leave a plain number half written.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        *self.lock()
    }
}

/// A clock that is ahead of another by as much as it was moved, and otherwise runs like it. For
/// sandboxes: see [`Sms::pass`](crate::Sms::pass).
#[derive(Debug)]
pub struct MovableClock {
    inner: Arc<dyn Clock>,
    moved: Mutex<Duration>,
}

impl MovableClock {
    /// A clock that shows the same time as `inner` until it is moved.
    pub fn new(inner: Arc<dyn Clock>) -> Self {
        Self { inner, moved: Mutex::new(Duration::ZERO) }
    }

    /// Moves the clock forward by `by`.
    pub fn advance(&self, by: Duration) {
        let mut moved = self.lock();
        *moved = moved.saturating_add(by);
    }

    /// How far the clock has been moved in total.
    pub fn moved(&self) -> Duration {
        *self.lock()
    }

    fn lock(&self) -> MutexGuard<'_, Duration> {
        // A panic elsewhere cannot leave a plain number half written.
        self.moved.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clock for MovableClock {
    fn now(&self) -> Timestamp {
        self.inner.now().plus(self.moved())
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

    #[test]
    fn a_movable_clock_runs_with_its_inner_clock_and_remembers_how_far_it_was_moved() {
        let beneath = Arc::new(ManualClock::at(Timestamp::from_millis(1_000)));
        let clock = MovableClock::new(beneath.clone());
        assert_eq!((clock.now(), clock.moved()), (beneath.now(), Duration::ZERO));
        clock.advance(Duration::from_mins(1));
        beneath.advance(Duration::from_millis(5));
        clock.advance(Duration::from_secs(1));
        assert_eq!(clock.now(), Timestamp::from_millis(62_005));
        assert_eq!(clock.moved(), Duration::from_secs(61));
    }
}
