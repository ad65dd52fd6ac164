//! What was asked and not yet answered.

use std::collections::BTreeMap;

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::Submitted;

/// The last number before they begin again (3.2).
const LAST: u32 = 0x7FFF_FFFF;

/// Waiting texts, by the number of their request.
#[derive(Debug)]
pub(super) struct Window {
    size: usize,
    next: u32,
    waiting: BTreeMap<u32, Waiting>,
    /// What was asked in order, with its deadline: the front is the longest waiting.
    deadlines: std::collections::VecDeque<(Instant, u32)>,
}

#[derive(Debug)]
struct Waiting {
    tell: oneshot::Sender<Submitted>,
    /// Where its octets begin, counted from the connection's first.
    begins_at: u64,
}

impl Window {
    /// An empty one, after the request `last`.
    pub(super) fn after(last: u32, size: usize) -> Self {
        Self {
            size: size.max(1),
            next: last + 1,
            waiting: BTreeMap::new(),
            deadlines: std::collections::VecDeque::new(),
        }
    }

    /// How many more may be asked.
    pub(super) fn free(&self) -> usize {
        self.size.saturating_sub(self.waiting.len())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// A number for a request: one that nobody waits for.
    pub(super) fn number(&mut self) -> u32 {
        loop {
            let number = self.next;
            self.next = if number >= LAST { 1 } else { number + 1 };
            if !self.waiting.contains_key(&number) {
                return number;
            }
        }
    }

    /// Notes a text whose octets begin at a place.
    pub(super) fn wait(
        &mut self,
        number: u32,
        tell: oneshot::Sender<Submitted>,
        begins_at: u64,
        deadline: Instant,
    ) {
        self.waiting.insert(number, Waiting { tell, begins_at });
        self.deadlines.push_back((deadline, number));
    }

    /// Passes an answer on; nothing happens if nobody waits for it.
    pub(super) fn answer(&mut self, number: u32, submitted: Submitted) {
        if let Some(waiting) = self.waiting.remove(&number) {
            // Whoever asked may have stopped waiting.
            let _ = waiting.tell.send(submitted);
        }
    }

    /// When the longest waiting has waited too long.
    pub(super) fn deadline(&mut self) -> Option<Instant> {
        while let Some((deadline, number)) = self.deadlines.front() {
            if self.waiting.contains_key(number) {
                return Some(*deadline);
            }
            self.deadlines.pop_front();
        }
        None
    }

    /// Tells all that wait that no answer will come; `written` octets were written in all.
    pub(super) fn give_up(self, written: u64) {
        for waiting in self.waiting.into_values() {
            let submitted = if waiting.begins_at < written {
                Submitted::Unanswered
            } else {
                Submitted::NotWritten
            };
            let _ = waiting.tell.send(submitted);
        }
    }
}
