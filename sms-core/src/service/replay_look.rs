//! When to ask the store for replays. Most of the time there is none, and nothing is asked for each
//! delivery.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::time::Timestamp;
use crate::webhook::replay::EVERY;

/// How often to ask the store whether a replay is under way: another program may have begun it.
const ASK_EVERY: Duration = Duration::from_secs(1);

/// What this program knows of replays that are under way.
#[derive(Debug, Default)]
pub(super) struct ReplayLook(Mutex<Look>);

#[derive(Debug, Clone, Copy, Default)]
struct Look {
    /// When to ask for the next portion, as far as is known.
    due: Option<Timestamp>,
    /// When to ask at the latest; `None` for now.
    again: Option<Timestamp>,
    /// How many replays have begun in this program.
    begun: u64,
    /// When the store was last asked, if something was due then and no attempt was recorded since.
    asked: Option<Timestamp>,
    /// When this program last wrote a portion.
    wrote: Option<Timestamp>,
}

/// A question to the store that is under way.
#[derive(Debug)]
#[must_use]
pub(super) struct Asked {
    /// How many replays had begun before.
    begun: u64,
}

impl ReplayLook {
    /// Begins to ask the store, if it is to be asked now.
    pub(super) fn ask(&self, at: Timestamp) -> Option<Asked> {
        let Look { due, again, begun, .. } = *self.lock();
        let is_due = due.is_some_and(|due| due <= at) || again.is_none_or(|again| again <= at);
        is_due.then_some(Asked { begun })
    }

    /// Asks at once, because a replay has begun.
    pub(super) fn look(&self) {
        let mut look = self.lock();
        *look = Look { begun: look.begun.wrapping_add(1), ..Look::default() };
    }

    /// The store answered at `at` when the next portion is due. If that is now, there may be more
    /// to do a moment later. The answer may lack a replay that has begun since the question; then
    /// the store is asked again at once.
    pub(super) fn looked(&self, asked: &Asked, at: Timestamp, next: Option<Timestamp>) {
        let mut look = self.lock();
        if look.begun == asked.begun {
            look.due = next.map(|next| if next <= at { at.plus(EVERY) } else { next });
            look.again = Some(at.plus(ASK_EVERY));
            look.asked = next.filter(|next| *next <= at).map(|_| at);
        }
    }

    /// All that is due at `at` waits for deliveries: there is nothing to do until some of them are
    /// recorded, but for a replay that is between two portions.
    pub(super) fn all_wait(&self, asked: &Asked, at: Timestamp) {
        let mut look = self.lock();
        if look.begun == asked.begun && look.asked.is_some() {
            look.due = look.wrote.map(|wrote| wrote.plus(EVERY)).filter(|due| *due > at);
        }
    }

    /// This program wrote a portion.
    pub(super) fn wrote(&self, at: Timestamp) {
        self.lock().wrote = Some(at);
    }

    /// Attempts at deliveries were recorded at `at`. A replay that waited for them may go on.
    pub(super) fn recorded(&self, at: Timestamp) {
        let mut look = self.lock();
        if let Some(asked) = look.asked.take() {
            let due = at.max(asked.plus(EVERY));
            look.due = Some(look.due.map_or(due, |known| known.min(due)));
        }
    }

    /// When to ask for the next portion, as far as is known.
    pub(super) fn next(&self) -> Option<Timestamp> {
        self.lock().due
    }

    fn lock(&self) -> MutexGuard<'_, Look> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
