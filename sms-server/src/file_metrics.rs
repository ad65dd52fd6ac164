//! Metrics of the file store: how large its files are, and what writing the log back takes.

use std::time::Duration;

use sms_store_sqlite::SqliteStore;

use crate::backing::Stopping;

/// How often they are read.
const EVERY: Duration = Duration::from_secs(2);

/// Keeps the metrics up to date until the server stops.
pub async fn keep(store: SqliteStore, mut stopping: Stopping) {
    loop {
        update(&store);
        tokio::select! {
            () = tokio::time::sleep(EVERY) => {}
            _ = stopping.changed() => return,
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a metric of 2^53 bytes may be one byte off")]
fn update(store: &SqliteStore) {
    // If the sizes cannot be read, neither can the data, and every request says so.
    if let Ok(sizes) = store.file_sizes() {
        metrics::gauge!("sms_store_file_bytes").set(sizes.file as f64);
        metrics::gauge!("sms_store_log_bytes").set(sizes.log as f64);
    }
    let checkpoints = store.checkpoints();
    metrics::counter!("sms_store_checkpoints_total").absolute(checkpoints.count);
    metrics::gauge!("sms_store_checkpoint_seconds_total").set(checkpoints.took.as_secs_f64());
}
