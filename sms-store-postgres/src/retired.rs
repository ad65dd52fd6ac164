//! Connections that are replaced because the server at their other end takes no writes.
//!
//! A server that fails over refuses to write before its connections end, and behind one name there
//! may be another server by now. So when a connection learns that its server takes no writes, it
//! and all others of this process that were open by then are closed before their next use.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A server that stays read-only still serves reads, so that its connections must not be replaced
/// all the time.
const AT_MOST_EVERY: Duration = Duration::from_secs(1);

static START: LazyLock<Instant> = LazyLock::new(Instant::now);
/// Connections opened at this moment or earlier are retired. Milliseconds since [`START`].
static BEFORE: AtomicU64 = AtomicU64::new(0);

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Retires all connections that are open, unless that was done within the last second.
pub(crate) fn retire() {
    let now = millis(START.elapsed());
    let last = BEFORE.load(Ordering::Relaxed);
    if last == 0 || now.saturating_sub(last) >= millis(AT_MOST_EVERY) {
        retire_at_once();
    }
}

/// Retires all connections that are open.
pub(crate) fn retire_at_once() {
    // A moment that has begun is retired as a whole.
    BEFORE.fetch_max(millis(START.elapsed()) + 1, Ordering::Relaxed);
}

/// Whether a connection of this age is retired.
pub(crate) fn is_retired(age: Duration) -> bool {
    let before = BEFORE.load(Ordering::Relaxed);
    before > 0 && millis(START.elapsed().saturating_sub(age)) < before
}
