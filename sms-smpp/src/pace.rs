//! Keeps a route to its rate in messages a second, and below it for a while after throttling.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sms_core::dispatch::Lane;
use tokio::time::{Instant, sleep_until};

use crate::gate::Gate;

/// The slowest a route becomes, as a fraction of its configured rate.
const SLOWEST: f64 = 1.0 / 64.0;
/// What a slowed route regains each second, as a fraction of its configured rate.
const GAIN: f64 = 1.0 / 20.0;
/// The rate, in `submit_sm`s a second, that a route without a limit is slowed down from.
const UNLIMITED: f64 = 1_000.0;
/// Throttled responses within this time count as one, because their requests were sent together.
const ONE_REASON: Duration = Duration::from_secs(1);
/// How long nothing is submitted after a throttled response.
const PAUSE: Duration = Duration::from_millis(100);
/// How much lost time a late `submit_sm` may make up for.
const BURST: Duration = Duration::from_millis(100);

/// The pace of one route.
///
/// `submit_sm`s are evenly spaced; a burst is at most a tenth of a second's worth. A waiting caller
/// reserves nothing: a change of the rate applies to it too. [`slow_down`](Pace::slow_down) halves
/// the rate, which recovers by 5 % of the configured rate a second, so fully in 20 seconds at most.
#[derive(Debug)]
pub struct Pace {
    agreed: Option<f64>,
    /// One place, held by the caller whose turn it is.
    turn: Arc<Gate>,
    state: Mutex<State>,
}

#[derive(Debug, Clone, Copy)]
struct State {
    /// The time of the last `submit_sm`.
    last: Option<Instant>,
    /// Nothing is submitted before this time.
    pause: Option<Instant>,
    /// The current rate, as a fraction of the configured one.
    part: f64,
    /// When `part` was last updated.
    since: Instant,
    slowed_at: Option<Instant>,
}

impl Pace {
    /// A pace of at most this many `submit_sm`s a second; `None` for as many as the SMSC accepts.
    pub fn new(texts_per_second: Option<u32>) -> Self {
        let agreed = texts_per_second.map(|messages| f64::from(messages.max(1)));
        let since = Instant::now();
        let state = State { last: None, pause: None, part: 1.0, since, slowed_at: None };
        Self { agreed, turn: Gate::new(1, 0), state: Mutex::new(state) }
    }

    /// Waits until the next `submit_sm` of this lane is due. Of five turns that both lanes wait
    /// for, bulk gets one. Dropping the future costs other callers nothing.
    pub async fn next(&self, lane: Lane) {
        if self.turn.is_idle() && self.take(Instant::now()).is_ok() {
            return;
        }
        let _turn = self.turn.enter(lane).await;
        // `slow_down` may have moved the time further off in the meantime.
        while let Err(at) = self.take(Instant::now()) {
            sleep_until(at).await;
        }
    }

    /// Takes a turn if one is due; otherwise returns when it will be.
    fn take(&self, now: Instant) -> Result<(), Instant> {
        let mut state = self.lock();
        let next = self.due(&mut state, now);
        if next > now {
            return Err(next);
        }
        let earliest = now.checked_sub(BURST).unwrap_or(now);
        state.last = Some(next.max(earliest));
        state.pause = None;
        Ok(())
    }

    /// When the next turn is due.
    fn due(&self, state: &mut State, now: Instant) -> Instant {
        state.recover(now);
        let is_unlimited = self.agreed.is_none() && state.part >= 1.0;
        let gap = Duration::from_secs_f64(1.0 / (self.agreed.unwrap_or(UNLIMITED) * state.part));
        let next = state.last.filter(|_| !is_unlimited).map(|last| last + gap);
        next.max(state.pause).unwrap_or(now)
    }

    /// How long it is until the next turn is due, in either lane.
    pub fn due_in(&self) -> Duration {
        let now = Instant::now();
        self.due(&mut self.lock(), now).saturating_duration_since(now)
    }

    /// Slows the route down, because the SMSC throttled it.
    pub fn slow_down(&self) {
        let now = Instant::now();
        let mut state = self.lock();
        state.recover(now);
        state.pause = Some(now + PAUSE);
        if state.slowed_at.is_none_or(|at| now.saturating_duration_since(at) >= ONE_REASON) {
            state.slowed_at = Some(now);
            state.part = (state.part / 2.0).max(SLOWEST);
        }
    }

    /// The current rate, as a fraction of the configured one: 1 unless slowed down.
    pub fn part(&self) -> f64 {
        let mut state = self.lock();
        state.recover(Instant::now());
        state.part
    }

    /// How many `submit_sm`s may be submitted in a second now; infinite without a limit.
    pub fn per_second(&self) -> f64 {
        let part = self.part();
        match self.agreed {
            Some(agreed) => agreed * part,
            None if part < 1.0 => UNLIMITED * part,
            None => f64::INFINITY,
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn recover(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.since).as_secs_f64();
        self.part = (self.part + passed * GAIN).min(1.0);
        self.since = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn no_second_exceeds_the_configured_rate() {
        let pace = Pace::new(Some(50));
        let start = Instant::now();
        for _ in 0..101 {
            pace.next(Lane::Normal).await;
        }
        let took = start.elapsed().as_millis();
        assert!((1_990..=2_210).contains(&took), "101 messages took {took} ms");
    }

    #[tokio::test(start_paused = true)]
    async fn unused_time_is_not_saved_up() {
        let pace = Pace::new(Some(10));
        pace.next(Lane::Normal).await;
        tokio::time::advance(Duration::from_mins(1)).await;
        let start = Instant::now();
        for _ in 0..12 {
            pace.next(Lane::Normal).await;
        }
        assert!(start.elapsed() >= Duration::from_secs(1));
    }

    /// Waits for this many turns at once, and returns how long they took.
    async fn together(pace: &Arc<Pace>, messages: usize) -> Duration {
        let start = Instant::now();
        let mut waiting = tokio::task::JoinSet::new();
        for _ in 0..messages {
            let pace = Arc::clone(pace);
            waiting.spawn(async move { pace.next(Lane::Normal).await });
        }
        waiting.join_all().await;
        start.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn callers_that_already_wait_are_slowed_down_too() {
        let pace = Arc::new(Pace::new(Some(100)));
        let slow = Arc::clone(&pace);
        let throttled = async {
            tokio::time::sleep(Duration::from_millis(100)).await;
            slow.slow_down();
        };
        let (took, ()) = tokio::join!(together(&pace, 110), throttled);
        // Ten in the first tenth of a second, a hundred at half the rate, which slowly recovers.
        assert!((1_700..=2_200).contains(&took.as_millis()), "{took:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn responses_throttled_together_slow_the_route_down_once() {
        let pace = Pace::new(Some(100));
        for _ in 0..10 {
            pace.slow_down();
        }
        assert!((pace.part() - 0.5).abs() < 0.01, "{}", pace.part());
        tokio::time::advance(ONE_REASON).await;
        pace.slow_down();
        assert!((pace.part() - 0.275).abs() < 0.01, "{}", pace.part());
        tokio::time::advance(Duration::from_secs(20)).await;
        assert!((pace.part() - 1.0).abs() < f64::EPSILON);
    }

    #[tokio::test(start_paused = true)]
    async fn a_caller_that_stops_waiting_uses_up_no_turn() {
        let pace = Arc::new(Pace::new(Some(1)));
        pace.next(Lane::Normal).await;
        for _ in 0..100 {
            let waited =
                tokio::time::timeout(Duration::from_millis(1), pace.next(Lane::Normal)).await;
            assert!(waited.is_err());
        }
        assert!(together(&pace, 1).await <= Duration::from_secs(1));
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_limit_nothing_waits_until_the_smsc_throttles() {
        let pace = Arc::new(Pace::new(None));
        assert_eq!(together(&pace, 10_000).await, Duration::ZERO);
        pace.slow_down();
        let took = together(&pace, 100).await;
        assert!((250..=400).contains(&took.as_millis()), "{took:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_message_that_a_person_waits_for_is_next_while_many_others_wait() {
        let pace = Arc::new(Pace::new(Some(100)));
        pace.next(Lane::Bulk).await;
        let mut bulk = tokio::task::JoinSet::new();
        for _ in 0..500 {
            let pace = Arc::clone(&pace);
            bulk.spawn(async move { pace.next(Lane::Bulk).await });
        }
        tokio::time::sleep(Duration::from_millis(55)).await;
        let start = Instant::now();
        pace.next(Lane::Normal).await;
        // The one whose turn it is goes first: two hundredths of a second at most.
        assert!(start.elapsed() <= Duration::from_millis(21), "{:?}", start.elapsed());
    }
}
