//! Texts a second: no more than agreed, and fewer for a while when the peer is throttled.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// How slow a pace may become, as a part of the agreed one.
const SLOWEST: f64 = 1.0 / 64.0;
/// What a pace that was slowed down gains in a second, as a part of the agreed one.
const GAIN: f64 = 1.0 / 20.0;

/// The pace of one route.
///
/// Texts get moments, one after the other, a fixed time apart; there is no burst beyond a tenth of
/// a second's worth. [`slow_down`](Pace::slow_down) halves the pace, which then grows back over
/// some twenty seconds.
#[derive(Debug)]
pub struct Pace {
    agreed: Option<f64>,
    state: Mutex<State>,
}

#[derive(Debug, Clone, Copy)]
struct State {
    /// The next free moment.
    next: Instant,
    /// The present pace, as a part of the agreed one.
    part: f64,
    /// When `part` was last worked out.
    since: Instant,
}

/// The pace that one without an agreed limit is slowed down from.
const UNLIMITED: f64 = 1_000.0;

impl Pace {
    /// At most so many texts a second; `None` for as many as the peer takes.
    pub fn new(texts_per_second: Option<u32>) -> Self {
        let now = Instant::now();
        let agreed = texts_per_second.map(|texts| f64::from(texts.max(1)));
        Self { agreed, state: Mutex::new(State { next: now, part: 1.0, since: now }) }
    }

    /// Waits for the moment of the next text.
    pub async fn next(&self) {
        let at = self.moment(Instant::now());
        if let Some(at) = at {
            sleep_until(at).await;
        }
    }

    /// The moment of the next text; `None` for at once.
    fn moment(&self, now: Instant) -> Option<Instant> {
        let mut state = self.lock();
        state.recover(now);
        if self.agreed.is_none() && state.part >= 1.0 {
            return None;
        }
        let gap = Duration::from_secs_f64(1.0 / (self.agreed.unwrap_or(UNLIMITED) * state.part));
        let burst = Duration::from_millis(100);
        let earliest = now.checked_sub(burst).unwrap_or(now);
        let at = state.next.max(earliest);
        state.next = at + gap;
        (at > now).then_some(at)
    }

    /// The peer was given more than it takes.
    pub fn slow_down(&self) {
        let now = Instant::now();
        let mut state = self.lock();
        state.recover(now);
        state.part = (state.part / 2.0).max(SLOWEST);
        // Nothing at all for a moment: what is under way is throttled as well.
        state.next = state.next.max(now + Duration::from_millis(100));
    }

    /// The present pace, as a part of the agreed one: 1 unless it was slowed down.
    pub fn part(&self) -> f64 {
        let mut state = self.lock();
        state.recover(Instant::now());
        state.part
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
    async fn no_second_has_more_texts_than_agreed_but_for_the_first_burst() {
        let pace = Pace::new(Some(50));
        let start = Instant::now();
        for _ in 0..105 {
            pace.next().await;
        }
        let took = start.elapsed().as_millis();
        assert!((1_960..=2_100).contains(&took), "105 texts took {took} ms");
    }

    #[tokio::test(start_paused = true)]
    async fn time_that_was_not_used_is_not_saved_up() {
        let pace = Pace::new(Some(10));
        pace.next().await;
        tokio::time::advance(Duration::from_mins(1)).await;
        let start = Instant::now();
        for _ in 0..12 {
            pace.next().await;
        }
        assert!(start.elapsed() >= Duration::from_secs(1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_throttled_pace_is_halved_and_grows_back() {
        let pace = Pace::new(Some(100));
        pace.slow_down();
        pace.slow_down();
        assert!((pace.part() - 0.25).abs() < 0.01);
        let start = Instant::now();
        for _ in 0..25 {
            pace.next().await;
        }
        assert!(start.elapsed() >= Duration::from_millis(700), "{:?}", start.elapsed());
        tokio::time::advance(Duration::from_secs(20)).await;
        assert!((pace.part() - 1.0).abs() < f64::EPSILON);
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_limit_nothing_waits_until_the_peer_is_throttled() {
        let pace = Pace::new(None);
        let start = Instant::now();
        for _ in 0..10_000 {
            pace.next().await;
        }
        assert_eq!(start.elapsed(), Duration::ZERO);
        for _ in 0..100 {
            pace.slow_down();
        }
        let start = Instant::now();
        pace.next().await;
        pace.next().await;
        assert!(start.elapsed() >= Duration::from_millis(100));
    }
}
