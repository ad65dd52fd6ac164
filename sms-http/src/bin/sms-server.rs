//! The reference server: reads settings, and runs what they say.

use std::process::ExitCode;

use clap::Parser;
use sms_http::server::settings::{Cli, LogFormat, Settings};
use sms_http::server::{command, run};
use tracing_subscriber::EnvFilter;

fn main() -> ExitCode {
    let Cli { settings, command } = Cli::parse();
    start_logging(&settings);
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("sms-server: the runtime could not be started: {error}");
            return ExitCode::FAILURE;
        }
    };
    let result = runtime.block_on(async {
        match command {
            Some(command) => command::run(command, &settings).await.map_err(|e| e.to_string()),
            None => run(settings, stop_signal()).await.map_err(|error| error.to_string()),
        }
    });
    // Nothing that is still running may hold up the exit.
    runtime.shutdown_background();
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("sms-server: {message}");
            ExitCode::FAILURE
        }
    }
}

fn start_logging(settings: &Settings) {
    let filter = EnvFilter::try_new(&settings.log).unwrap_or_else(|_| EnvFilter::new("info"));
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match settings.log_format {
        LogFormat::Text => builder.init(),
        LogFormat::Json => builder.json().init(),
    }
}

/// Resolves on SIGTERM or SIGINT.
async fn stop_signal() {
    use tokio::signal::unix::{SignalKind, signal};
    let interrupt = tokio::signal::ctrl_c();
    match signal(SignalKind::terminate()) {
        Ok(mut terminate) => {
            tokio::select! {
                _ = interrupt => {}
                _ = terminate.recv() => {}
            }
        }
        Err(error) => {
            tracing::warn!(%error, "SIGTERM cannot be listened for");
            let _ = interrupt.await;
        }
    }
}
