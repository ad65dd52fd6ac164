//! The window: requests without a response yet.

use std::collections::BTreeMap;

use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tokio::time::Instant;

use super::request::{Heard, Submitted};

/// The highest sequence number; 1 follows it (3.2).
const LAST: u32 = 0x7FFF_FFFF;

fn following(number: u32) -> u32 {
    if number >= LAST { 1 } else { number + 1 }
}

/// Outstanding `submit_sm`s by sequence number.
#[derive(Debug)]
pub(super) struct Window {
    next: u32,
    waiting: BTreeMap<u32, Waiting>,
    /// The deadlines of the requests, oldest first. May hold requests that are answered already.
    deadlines: std::collections::VecDeque<(Instant, u32)>,
}

#[derive(Debug)]
struct Waiting {
    tell: oneshot::Sender<Submitted>,
    heard: Heard,
    /// The position of its first octet in what the session writes.
    begins_at: u64,
    /// Released with the response.
    _place: OwnedSemaphorePermit,
}

impl Window {
    /// An empty window; its first sequence number follows `last`.
    pub(super) fn after(last: u32) -> Self {
        let next = following(last);
        Self { next, waiting: BTreeMap::new(), deadlines: std::collections::VecDeque::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The next sequence number that no outstanding request has.
    pub(super) fn number(&mut self) -> u32 {
        loop {
            let number = self.next;
            self.next = following(number);
            if !self.waiting.contains_key(&number) {
                return number;
            }
        }
    }

    /// Records a request that is about to be written.
    pub(super) fn wait(
        &mut self,
        number: u32,
        (tell, heard, place): (oneshot::Sender<Submitted>, Heard, OwnedSemaphorePermit),
        begins_at: u64,
        deadline: Instant,
    ) {
        self.waiting.insert(number, Waiting { tell, heard, begins_at, _place: place });
        self.deadlines.push_back((deadline, number));
    }

    /// Passes on a response. Ignores one that no request waits for.
    pub(super) fn answer(&mut self, number: u32, submitted: Submitted) {
        if let Some(waiting) = self.waiting.remove(&number) {
            waiting.heard.call(&submitted);
            // The caller may have stopped waiting.
            let _ = waiting.tell.send(submitted);
        }
    }

    /// When the oldest outstanding request times out.
    pub(super) fn deadline(&mut self) -> Option<Instant> {
        while let Some((deadline, number)) = self.deadlines.front() {
            if self.waiting.contains_key(number) {
                return Some(*deadline);
            }
            self.deadlines.pop_front();
        }
        None
    }

    /// Ends requests that have timed out as [`Submitted::Unanswered`]. This does not end the
    /// session: only an unanswered `enquire_link` does.
    pub(super) fn expire(&mut self, now: Instant) {
        while self.deadline().is_some_and(|deadline| deadline <= now) {
            let number = self.deadlines.pop_front().map(|(_, number)| number);
            if let Some(number) = number {
                self.answer(number, Submitted::Unanswered);
            }
        }
    }

    /// Ends all outstanding requests. Those that begin beyond the `written` octets were not sent.
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
    async fn sequence_numbers_wrap_around_and_skip_outstanding_requests() {
        let mut window = Window::after(LAST - 2);
        let places = Arc::new(Semaphore::new(10));
        let wait = |window: &mut Window, number| {
            let place = Arc::clone(&places).try_acquire_owned().unwrap();
            let (tell, told) = oneshot::channel();
            window.wait(number, (tell, Heard::nothing(), place), 0, Instant::now());
            told
        };
        let _one = wait(&mut window, 1);
        assert_eq!([window.number(), window.number(), window.number()], [LAST - 1, LAST, 2]);
    }
}
