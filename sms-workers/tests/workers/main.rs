//! Workers over the memory store: every loop does its work, and all of them stop in order.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod events;
mod leases;
mod network;
mod service;
mod slow_network;
mod stopping;

use std::time::Duration;

/// More than any test's workers need.
const TIME_TO_STOP: Duration = Duration::from_secs(30);

/// Looks again and again until there is what is looked for, within a minute.
async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let looking = async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let found = tokio::time::timeout(Duration::from_mins(1), looking).await;
    found.unwrap_or_else(|_| panic!("waited in vain for {what}"))
}
