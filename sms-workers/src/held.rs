//! The loop that hands new messages over without a claim: they are committed as held, and come
//! through the memory of this program.

use sms_core::error::causes;

use crate::dispatch::{counted, record_the_rest};
use crate::worker::Worker;

pub(crate) async fn run(mut worker: Worker) {
    let sms = worker.sms.clone();
    let done = |recorded| {
        // The outcomes are kept, and recorded within a second.
        if let (_, Err(error)) = counted(recorded) {
            tracing::warn!(error = %causes(&error), "outcomes could not be recorded");
        }
    };
    sms.dispatch_held(worker.stopping.requested(), done).await;
    // The other loops may have stopped before the last of these outcomes came.
    record_the_rest(&worker.sms, &worker.stopping).await;
}
