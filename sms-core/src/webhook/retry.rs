//! When a failed delivery is retried.

use std::time::Duration;

/// The delays between attempts: by default 1, 5, 30, 120, 360 and 720 minutes. Each counts from
/// the end of the attempt before it. After the last, the delivery is given up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetrySchedule(Vec<Duration>);

impl Default for RetrySchedule {
    fn default() -> Self {
        Self([1, 5, 30, 120, 360, 720].map(|minutes| Duration::from_secs(minutes * 60)).into())
    }
}

/// The most that jitter adds to a delay.
const LONGEST_JITTER: Duration = Duration::from_mins(1);

/// The share of the allowed jitter that an attempt gets, as a fraction of 2^32.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Jitter(pub u32);

impl RetrySchedule {
    /// A schedule with these delays.
    pub fn new(delays: Vec<Duration>) -> Self {
        Self(delays)
    }

    /// The delays, in order.
    pub fn delays(&self) -> &[Duration] {
        &self.0
    }

    /// How long to wait after `attempts` have failed; `None` if the delivery is given up. The
    /// jitter adds up to a tenth of the delay, at most a minute, so a retry is never early.
    pub(crate) fn delay_after(&self, attempts: u32, jitter: Jitter) -> Option<Duration> {
        let index = usize::try_from(attempts.checked_sub(1)?).ok()?;
        let delay = *self.0.get(index)?;
        let most = (delay / 10).min(LONGEST_JITTER);
        let share = f64::from(jitter.0) / f64::from(u32::MAX);
        Some(delay + most.mul_f64(share))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retries_follow_after_1_5_30_120_360_and_720_minutes_and_then_no_more() {
        let schedule = RetrySchedule::default();
        let minutes =
            |attempts| schedule.delay_after(attempts, Jitter(0)).map(|delay| delay.as_secs() / 60);
        let expected = [None, Some(1), Some(5), Some(30), Some(120), Some(360), Some(720), None];
        for (attempts, expected) in (0..).zip(expected) {
            assert_eq!(minutes(attempts), expected, "after {attempts} attempts");
        }
    }

    #[test]
    fn a_schedule_shows_the_delays_it_was_made_of() {
        let delays = vec![Duration::from_secs(7), Duration::from_secs(9)];
        assert_eq!(RetrySchedule::new(delays.clone()).delays(), delays);
    }

    #[test]
    fn jitter_adds_a_tenth_at_most_and_never_takes_away() {
        let schedule = RetrySchedule::default();
        for attempts in 1..=6 {
            let plain = schedule.delay_after(attempts, Jitter(0)).unwrap();
            for jitter in [1, u32::MAX / 2, u32::MAX] {
                let delay = schedule.delay_after(attempts, Jitter(jitter)).unwrap();
                assert!(delay >= plain && delay <= plain + plain / 10);
                assert!(delay <= plain + LONGEST_JITTER);
            }
        }
    }
}
