//! One server of the rig in a separate process: `sms-server` with the rig's route.

use std::io::Read;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use sms_server::settings::Settings;
use sms_server::{Additions, logging, run_with};
use tokio::signal::unix::{SignalKind, signal};

use super::carrier::Carrier;

/// Arguments of a server that the rig starts.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The file that records hand-overs
    #[arg(long)]
    handed: PathBuf,
    /// A file that must exist before the route answers
    #[arg(long)]
    hold: Option<PathBuf>,
    /// Length of leases, in milliseconds
    #[arg(long)]
    lease: u64,
    #[command(flatten)]
    settings: Settings,
}

/// Serves until SIGTERM, or until the rig is gone.
pub fn serve(arguments: Arguments) -> ExitCode {
    let Arguments { handed, hold, lease, settings } = arguments;
    logging::start(&settings.log, settings.log_format);
    end_with_the_rig();
    let served = async {
        let route = Carrier::new(&handed, hold).map_err(|error| error.to_string())?;
        let lease = Some(Duration::from_millis(lease));
        let additions = Additions { routes: vec![Arc::new(route)], lease, attempt_lease: lease };
        let mut terminate = signal(SignalKind::terminate()).map_err(|error| error.to_string())?;
        let stop = async move {
            terminate.recv().await;
        };
        run_with(settings, additions, stop).await.map_err(|error| error.to_string())
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let result = match runtime {
        Ok(runtime) => runtime.block_on(served),
        Err(error) => Err(error.to_string()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("replica: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Waits for the end of standard input, whose other end the rig holds while it runs.
pub(super) fn end_with_the_rig() {
    std::thread::spawn(|| {
        let mut rest = Vec::new();
        let _ = std::io::stdin().read_to_end(&mut rest);
        std::process::exit(1);
    });
}
