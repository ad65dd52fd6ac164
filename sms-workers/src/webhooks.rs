//! The loop that attempts due webhook deliveries, many side by side.

use std::pin::pin;
use std::sync::Arc;

use sms_core::Error;
use sms_core::error::causes;
use sms_core::service::Work;
use sms_core::service::webhook::Attempted;
use sms_webhooks::{Courier, Progress, SlotLimits};

use crate::bells::Bells;
use crate::worker::Worker;

pub(crate) async fn run(mut worker: Worker, limits: SlotLimits) {
    let bells = Arc::clone(&worker.bells);
    let mut courier = Courier::with_limits(worker.sms.clone(), limits);
    let mut stopping = worker.stopping.clone();
    while !worker.is_stopping() {
        courier.look();
        let claimed = tokio::select! {
            claimed = claimed(&mut courier, &bells) => claimed,
            () = stopping.requested() => break,
        };
        let mut resting = pin!(async {
            match claimed {
                Ok(()) => worker.rest(Work::Webhooks).await,
                Err(error) => worker.failed("claiming webhook deliveries", &error).await,
            }
        });
        loop {
            tokio::select! {
                progress = courier.progress() => note(progress, &bells),
                () = &mut resting => break,
            }
        }
    }
    // Attempts under way end within an endpoint's timeout.
    courier.stop_claiming();
    while courier.is_busy() {
        note(courier.progress().await, &bells);
    }
}

/// Waits until the courier has claimed what is due.
async fn claimed(courier: &mut Courier, bells: &Bells) -> Result<(), Error> {
    loop {
        match courier.progress().await {
            Progress::Claimed(_) => return Ok(()),
            Progress::NotClaimed(error) => return Err(error),
            other => note(other, bells),
        }
    }
}

fn note(progress: Progress, bells: &Bells) {
    if matches!(progress, Progress::Recorded(_)) {
        // A replay may have waited for it.
        bells.replays().notify_one();
    }
    let outcome = match progress {
        Progress::Recorded(Attempted::Delivered) => "delivered",
        Progress::Recorded(Attempted::Failed) => "failed",
        Progress::Recorded(Attempted::LeaseLost) => "lease_lost",
        Progress::NotRecorded(error) => {
            tracing::warn!(error = %causes(&error), "a webhook attempt could not be recorded");
            "unrecorded"
        }
        Progress::NotClaimed(error) => {
            return tracing::warn!(
                error = %causes(&error),
                "claiming webhook deliveries failed; retrying"
            );
        }
        Progress::Claimed(_) => return,
    };
    metrics::counter!("sms_webhook_attempts_total", "outcome" => outcome).increment(1);
}
