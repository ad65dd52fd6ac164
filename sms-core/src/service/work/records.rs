//! Bounds how many records of outcomes are under way at once.

use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::lock::{Mutex, MutexGuard};

/// How many records run at once in a program. Further outcomes are collected meanwhile, so that
/// those of many claims under way do not make many small commits.
const AT_ONCE: usize = 16;

/// The turns of records.
#[derive(Debug, Default)]
pub(in crate::service) struct Records {
    turns: [Mutex<()>; AT_ONCE],
    next: AtomicUsize,
}

impl Records {
    /// Waits for a turn, which ends when this is dropped.
    pub(super) async fn turn(&self) -> MutexGuard<'_, ()> {
        let first = self.next.fetch_add(1, Ordering::Relaxed) % AT_ONCE;
        let (before, from) = self.turns.split_at(first);
        match from.iter().chain(before).find_map(Mutex::try_lock) {
            Some(turn) => turn,
            None => self.turns[first].lock().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn a_bounded_number_of_records_is_under_way() {
        let records = Records::default();
        let mut turns: Vec<_> =
            (0..AT_ONCE).map(|_| records.turn().now_or_never().unwrap()).collect();
        assert!(records.turn().now_or_never().is_none());
        turns.pop();
        assert!(records.turn().now_or_never().is_some());
    }
}
