//! Wakes the loops of [`super::work`] when a commit has made work for them.

use std::sync::Arc;

use sms_core::service::{Wake, Work};
use tokio::sync::Notify;

/// One bell per kind of work.
#[derive(Debug, Clone, Default)]
pub struct Bells {
    dispatch: Arc<Notify>,
    webhooks: Arc<Notify>,
    follow_ups: Arc<Notify>,
    rents: Arc<Notify>,
}

impl Bells {
    /// The bell of this kind.
    pub fn bell(&self, work: Work) -> &Arc<Notify> {
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
