//! The loop that runs one route.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use sms_core::route::{Route, RouteSink};
use tokio::time::timeout;

use crate::stopping::Stopping;

/// How much of the time to stop is left for recording outcomes once a route is closed: this, or a
/// quarter if that is less.
const TO_RECORD: Duration = Duration::from_secs(2);

/// Runs a route until the workers stop, and on until it is closed: closing answers what is under
/// way, and takes in what the network brings meanwhile.
pub(crate) async fn run(route: Arc<dyn Route>, sink: Arc<dyn RouteSink>, mut stopping: Stopping) {
    let running = async {
        route.run(sink).await;
        // A route whose `run` returns has nothing to do between hand-overs; it is closed all the
        // same.
        pending::<()>().await;
    };
    let closed = async {
        stopping.requested().await;
        let left = stopping.time_left();
        timeout(left.saturating_sub(TO_RECORD.min(left / 4)), route.close()).await
    };
    let in_time = tokio::select! {
        () = running => Ok(()),
        in_time = closed => in_time,
    };
    if in_time.is_err() {
        tracing::warn!(route = route.name().as_str(), "the route did not close in time");
    }
}
