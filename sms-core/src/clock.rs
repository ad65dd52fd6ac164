//! Clocks, the source of the time. Nothing else in this crate asks for the current time.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::time::Timestamp;

/// Gives the time to a whole service: its rules, its workers and its stores.
pub trait Clock: Send + Sync + fmt::Debug {
    /// The current time, UTC, to the millisecond.
    fn now(&self) -> Timestamp;
}

/// The machine's clock, which can be set at any moment: see [`SteadyClock`].
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

/// A clock that begins at the machine's time and from then on shows the time that has passed. So it
/// does not follow when somebody sets the machine's clock: leases, schedules and limits hold. It
/// stands still while the machine sleeps.
pub struct SteadyClock {
    began: Timestamp,
    stopwatch: Box<dyn Fn() -> Duration + Send + Sync>,
}

impl SteadyClock {
    /// Starts at the time that the machine's clock shows now.
    pub fn start() -> Self {
        let since = Instant::now();
        Self::over(&SystemClock, move || since.elapsed())
    }

    /// Starts at the time that `wall` shows now, and advances by a stopwatch.
    fn over(wall: &dyn Clock, stopwatch: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        Self { began: wall.now(), stopwatch: Box::new(stopwatch) }
    }
}

impl Clock for SteadyClock {
    fn now(&self) -> Timestamp {
        self.began.plus((self.stopwatch)())
    }
}

impl fmt::Debug for SteadyClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SteadyClock").field("began", &self.began).finish_non_exhaustive()
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
    use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

    use super::*;

    /// A clock on the wall, which anybody may set.
    #[derive(Debug)]
    struct Wall(AtomicI64);

    impl Clock for Wall {
        fn now(&self) -> Timestamp {
            Timestamp::from_millis(self.0.load(Ordering::Relaxed))
        }
    }

    #[test]
    fn a_steady_clock_starts_at_the_walls_time_and_does_not_follow_when_that_is_set() {
        const HOUR: i64 = 3_600_000;
        for step in [HOUR, -HOUR] {
            let wall = Wall(AtomicI64::new(10 * HOUR));
            let passed = Arc::new(AtomicU64::new(0));
            let shown = Arc::clone(&passed);
            let stopwatch = move || Duration::from_millis(shown.load(Ordering::Relaxed));
            let clock = SteadyClock::over(&wall, stopwatch);
            assert_eq!(clock.now().as_millis(), 10 * HOUR);
            wall.0.fetch_add(step, Ordering::Relaxed);
            assert_eq!(clock.now().as_millis(), 10 * HOUR);
            passed.store(1_500, Ordering::Relaxed);
            assert_eq!(clock.now().as_millis(), 10 * HOUR + 1_500);
        }
    }

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
