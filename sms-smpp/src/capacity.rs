//! How many messages a route can submit soon, measured by how long they hold their places in the
//! windows.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sms_core::dispatch::Lane;
use tokio::time::Instant;

/// How much the last message counts for the means.
const WEIGHT: f64 = 0.25;

/// The measured capacity of a route.
#[derive(Debug)]
pub struct Capacity {
    places: usize,
    /// Places that bulk leaves free.
    reserved: usize,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// How many messages were written and still hold their places.
    written: usize,
    /// For how many seconds a message holds its place from the moment it is written, on average;
    /// `None` before the first answer.
    hold: Option<f64>,
    /// How many segments a message has, on average.
    segments: f64,
    /// When a message was last written, or gave its place back.
    moved: Option<Instant>,
}

impl Capacity {
    /// A route with `places` places of which nothing is known yet. Bulk leaves some of them free.
    pub fn new(places: usize, reserved: usize) -> Self {
        let state = State { written: 0, hold: None, segments: 1.0, moved: None };
        Self { places, reserved, state: Mutex::new(state) }
    }

    /// A message with this number of segments begins to be written.
    pub fn begins(&self, segments: usize) {
        let mut state = self.lock();
        state.written += 1;
        state.moved = Some(Instant::now());
        state.segments = mean(Some(state.segments), count(segments.max(1)));
    }

    /// A message that was written gave its place back. `held` is for how long it had it; `None` if
    /// the network never answered: then nothing is learned from it.
    pub fn ends(&self, held: Option<Duration>) {
        let mut state = self.lock();
        state.written = state.written.saturating_sub(1);
        state.moved = Some(Instant::now());
        if let Some(held) = held {
            state.hold = Some(mean(state.hold, held.as_secs_f64()));
        }
    }

    /// How many messages of this lane can be submitted within this time from now on, at this rate
    /// in segments a second: into places that are free, and into those of messages that are
    /// answered.
    pub fn soon(&self, lane: Lane, seconds: f64, segments_per_second: f64) -> f64 {
        let state = self.lock();
        let by_rate = segments_per_second / state.segments * seconds;
        // Before the first answer, it is not known how long answers take.
        let answered = state.hold().map_or(0.0, |hold| count(self.places) / hold * seconds);
        by_rate.min(count(self.free(&state, lane)) + answered)
    }

    /// Whether there is a free place for a message of this lane.
    pub fn has_room(&self, lane: Lane) -> bool {
        self.free(&self.lock(), lane) > 0
    }

    fn free(&self, state: &State, lane: Lane) -> usize {
        let reserved = match lane {
            Lane::Normal => 0,
            Lane::Bulk => self.reserved,
        };
        self.places.saturating_sub(reserved + state.written)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Every change is complete before the lock is released, so a poisoned lock does no harm.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The mean hold, or the time for which the network has said nothing, if that is longer.
    fn hold(&self) -> Option<f64> {
        let silent = self.moved.filter(|_| self.written > 0).map(|moved| moved.elapsed());
        Some(self.hold?.max(silent.unwrap_or_default().as_secs_f64()))
    }
}

fn mean(mean: Option<f64>, last: f64) -> f64 {
    mean.map_or(last, |mean| mean + (last - mean) * WEIGHT)
}

#[expect(clippy::cast_precision_loss, reason = "windows are small")]
fn count(places: usize) -> f64 {
    places as f64
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    const NO_LIMIT: f64 = f64::INFINITY;

    /// What it can submit in a second beside `free` places.
    fn per_second(capacity: &Capacity, free: usize) -> f64 {
        capacity.soon(Lane::Normal, 1.0, NO_LIMIT) - count(free)
    }

    #[track_caller]
    fn assert_about(found: f64, expected: f64) {
        assert!((found - expected).abs() <= expected / 20.0, "{found} and not {expected}");
    }

    #[tokio::test(start_paused = true)]
    async fn the_capacity_follows_from_how_long_places_are_held() {
        let capacity = Capacity::new(10, 0);
        assert_about(per_second(&capacity, 10), 0.0);
        for _ in 0..10 {
            capacity.begins(1);
        }
        advance(Duration::from_millis(100)).await;
        capacity.ends(Some(Duration::from_millis(100)));
        assert_about(per_second(&capacity, 1), 100.0);
        for _ in 0..30 {
            capacity.begins(1);
            capacity.ends(Some(Duration::from_secs(1)));
        }
        assert_about(per_second(&capacity, 1), 10.0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_network_that_answers_nothing_any_more_has_less_and_less_capacity() {
        // Bulk never takes the place that it leaves free.
        for written in [1, 19, 20] {
            let capacity = Capacity::new(20, 1);
            capacity.begins(1);
            capacity.ends(Some(Duration::from_millis(1)));
            for _ in 0..written {
                capacity.begins(1);
            }
            advance(Duration::from_secs(4)).await;
            assert_about(per_second(&capacity, 20 - written), 5.0);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_never_answered_tells_nothing() {
        let capacity = Capacity::new(10, 0);
        for _ in 0..5 {
            capacity.begins(1);
            advance(Duration::from_secs(30)).await;
            capacity.ends(None);
        }
        assert_about(per_second(&capacity, 10), 0.0);
        capacity.begins(1);
        capacity.ends(Some(Duration::from_millis(100)));
        capacity.begins(1);
        capacity.ends(None);
        assert_about(per_second(&capacity, 10), 100.0);
    }

    #[test]
    fn the_rate_counts_segments() {
        let capacity = Capacity::new(100, 0);
        assert_about(capacity.soon(Lane::Bulk, 0.5, 10.0), 5.0);
        for _ in 0..30 {
            capacity.begins(4);
            capacity.ends(Some(Duration::ZERO));
        }
        assert_about(capacity.soon(Lane::Bulk, 0.5, 80.0), 10.0);
    }
}
