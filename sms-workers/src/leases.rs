//! The loop that keeps what this program has in hand: it renews the leases of messages that are
//! being submitted, and records outcomes that the store missed.

use std::time::Duration;

use sms_core::Sms;
use sms_core::error::causes;
use tokio::time::{MissedTickBehavior, interval, sleep};

use crate::carrying::counted;
use crate::stopping::Stopping;

/// How many times a lease is renewed within its length.
const RENEWALS: u32 = 3;
/// How often outcomes are recorded that the store missed.
const RECORD_EVERY: Duration = Duration::from_secs(1);

pub(crate) async fn run(sms: Sms, mut stopping: Stopping) {
    // Side by side: a store that takes its time to record must not keep leases from renewal.
    tokio::select! {
        () = renew(&sms) => {}
        () = record(&sms) => {}
        () = stopping.requested() => {}
    }
}

async fn renew(sms: &Sms) {
    let mut ticks = interval(sms.lease_length() / RENEWALS);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        if let Err(error) = sms.renew_leases().await {
            tracing::warn!(error = %causes(&error), "leases could not be renewed");
        }
    }
}

/// Not left to the loops that hand over: while all of them wait for room in a route, outcomes that
/// are not recorded may hold it.
async fn record(sms: &Sms) {
    loop {
        sleep(RECORD_EVERY).await;
        if let (_, Err(error)) = counted(sms.record_kept().await) {
            tracing::warn!(error = %causes(&error), "outcomes could not be recorded");
        }
    }
}
