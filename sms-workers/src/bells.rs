//! Wakes a loop when a commit has made work for it.

use sms_core::service::{Wake, Work};
use tokio::sync::Notify;

/// One bell for each kind of work.
#[derive(Debug, Default)]
pub(crate) struct Bells {
    dispatch: Notify,
    webhooks: Notify,
    follow_ups: Notify,
    rents: Notify,
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
}

impl Wake for Bells {
    fn wake(&self, work: Work) {
        self.bell(work).notify_one();
    }
}
