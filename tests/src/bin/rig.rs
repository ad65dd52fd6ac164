//! Runs real servers on a real PostgreSQL under load and faults, and audits the results.
//!
//! `cargo run --release -p sms-tests --bin rig -- --rounds 100`. It also works without `--release`,
//! at a lower `--rate`.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use sms_tests::rig::{
    Report, RigFailed, campaign, cut_off, disk_full, drill, replica, sleeper, window,
};

/// Kills, stops, restarts and disconnects servers and their database, and audits the results.
#[derive(Debug, Parser)]
#[command(args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(flatten)]
    campaign: campaign::Settings,
    #[command(subcommand)]
    scenario: Option<Scenario>,
}

#[derive(Debug, Subcommand)]
enum Scenario {
    /// Stops a server for longer than its lease while it holds messages
    Sleeper(sleeper::Settings),
    /// Makes clients hang up on their requests at random moments
    CutOff(cut_off::Settings),
    /// Fills the disks of the database
    DiskFull(disk_full::Settings),
    /// Kills the primary of a replicated database under load and promotes the standby
    Drill(drill::Settings),
    /// Kills a server that submits to an SMSC, and counts what arrives twice
    Window(window::Settings),
    /// One server; started by the rig
    #[command(hide = true)]
    Replica(Box<replica::Arguments>),
    /// One server without a route of the rig; started by the rig
    #[command(hide = true)]
    Server(Box<window::Arguments>),
}

fn main() -> ExitCode {
    let Arguments { campaign, scenario } = Arguments::parse();
    let scenario = match scenario {
        Some(Scenario::Replica(arguments)) => return replica::serve(*arguments),
        Some(Scenario::Server(arguments)) => return window::serve(*arguments),
        other => other,
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&RigFailed::Io(error)),
    };
    let result = runtime.block_on(async {
        match &scenario {
            Some(Scenario::Sleeper(settings)) => sleeper::run(settings).await,
            Some(Scenario::CutOff(settings)) => cut_off::run(settings).await,
            Some(Scenario::DiskFull(settings)) => disk_full::run(settings).await,
            Some(Scenario::Drill(settings)) => drill::run(settings).await,
            Some(Scenario::Window(settings)) => window::run_rounds(settings).await,
            Some(Scenario::Replica(_) | Scenario::Server(_)) | None => {
                campaign::run(&campaign).await
            }
        }
    });
    match result {
        Ok(report) => tell(&report),
        Err(error) => failed(&error),
    }
}

fn tell(report: &Report) -> ExitCode {
    print!("{report}");
    if report.violations.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The rig itself failed, so the run proves nothing.
fn failed(error: &RigFailed) -> ExitCode {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}"));
    eprintln!("rig: {error}{}", cause.unwrap_or_default());
    ExitCode::from(2)
}
