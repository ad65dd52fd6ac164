//! How fast a client has to read its answer.
//!
//! Without a least pace, a client that reads a few bytes now and then holds its connection, and
//! what its answer is made of, for as long as it likes.

use std::time::Duration;

use tokio::time::Instant;

/// A client that reads slower than this many bytes a second is ended in time.
const LEAST_PACE: u64 = 4_096;

/// How long a client has kept its answer waiting. The time counts while nothing can be written, and
/// each byte that is written takes some of it back.
#[derive(Debug, Default)]
pub(crate) struct ReaderPace {
    blocked_since: Option<Instant>,
    waited: Duration,
}

impl ReaderPace {
    /// Nothing can be written, because the client does not read. Returns whether that is new.
    pub(crate) fn blocked(&mut self, now: Instant) -> bool {
        let is_new = self.blocked_since.is_none();
        self.blocked_since.get_or_insert(now);
        is_new
    }

    /// So many bytes were written.
    pub(crate) fn wrote(&mut self, bytes: usize, now: Instant) {
        if let Some(since) = self.blocked_since.take() {
            self.waited += now.saturating_duration_since(since);
        }
        let earned = Duration::from_nanos(bytes as u64 * (1_000_000_000 / LEAST_PACE));
        self.waited = self.waited.saturating_sub(earned);
    }

    /// When the client has waited for longer than `patience`, if it goes on as now.
    pub(crate) fn deadline(&self, patience: Duration) -> Option<Instant> {
        self.blocked_since.map(|since| since + patience.saturating_sub(self.waited))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(30);

    /// Whether a client that reads so many bytes every 5 s is still there after an hour.
    fn is_kept(bytes: usize) -> bool {
        let (mut pace, mut now) = (ReaderPace::default(), Instant::now());
        for _ in 0..720 {
            pace.blocked(now);
            now += Duration::from_secs(5);
            if pace.deadline(PATIENCE).is_some_and(|deadline| deadline <= now) {
                return false;
            }
            pace.wrote(bytes, now);
        }
        true
    }

    #[test]
    fn a_client_that_reads_below_the_least_pace_is_ended() {
        for (bytes, kept) in [(0, false), (750, false), (15_000, false), (20_480, true)] {
            assert_eq!(is_kept(bytes), kept, "{bytes} bytes every 5 s");
        }
    }

    #[test]
    fn a_client_that_does_not_read_at_all_has_the_whole_patience() {
        let (mut pace, now) = (ReaderPace::default(), Instant::now());
        pace.wrote(1_000_000, now);
        assert_eq!(pace.deadline(PATIENCE), None);
        assert!(pace.blocked(now));
        assert!(!pace.blocked(now + Duration::from_secs(1)));
        assert_eq!(pace.deadline(PATIENCE), Some(now + PATIENCE));
    }
}
