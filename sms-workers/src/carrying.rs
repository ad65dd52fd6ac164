//! What a loop has claimed and is carrying: it claims again while slow networks have to answer.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use sms_core::dispatch::Lane;
use sms_core::error::{Error, causes};
use sms_core::service::work::{DispatchFailed, Dispatched};
use tokio::sync::oneshot;
use tokio::task::{JoinError, JoinSet};

use crate::worker::Worker;

/// How many messages one claim takes.
const BATCH: usize = 500;
/// With this many messages whose outcomes are not recorded, or with [`MOST_CLAIMS`] claims that
/// have some, a loop claims no more. A route bounds what it takes by its own windows.
const MOST_MESSAGES: usize = 2_500;
const MOST_CLAIMS: usize = 64;

/// The claims of a loop whose outcomes are still to come.
#[derive(Default)]
pub(crate) struct Carrying {
    claims: JoinSet<()>,
    /// How many messages they have.
    messages: Arc<AtomicUsize>,
}

/// `count` messages of a claim are being handed over, until this is dropped.
struct Carried {
    count: usize,
    of: Arc<AtomicUsize>,
}

impl Drop for Carried {
    fn drop(&mut self) {
        self.of.fetch_sub(self.count, Ordering::SeqCst);
    }
}

impl Carrying {
    /// Claims, and returns what was claimed as soon as the routes have it. `None` after a failure
    /// of the store, which is logged and waited out.
    pub(crate) async fn claim(
        &mut self,
        worker: &mut Worker,
        lanes: &'static [Lane],
    ) -> Option<Dispatched> {
        while let Some(ended) = self.claims.try_join_next() {
            pass_on_panic(ended);
        }
        while self.messages.load(Ordering::SeqCst) >= MOST_MESSAGES
            || self.claims.len() >= MOST_CLAIMS
        {
            if let Some(ended) = self.claims.join_next().await {
                pass_on_panic(ended);
            }
        }
        match self.begin(worker, lanes).await {
            Ok(Ok(done)) => Some(done),
            Ok(Err(error)) => {
                worker.failed("dispatching messages", &error).await;
                None
            }
            // It panicked: the loop does, too.
            Err(_) => {
                self.ends().await;
                None
            }
        }
    }

    fn begin(
        &mut self,
        worker: &Worker,
        lanes: &'static [Lane],
    ) -> oneshot::Receiver<Result<Dispatched, Error>> {
        let (tell, told) = oneshot::channel();
        let (sms, of) = (worker.sms.clone(), Arc::clone(&self.messages));
        self.claims.spawn(async move {
            let (mut tell, mut carried) = (Some(tell), None);
            let claimed = |done: Dispatched| {
                of.fetch_add(done.claimed, Ordering::SeqCst);
                carried = Some(Carried { count: done.claimed, of });
                // The loop waits for it.
                let _ = tell.take().map(|tell| tell.send(Ok(done)));
            };
            let (_, failed) = counted(sms.dispatch_lanes(lanes, BATCH, claimed).await);
            drop(carried);
            match (failed, tell) {
                (Ok(()), _) => {}
                (Err(error), Some(tell)) => drop(tell.send(Err(error))),
                // The outcomes are kept, and recorded before the next claim.
                (Err(error), None) => {
                    tracing::warn!(error = %causes(&error), "outcomes could not be recorded");
                }
            }
        });
        told
    }

    /// Waits for all outcomes.
    pub(crate) async fn ends(&mut self) {
        while let Some(ended) = self.claims.join_next().await {
            pass_on_panic(ended);
        }
    }
}

fn pass_on_panic(ended: Result<(), JoinError>) {
    if let Err(error) = ended
        && let Ok(reason) = error.try_into_panic()
    {
        resume_unwind(reason);
    }
}

/// Counts what was done, and says why that is not all.
pub(crate) fn counted(
    result: Result<Dispatched, DispatchFailed>,
) -> (Dispatched, Result<(), Error>) {
    let (done, failed) = match result {
        Ok(done) => (done, Ok(())),
        Err(DispatchFailed { done, error, .. }) => (done, Err(error)),
    };
    metrics::counter!("sms_messages_sent_total").increment(done.sent as u64);
    metrics::counter!("sms_messages_failed_total").increment(done.failed as u64);
    metrics::counter!("sms_hand_overs_retried_total").increment(done.retried as u64);
    metrics::counter!("sms_hand_overs_lost_total").increment(done.lost as u64);
    (done, failed)
}
