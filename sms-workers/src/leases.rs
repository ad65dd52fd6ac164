//! The loop that renews the leases of messages that are being submitted.

use sms_core::Sms;
use sms_core::error::causes;
use tokio::time::{MissedTickBehavior, interval};

use crate::stopping::Stopping;

/// How many times a lease is renewed within its length.
const RENEWALS: u32 = 3;

pub(crate) async fn run(sms: Sms, mut stopping: Stopping) {
    let mut ticks = interval(sms.lease_length() / RENEWALS);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = stopping.requested() => return,
        }
        if let Err(error) = sms.renew_leases().await {
            tracing::warn!(error = %causes(&error), "leases could not be renewed");
        }
    }
}
