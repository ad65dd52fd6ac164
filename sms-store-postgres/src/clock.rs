//! The database's time, without a query for each reading.
//!
//! One program writes leases and due times and another judges them, so all need the same clock: the
//! database's. Each program measures, as NTP does, how far its own monotonic clock is from
//! `clock_timestamp()`, and adds that. It never reads the wall clock of its machine, so that clock
//! may be wrong or be set without consequence.
//!
//! The error is at most half the round trip of the measurement, plus the drift between the two
//! clocks until the next one ten seconds later (2 ms at 200 parts in a million).
//!
//! A task measures every ten seconds, for as long as the clock exists.

use std::convert::Infallible;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use sms_core::clock::Clock;
use sms_core::time::Timestamp;
use sqlx::PgPool;
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};

use crate::PgStore;
use crate::error::{ConnectFailed, PgError, PgResult};

/// How often the clock is compared with the database's.
const MEASURE_EVERY: Duration = Duration::from_secs(10);
/// How many queries one comparison takes; the quickest answer counts.
const SAMPLES: usize = 5;
/// The longest a comparison may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// A clock that shows the database's time. It never goes back: one that turns out to be ahead runs
/// at half its speed until it is right.
///
/// The clock compares itself with the database every 10 s, on a task that ends when the clock is
/// dropped. While the database does not answer, the clock keeps its last offset.
///
/// ```no_run
/// # use std::sync::Arc;
/// # use sms_core::Sms;
/// # use sms_store_postgres::{ConnectFailed, PgClock, PgStore};
/// # async fn build(store: PgStore) -> Result<Sms, ConnectFailed> {
/// let clock = Arc::new(PgClock::start(&store).await?);
/// Ok(Sms::builder(Arc::new(store)).clock(clock).build())
/// # }
/// ```
pub struct PgClock {
    dial: Arc<Dial>,
    comparing: AbortHandle,
}

/// The time that has passed on this machine since some moment, never less than before.
type Stopwatch = Box<dyn Fn() -> Duration + Send + Sync>;

/// A clock over a stopwatch, and what is known of the database's. Times are nanoseconds.
struct Dial {
    stopwatch: Stopwatch,
    hands: Mutex<Hands>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Hands {
    /// The database's time less the stopwatch's.
    offset: i128,
    /// The most by which that may be wrong.
    error: i128,
    /// When the clock was last looked at, by the stopwatch.
    looked: i128,
    /// What it showed.
    shown: i128,
}

/// One comparison.
#[derive(Debug, Clone, Copy)]
struct Sample {
    offset: i128,
    /// The most by which the offset may be wrong.
    error: i128,
}

impl PgClock {
    /// A clock that shows the database's time, and keeps itself right from now on.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub async fn start(store: &PgStore) -> Result<Self, ConnectFailed> {
        let since = Instant::now();
        let dial = Dial { stopwatch: Box::new(move || since.elapsed()), hands: Mutex::default() };
        let pool = store.pool.clone();
        let sample = measure(&pool, &dial).await.map_err(ConnectFailed::new)?;
        dial.set(sample);
        Ok(Self::keep(pool, dial))
    }

    /// Starts the task that compares the dial with the database.
    fn keep(pool: PgPool, dial: Dial) -> Self {
        let dial = Arc::new(dial);
        let kept = Arc::clone(&dial);
        let task = tokio::spawn(async move { compare(&kept, || measure(&pool, &kept)).await });
        Self { dial, comparing: task.abort_handle() }
    }

    /// The most by which it differs from the database's clock now, without drift.
    pub fn uncertainty(&self) -> Duration {
        let error = self.dial.with(|hands, _| hands.error);
        Duration::from_nanos(u64::try_from(error).unwrap_or(u64::MAX))
    }
}

impl Drop for PgClock {
    fn drop(&mut self) {
        self.comparing.abort();
    }
}

/// Corrects the dial every 10 s. Without a measurement it keeps its offset.
async fn compare<M>(dial: &Dial, measure: impl Fn() -> M) -> Infallible
where
    M: Future<Output = PgResult<Sample>>,
{
    loop {
        sleep(MEASURE_EVERY).await;
        if let Ok(sample) = measure().await {
            dial.correct(sample);
        } else {
            tracing::warn!("cannot read the database's clock; keeping the last offset");
        }
    }
}

async fn measure(pool: &PgPool, dial: &Dial) -> PgResult<Sample> {
    timeout(PATIENCE, samples(pool, dial)).await.map_err(|_| PgError::Silent)?
}

async fn samples(pool: &PgPool, dial: &Dial) -> PgResult<Sample> {
    let mut connection = pool.acquire().await?;
    let mut best: Option<Sample> = None;
    for _ in 0..SAMPLES {
        let asked = dial.elapsed();
        let micros: i64 =
            sqlx::query_scalar("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint")
                .fetch_one(&mut *connection)
                .await?;
        let sample = Sample::new(asked, i128::from(micros) * 1_000, dial.elapsed());
        best = Some(best.filter(|best| best.error <= sample.error).unwrap_or(sample));
    }
    best.ok_or(PgError::Missing("clock samples"))
}

impl Sample {
    /// The database showed `shown` at some moment between `asked` and `answered`.
    fn new(asked: i128, shown: i128, answered: i128) -> Self {
        let middle = i128::midpoint(asked, answered);
        // Half the round trip, and the microsecond below which the database does not measure.
        Self { offset: shown - middle, error: (answered - asked) / 2 + 1_000 }
    }
}

impl Dial {
    fn elapsed(&self) -> i128 {
        nanos((self.stopwatch)())
    }

    /// Begins to show the time.
    fn set(&self, sample: Sample) {
        self.with(|hands, elapsed| {
            let shown = elapsed + sample.offset;
            let Sample { offset, error } = sample;
            *hands = Hands { offset, error, looked: elapsed, shown };
        });
    }

    /// Corrects the offset if the new measurement contradicts it. A comparison slower than the one
    /// before must not spoil it.
    fn correct(&self, sample: Sample) {
        self.with(|hands, elapsed| {
            hands.turn(elapsed);
            let apart = (sample.offset - hands.offset).abs();
            if apart > sample.error {
                (hands.offset, hands.error) = (sample.offset, sample.error);
            } else {
                hands.error = apart + sample.error;
            }
        });
    }

    fn now(&self) -> Timestamp {
        let shown = self.with(Hands::turn);
        Timestamp::from_millis(i64::try_from(shown.div_euclid(1_000_000)).unwrap_or(i64::MAX))
    }

    /// The stopwatch is read under the lock, so that the hands see its times in their order.
    fn with<T>(&self, act: impl FnOnce(&mut Hands, i128) -> T) -> T {
        // A panic cannot leave the hands half turned.
        let mut hands = self.hands.lock().unwrap_or_else(PoisonError::into_inner);
        act(&mut hands, self.elapsed())
    }
}

impl Hands {
    /// Turns the hands to where they belong, forward only.
    fn turn(&mut self, elapsed: i128) -> i128 {
        let passed = (elapsed - self.looked).max(0);
        let right = elapsed + self.offset;
        self.shown = right.max(self.shown + passed / 2);
        // What halving left over is counted next time.
        self.looked = if self.shown == right { elapsed } else { elapsed - passed % 2 };
        self.shown
    }
}

fn nanos(duration: Duration) -> i128 {
    i128::try_from(duration.as_nanos()).unwrap_or(i128::MAX)
}

impl Clock for PgClock {
    fn now(&self) -> Timestamp {
        self.dial.now()
    }
}

impl fmt::Debug for PgClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PgClock").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

    use sqlx::postgres::PgPoolOptions;

    use super::*;

    const SECOND: i128 = 1_000_000_000;

    /// A dial over a stopwatch that is moved by hand.
    struct Rig {
        dial: Dial,
        elapsed: Arc<AtomicU64>,
    }

    impl Rig {
        fn new(offset: i128) -> Self {
            let elapsed = Arc::new(AtomicU64::new(0));
            let shown = Arc::clone(&elapsed);
            let stopwatch = Box::new(move || Duration::from_nanos(shown.load(Ordering::Relaxed)));
            let dial = Dial { stopwatch, hands: Mutex::default() };
            dial.set(Sample { offset, error: 0 });
            Self { dial, elapsed }
        }

        fn pass(&self, millis: u64) -> i64 {
            self.elapsed.fetch_add(millis * 1_000_000, Ordering::Relaxed);
            self.dial.now().as_millis()
        }
    }

    #[test]
    fn the_clock_shows_the_databases_time_wherever_the_stopwatch_starts() {
        for offset in [0, 7, 3_600, 1_795_244_830] {
            let rig = Rig::new(offset * SECOND);
            assert_eq!(i128::from(rig.pass(0)), offset * 1_000);
            assert_eq!(i128::from(rig.pass(1_500)), offset * 1_000 + 1_500);
        }
    }

    #[test]
    fn a_clock_that_is_behind_jumps_forward_at_once() {
        let rig = Rig::new(100 * SECOND);
        rig.dial.correct(Sample { offset: 103 * SECOND, error: 1 });
        assert_eq!(rig.pass(1_000), 104_000);
    }

    #[test]
    fn a_clock_that_is_ahead_never_goes_back_and_is_right_after_twice_as_long() {
        let rig = Rig::new(100 * SECOND);
        rig.dial.correct(Sample { offset: 99 * SECOND, error: 1 });
        assert_eq!(rig.pass(0), 100_000);
        let mut before = 100_000;
        for _ in 0..1_999 {
            let shown = rig.pass(1);
            assert!((before..=before + 1).contains(&shown), "{before} then {shown}");
            before = shown;
        }
        assert_eq!(rig.pass(1), 101_000);
        assert_eq!(rig.pass(1_000), 102_000);
    }

    #[test]
    fn frequent_readings_do_not_delay_a_slowed_clock() {
        let rig = Rig::new(0);
        rig.dial.correct(Sample { offset: -SECOND, error: 1 });
        for _ in 0..1_001 {
            rig.elapsed.fetch_add(1, Ordering::Relaxed);
            rig.dial.now();
        }
        assert_eq!(rig.dial.hands.lock().unwrap().shown, 500);
    }

    #[test]
    fn a_slow_comparison_that_does_not_contradict_changes_nothing() {
        let rig = Rig::new(100 * SECOND);
        rig.dial.correct(Sample { offset: 101 * SECOND, error: SECOND });
        assert_eq!(rig.pass(0), 100_000);
        rig.dial.correct(Sample { offset: 101 * SECOND, error: SECOND - 1 });
        assert_eq!(rig.pass(0), 101_000);
    }

    #[tokio::test(start_paused = true)]
    async fn a_clock_compares_itself_every_ten_seconds_whether_or_not_the_database_answers() {
        let rig = Rig::new(100 * SECOND);
        let asked = AtomicUsize::new(0);
        let measure = || async {
            match asked.fetch_add(1, Ordering::Relaxed) {
                0 => Err(PgError::Silent),
                _ => Ok(Sample { offset: 103 * SECOND, error: 1 }),
            }
        };
        for shown in [100_000, 103_000] {
            let _ = timeout(Duration::from_secs(11), compare(&rig.dial, measure)).await;
            assert_eq!(rig.pass(0), shown);
        }
        assert_eq!(asked.load(Ordering::Relaxed), 2);
    }

    #[tokio::test]
    async fn a_dropped_clock_no_longer_compares_itself() {
        let pool = PgPoolOptions::new().connect_lazy("postgres://localhost/never").unwrap();
        let clock = PgClock::keep(pool, Rig::new(0).dial);
        let dial = Arc::downgrade(&clock.dial);
        tokio::task::yield_now().await;
        drop(clock);
        while dial.upgrade().is_some() {
            tokio::task::yield_now().await;
        }
    }

    #[test]
    fn a_comparison_is_wrong_by_half_its_round_trip_at_most() {
        // The database showed its time as the question was asked, or as the answer came.
        for when in [0, 10, 20] {
            let sample = Sample::new(0, 500 + when, 20);
            assert!((sample.offset - 500).abs() <= sample.error);
            assert_eq!(sample.error, 10 + 1_000);
        }
    }
}
