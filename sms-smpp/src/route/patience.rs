//! How long a segment is tried for.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use sms_core::ids::MessageId;
use tokio::time::Instant;

/// For how long a message that was given back between two tries is remembered.
const REMEMBERED_FOR: Duration = Duration::from_mins(1);

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

/// The tries of a segment that failed until now.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tries {
    failed: usize,
    /// Until when it is tried again; `None` before the first failure.
    until: Option<Instant>,
}

impl Tries {
    /// Counts a failure. Returns whether it was the last try: there have been `at_least` this many,
    /// and there is no time left for another after this `pause`.
    pub(super) fn failed(&mut self, patience: Duration, at_least: usize, pause: Duration) -> bool {
        let now = Instant::now();
        self.failed += 1;
        let until = *self.until.get_or_insert(now + patience);
        self.failed >= at_least && now + pause > until
    }
}

/// Messages that were given back between two tries, to be looked at again. When one comes back, its
/// tries go on: a network that turns a message away all the time is not asked for ever.
#[derive(Debug, Default)]
pub(super) struct Interrupted(Mutex<BTreeMap<MessageId, Tries>>);

impl Interrupted {
    /// The tries of this message until now.
    pub(super) fn take(&self, message: MessageId) -> Tries {
        self.with(|all| all.remove(&message)).unwrap_or_default()
    }

    /// The message is given back after these tries.
    pub(super) fn keep(&self, message: MessageId, tries: Tries) {
        let Some(_) = tries.until else { return };
        let now = Instant::now();
        self.with(|all| {
            all.retain(|_, tries| tries.until.is_some_and(|at| now < at + REMEMBERED_FOR));
            all.insert(message, tries);
        });
    }

    fn with<T>(&self, act: impl FnOnce(&mut BTreeMap<MessageId, Tries>) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
