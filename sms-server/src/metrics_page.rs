//! Collects the metrics of the whole program, for `/metrics`.

use std::time::Duration;

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder};

use crate::app::{MetricsPage, MetricsReaders};
use crate::backing::Stopping;
use crate::settings::Settings;
use crate::start_failed::StartFailed;

/// How often new measurements are folded into their histograms.
const UPKEEP_EVERY: Duration = Duration::from_secs(5);

/// The histogram of how long SMSCs take to answer, and its buckets in seconds: from an SMSC in the
/// same network to the default of `PATIENCE`.
const ANSWER_SECONDS: &str = "sms_smpp_answer_seconds";
const ANSWER_BUCKETS: [f64; 12] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0];

/// Collects what is measured from here on.
///
/// # Errors
///
/// If the program collects metrics already.
pub fn install(settings: &Settings) -> Result<MetricsPage, StartFailed> {
    let answers = Matcher::Full(ANSWER_SECONDS.to_owned());
    let recorder = PrometheusBuilder::new()
        .set_buckets_for_metric(answers, &ANSWER_BUCKETS)
        .map_err(|_| StartFailed::Metrics)?
        .build_recorder();
    let handle = recorder.handle();
    metrics::set_global_recorder(recorder).map_err(|_| StartFailed::Metrics)?;
    let public_readers =
        if settings.metrics_public { MetricsReaders::Anyone } else { MetricsReaders::Operator };
    Ok(MetricsPage { handle, public_readers })
}

/// Folds new measurements into their histograms. Otherwise they pile up until a read of `/metrics`.
pub async fn keep_small(metrics: MetricsPage, mut stopping: Stopping) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(UPKEEP_EVERY) => metrics.handle.run_upkeep(),
            _ = stopping.changed() => return,
        }
    }
}
