//! The loop that replays events to webhook endpoints, beside the one that delivers: a replay that
//! takes long must not delay deliveries.

use sms_core::error::causes;
use sms_core::service::Work;
use tokio::time::sleep;

use crate::worker::{BLOCKED_SLEEP, LONGEST_SLEEP, Worker};

pub(crate) async fn run(mut worker: Worker) {
    while !worker.is_stopping() {
        let went_on = tokio::select! {
            went_on = worker.sms.replays_go_on() => went_on,
            () = worker.stopping.requested() => return,
        };
        if !matches!(went_on, Ok(0)) {
            // The portions of some replays are written even if another one failed.
            worker.bells.bell(Work::Webhooks).notify_one();
        }
        match went_on {
            Ok(_) => rest(&mut worker).await,
            Err(error) => failed(&mut worker, &error).await,
        }
    }
}

/// Sleeps until a portion may be due, or the loop is to stop.
async fn rest(worker: &mut Worker) {
    let next = worker.sms.next_replay().map(|at| at.since(worker.sms.now()));
    tokio::select! {
        () = worker.bells.replays().notified() => {}
        () = sleep(next.unwrap_or(LONGEST_SLEEP).min(LONGEST_SLEEP)) => {}
        () = worker.stopping.requested() => {}
    }
}

/// A failing replay must not delay the others for long.
async fn failed(worker: &mut Worker, error: &sms_core::Error) {
    tracing::warn!(error = %causes(error), "replaying events failed; retrying");
    tokio::select! {
        () = sleep(BLOCKED_SLEEP) => {}
        () = worker.stopping.requested() => {}
    }
}
