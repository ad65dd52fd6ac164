//! How long a segment is tried for.

use std::time::Duration;

/// How long one segment is retried here, counted from its first failure. The time it waits for the
/// window and for the route's rate does not count.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    /// For a first segment; then its message goes back to the queue. Longer than a reconnect takes.
    pub(super) first_part: Duration,
    /// For a later segment; longer, because the segments already sent are useless without it.
    pub(super) later_part: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { first_part: Duration::from_secs(10), later_part: Duration::from_mins(1) }
    }
}
