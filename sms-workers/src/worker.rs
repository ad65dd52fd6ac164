//! What every loop over due work has: the service, the bells, and when to stop.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use sms_core::error::causes;
use sms_core::service::Work;
use sms_core::{Error, Sms};
use tokio::time::sleep;

use crate::bells::Bells;
use crate::stopping::Stopping;

/// The longest sleep: polling finds what no bell rang for.
pub(crate) const LONGEST_SLEEP: Duration = Duration::from_secs(1);
/// How long to sleep when something is due that was not taken: others hold it, or there are no
/// slots for it. Asking again at once would not help.
pub(crate) const BLOCKED_SLEEP: Duration = Duration::from_millis(250);
/// How long to wait after the store failed.
const AFTER_FAILURE: Duration = Duration::from_secs(1);

/// One loop over due work.
#[derive(Debug, Clone)]
pub(crate) struct Worker {
    pub(crate) sms: Sms,
    pub(crate) bells: Arc<Bells>,
    pub(crate) stopping: Stopping,
}

/// How long to sleep.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rest {
    /// At most, if nothing is due earlier.
    pub(crate) longest: Duration,
    /// When something is due already.
    pub(crate) blocked: Duration,
}

impl Default for Rest {
    fn default() -> Self {
        Self { longest: LONGEST_SLEEP, blocked: BLOCKED_SLEEP }
    }
}

impl Worker {
    /// Whether the loop is to stop.
    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.is_requested()
    }

    /// Sleeps until there may be work of this kind, or the loop is to stop.
    pub(crate) async fn rest(&mut self, work: Work) {
        self.rest_for(work, Rest::default(), pending()).await;
    }

    /// [`rest`](Self::rest), but no longer than this, and no longer than until `sooner` resolves.
    pub(crate) async fn rest_for(
        &mut self,
        work: Work,
        rest: Rest,
        sooner: impl Future<Output = ()>,
    ) {
        let next = self.sms.next_work(work).await.ok().flatten();
        let until = match next.map(|at| at.since(self.sms.now())) {
            None => rest.longest,
            Some(Duration::ZERO) => rest.blocked,
            Some(until) => until.min(rest.longest),
        };
        tokio::select! {
            () = self.bells.bell(work).notified() => {}
            () = sleep(until) => {}
            () = sooner => {}
            () = self.stopping.requested() => {}
        }
    }

    /// Logs that the store failed while the loop did this, and waits before the loop continues.
    pub(crate) async fn failed(&mut self, doing: &str, error: &Error) {
        tracing::warn!(error = %causes(error), "{doing} failed; retrying");
        tokio::select! {
            () = sleep(AFTER_FAILURE) => {}
            () = self.stopping.requested() => {}
        }
    }
}
