//! Wakes a loop when a commit has made work for it.

use std::sync::atomic::{AtomicUsize, Ordering};

use sms_core::service::{Wake, Work};
use tokio::sync::{Notify, watch};

/// One bell for each kind of work.
#[derive(Debug, Default)]
pub(crate) struct Bells {
    dispatch: Notify,
    /// For the loops that only hand over the normal lane.
    normal: Notify,
    /// How many loops wait for `dispatch`.
    resting: AtomicUsize,
    webhooks: Notify,
    /// For the loop that replays events. It rings with `webhooks`, and when attempts are recorded.
    replays: Notify,
    follow_ups: Notify,
    rents: Notify,
    /// Changes with `webhooks`: a commit that writes events rings for their deliveries.
    events: watch::Sender<()>,
}

impl Bells {
    /// The bell of this kind.
    pub(crate) fn bell(&self, work: Work) -> &Notify {
        match work {
            Work::Dispatch => &self.dispatch,
            Work::Webhooks => &self.webhooks,
            Work::FollowUps => &self.follow_ups,
            Work::Rents => &self.rents,
        }
    }

    /// The bell of the loops that only hand over the normal lane. It rings when no other loop can
    /// take it, because all are busy with what they hold.
    pub(crate) fn normal(&self) -> &Notify {
        &self.normal
    }

    /// The bell of the loop that replays events.
    pub(crate) fn replays(&self) -> &Notify {
        &self.replays
    }

    /// Changes when there may be new events.
    pub(crate) fn events(&self) -> watch::Receiver<()> {
        self.events.subscribe()
    }

    /// Counts a loop as waiting for the bell of dispatching until this is dropped.
    pub(crate) fn rests(&self) -> Resting<'_> {
        self.resting.fetch_add(1, Ordering::SeqCst);
        Resting(self)
    }
}

/// A loop that waits for the bell of dispatching.
pub(crate) struct Resting<'a>(&'a Bells);

impl Drop for Resting<'_> {
    fn drop(&mut self) {
        self.0.resting.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Wake for Bells {
    fn wake(&self, work: Work) {
        self.bell(work).notify_one();
        if work == Work::Webhooks {
            self.replays.notify_one();
            self.events.send_replace(());
        }
        if work == Work::Dispatch && self.resting.load(Ordering::SeqCst) == 0 {
            self.normal.notify_one();
        }
    }
}
