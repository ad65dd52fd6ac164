//! The loop that brings back the receipts and replies of simulated routes.

use sms_core::service::Work;

use crate::worker::Worker;

/// How many are brought back at once.
const BATCH: usize = 500;

pub(crate) async fn run(mut worker: Worker) {
    while !worker.is_stopping() {
        match worker.sms.simulate_due(BATCH).await {
            Ok(count) if count == BATCH => {}
            Ok(_) => worker.rest(Work::FollowUps).await,
            Err(error) => worker.failed("simulating a network", &error).await,
        }
    }
}
