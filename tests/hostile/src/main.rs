//! Attacks a real server, and measures what other customers see before, during and after.
//!
//! `scripts/hostile` builds the server and runs every attack on both stores. Each attack is
//! bounded, talks to loopback only, and stops by itself.

mod attack;
mod client;
mod failed;
mod receiver;
mod report;
mod run;
mod server;
mod site;
mod storm;
mod usage;
mod witness;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};
use sms_server::cli::Cli;
use sms_server::run as serve;

use attack::Kind;
use failed::Failed;
use run::run;
use server::StoreKind;

/// Attacks a server and prints what other customers saw.
#[derive(Debug, Parser)]
struct Arguments {
    /// The server to attack; by default this program serves, as it was built
    #[arg(long)]
    server: Option<PathBuf>,
    /// The attacks; all by default
    #[arg(long, value_enum, value_delimiter = ',')]
    attack: Vec<Kind>,
    /// The stores
    #[arg(long, value_enum, value_delimiter = ',', default_values = ["memory", "postgres"])]
    store: Vec<StoreKind>,
    /// Seconds to watch before and after each attack
    #[arg(long, default_value_t = 5)]
    quiet: u64,
    /// Seconds that each attack lasts; by default each has its own
    #[arg(long)]
    lasts: Option<u64>,
    /// How large the attackers' lists and exports are, in rows
    #[arg(long, default_value_t = 20_000)]
    rows: usize,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Clone, Copy, Subcommand)]
enum Command {
    /// Serves; started by this program itself
    #[command(hide = true)]
    Serve,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let Arguments { server, attack, store, quiet, lasts, rows, command } = arguments;
    let attacks = if attack.is_empty() { Kind::all() } else { attack };
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&error.into()),
    };
    if let Some(Command::Serve) = command {
        return runtime.block_on(be_attacked());
    }
    let plan = run::Plan {
        server,
        quiet: Duration::from_secs(quiet),
        lasts: lasts.map(Duration::from_secs),
        rows,
    };
    match runtime.block_on(run(&plan, &attacks, &store)) {
        Ok(report::Verdict::Held) => ExitCode::SUCCESS,
        Ok(report::Verdict::GaveWay) => ExitCode::FAILURE,
        Err(error) => failed(&error),
    }
}

/// Serves as `sms-server` does, with the settings of the environment, until it is killed.
async fn be_attacked() -> ExitCode {
    let settings = match Cli::try_parse_from(["sms-server"]) {
        Ok(cli) => cli.settings,
        Err(error) => return failed(&Failed::Settings(error)),
    };
    match serve(settings, std::future::pending()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hostile: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The rig itself failed, so the run proves nothing.
fn failed(error: &Failed) -> ExitCode {
    eprintln!("hostile: {error}");
    ExitCode::from(2)
}
