//! What was asked and not yet answered.

use std::collections::BTreeMap;

use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tokio::time::Instant;

use super::Submitted;

/// The last number before they begin again (3.2).
const LAST: u32 = 0x7FFF_FFFF;

fn following(number: u32) -> u32 {
    if number >= LAST { 1 } else { number + 1 }
}

/// Waiting texts, by the number of their request.
#[derive(Debug)]
pub(super) struct Window {
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
    /// Given back with the answer.
    _place: OwnedSemaphorePermit,
}

impl Window {
    /// An empty one, after the request `last`.
    pub(super) fn after(last: u32) -> Self {
        let next = following(last);
        Self { next, waiting: BTreeMap::new(), deadlines: std::collections::VecDeque::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// A number for a request: one that nobody waits for.
    pub(super) fn number(&mut self) -> u32 {
        loop {
            let number = self.next;
            self.next = following(number);
            if !self.waiting.contains_key(&number) {
                return number;
            }
        }
    }

    /// Notes a text whose octets begin at a place.
    pub(super) fn wait(
        &mut self,
        number: u32,
        (tell, place): (oneshot::Sender<Submitted>, OwnedSemaphorePermit),
        begins_at: u64,
        deadline: Instant,
    ) {
        self.waiting.insert(number, Waiting { tell, begins_at, _place: place });
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

    /// Tells those that have waited too long that no answer will come. Whether the peer is still
    /// there is another question.
    pub(super) fn expire(&mut self, now: Instant) {
        while self.deadline().is_some_and(|deadline| deadline <= now) {
            let number = self.deadlines.pop_front().map(|(_, number)| number);
            if let Some(number) = number {
                self.answer(number, Submitted::Unanswered);
            }
        }
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::sync::Semaphore;

    use super::*;

    #[tokio::test]
    async fn numbers_begin_again_after_the_last_and_pass_over_those_waited_for() {
        let mut window = Window::after(LAST - 2);
        let places = Arc::new(Semaphore::new(10));
        let wait = |window: &mut Window, number| {
            let place = Arc::clone(&places).try_acquire_owned().unwrap();
            let (tell, told) = oneshot::channel();
            window.wait(number, (tell, place), 0, Instant::now());
            told
        };
        let _one = wait(&mut window, 1);
        assert_eq!([window.number(), window.number(), window.number()], [LAST - 1, LAST, 2]);
    }
}
