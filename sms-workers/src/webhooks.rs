//! The loop that attempts due webhook deliveries, many side by side.

use sms_core::Error;
use sms_core::error::causes;
use sms_core::service::Work;
use sms_core::service::webhook::Attempted;
use sms_webhooks::{Courier, SlotLimits};

use crate::worker::Worker;

pub(crate) async fn run(mut worker: Worker, limits: SlotLimits) {
    let mut courier = Courier::with_limits(worker.sms.clone(), limits);
    while !worker.is_stopping() {
        if let Err(error) = courier.fill().await {
            worker.failed("claiming webhook deliveries", &error).await;
        }
        tokio::select! {
            attempted = courier.next_done() => count(&attempted),
            () = worker.rest(Work::Webhooks) => {}
        }
    }
    // Attempts under way end within an endpoint's timeout.
    while courier.under_way() > 0 {
        count(&courier.next_done().await);
    }
}

fn count(attempted: &Result<Attempted, Error>) {
    let outcome = match attempted {
        Ok(Attempted::Delivered) => "delivered",
        Ok(Attempted::Failed) => "failed",
        Ok(Attempted::LeaseLost) => "lease_lost",
        Err(error) => {
            tracing::warn!(error = %causes(error), "a webhook attempt could not be recorded");
            "unrecorded"
        }
    };
    metrics::counter!("sms_webhook_attempts_total", "outcome" => outcome).increment(1);
}
