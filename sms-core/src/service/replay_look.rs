//! When to ask the store for replays. Most of the time there is none, and nothing is asked for each
//! delivery.

use std::sync::{Mutex, PoisonError};
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
    /// When the next portion is due, as far as is known.
    due: Option<Timestamp>,
    /// When to ask at the latest; `None` for now.
    again: Option<Timestamp>,
}

impl ReplayLook {
    /// Whether to ask the store now.
    pub(super) fn is_due(&self, at: Timestamp) -> bool {
        let Look { due, again } = self.read();
        due.is_some_and(|due| due <= at) || again.is_none_or(|again| again <= at)
    }

    /// Asks at once, because a replay has begun.
    pub(super) fn look(&self) {
        self.set(Look::default());
    }

    /// The store answered at `at` when the next portion is due. What is due and not written now
    /// waits for other deliveries.
    pub(super) fn looked(&self, at: Timestamp, next: Option<Timestamp>) {
        let due = next.map(|next| if next <= at { at.plus(EVERY) } else { next });
        self.set(Look { due, again: Some(at.plus(ASK_EVERY)) });
    }

    /// When the next portion is due, as far as is known.
    pub(super) fn next(&self) -> Option<Timestamp> {
        self.read().due
    }

    fn read(&self) -> Look {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, look: Look) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = look;
    }
}
