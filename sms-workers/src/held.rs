//! The loop that hands new messages over without a claim: they are committed as held, and come
//! through the memory of this program. `service/work/from_birth.rs` of `sms-core` draws their life.

use std::time::Duration;

use sms_core::error::causes;
use tokio::time::sleep;

use crate::carrying::counted;
use crate::dispatch::record_the_rest;
use crate::worker::Worker;

/// The pause between two records of outcomes. Nobody waits for them, and a commit costs the store
/// much the same whatever is in it. If the program is killed, the outcomes of this period are in
/// doubt.
const BETWEEN_RECORDS: Duration = Duration::from_millis(10);

pub(crate) async fn run(mut worker: Worker) {
    let sms = worker.sms.clone();
    let done = |recorded| {
        // The outcomes are kept, and recorded within a second.
        if let (_, Err(error)) = counted(recorded) {
            tracing::warn!(error = %causes(&error), "outcomes could not be recorded");
        }
    };
    let pause = || sleep(BETWEEN_RECORDS);
    sms.dispatch_held(worker.stopping.requested(), pause, done).await;
    // The other loops may have stopped before the last of these outcomes came.
    record_the_rest(&worker.sms, &worker.stopping).await;
}
