//! Pauses: an endpoint may ask for time before the next delivery.
//!
//! An answer of 429, or of 503 with `Retry-After`, pauses the endpoint. Until the pause ends, no
//! delivery to it is claimed. A pause counts as one failed attempt, however many attempts were in
//! flight when it began and however many deliveries wait.

use std::time::Duration;

use crate::time::Timestamp;

/// The shortest pause, however little time the endpoint asks for.
pub const SHORTEST: Duration = Duration::from_secs(1);
/// The longest pause, however much time the endpoint asks for.
pub const LONGEST: Duration = Duration::from_mins(5);
/// The pause after a 429 that does not say for how long.
pub const UNSPECIFIED: Duration = Duration::from_secs(5);

/// The time in which nothing is sent to an endpoint, because it asked for that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pause {
    /// When it began: the end of the first attempt that was answered so.
    pub since: Timestamp,
    /// When deliveries are claimed again.
    pub until: Timestamp,
}

impl Pause {
    /// Whether it holds at `at`.
    pub fn is_running(self, at: Timestamp) -> bool {
        at < self.until
    }

    /// Whether an attempt from `began` to `at` belongs to this pause: it ended in the pause, or was
    /// in flight when the pause began.
    fn includes(self, began: Timestamp, at: Timestamp) -> bool {
        self.is_running(at) || began <= self.since
    }
}

/// The attempt that an endpoint answered by asking for time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Asked {
    /// When the attempt began.
    pub(super) began: Timestamp,
    /// When it ended, from which the length counts.
    pub(super) at: Timestamp,
    /// For how long nothing is to be sent.
    pub(super) length: Duration,
}

/// What an answer does to the pause of its endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Paused {
    /// A new pause begins, which counts as one failed attempt.
    Anew(Pause),
    /// The pause continues and may become longer. The attempt does not count.
    Still(Pause),
}

impl Asked {
    /// The pause that follows for an endpoint with this last pause.
    pub(super) fn after(self, last: Option<Pause>) -> Paused {
        let until = self.at.plus(self.length);
        match last.filter(|last| last.includes(self.began, self.at)) {
            Some(last) => Paused::Still(Pause { until: last.until.max(until), ..last }),
            None => Paused::Anew(Pause { since: self.at, until }),
        }
    }
}

/// For how long an answer asks that nothing is sent; `None` if it does not ask.
pub(super) fn length_asked(
    status_code: Option<u16>,
    retry_after: Option<Duration>,
) -> Option<Duration> {
    let length = match (status_code, retry_after) {
        (Some(429), asked) => asked.unwrap_or(UNSPECIFIED),
        (Some(503), Some(asked)) => asked,
        _ => return None,
    };
    Some(length.clamp(SHORTEST, LONGEST))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::seconds;

    #[test]
    fn a_429_and_a_503_with_retry_after_ask_for_a_second_to_five_minutes() {
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        for (status, retry_after, expected) in [
            (Some(429), None, seconds(5)),
            (Some(429), seconds(0), seconds(1)),
            (Some(429), Some(Duration::from_millis(999)), seconds(1)),
            (Some(429), seconds(1), seconds(1)),
            (Some(429), seconds(42), seconds(42)),
            (Some(429), seconds(300), seconds(300)),
            (Some(429), seconds(301), seconds(300)),
            (Some(429), seconds(u64::MAX), seconds(300)),
            (Some(503), seconds(0), seconds(1)),
            (Some(503), seconds(42), seconds(42)),
            (Some(503), seconds(86_400), seconds(300)),
            (Some(503), None, None),
            (Some(500), seconds(42), None),
            (Some(502), seconds(42), None),
            (Some(408), seconds(42), None),
            (Some(200), seconds(42), None),
            (None, seconds(42), None),
            (None, None, None),
        ] {
            assert_eq!(length_asked(status, retry_after), expected, "{status:?} {retry_after:?}");
        }
    }

    #[test]
    fn an_attempt_in_flight_when_a_pause_began_belongs_to_it() {
        let last = Pause { since: seconds(100), until: seconds(105) };
        let until = |seconds_| Pause { until: seconds(seconds_), ..last };
        let anew =
            |since, until| Paused::Anew(Pause { since: seconds(since), until: seconds(until) });
        for (began, at, length, expected) in [
            // It ended in the pause.
            (99, 101, 2, Paused::Still(until(105))),
            (99, 101, 4, Paused::Still(until(105))),
            (99, 101, 60, Paused::Still(until(161))),
            // A retry by hand began and ended in the pause.
            (102, 103, 60, Paused::Still(until(163))),
            // It ended after the pause, but was in flight when that began.
            (99, 107, 2, Paused::Still(until(109))),
            (100, 105, 2, Paused::Still(until(107))),
            // It began later.
            (101, 105, 2, anew(105, 107)),
            (105, 106, 2, anew(106, 108)),
        ] {
            let length = Duration::from_secs(length);
            let asked = Asked { began: seconds(began), at: seconds(at), length };
            assert_eq!(asked.after(Some(last)), expected, "{began} to {at}");
        }
        let first = Asked { began: seconds(99), at: seconds(100), length: UNSPECIFIED };
        assert_eq!(first.after(None), anew(100, 105));
    }

    #[test]
    fn a_pause_ends_at_its_end() {
        let pause = Pause { since: seconds(0), until: seconds(5) };
        for (at, is_running) in [(0, true), (4, true), (5, false), (6, false)] {
            assert_eq!(pause.is_running(seconds(at)), is_running, "{at}");
        }
    }
}
