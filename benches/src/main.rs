//! `cargo run --release -p sms-bench -- postgres`: ours beside the limits beneath, measured in one
//! run on one machine, each with its ratio.

#![expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts and seconds of measurements are far below what f64 tells apart"
)]

use std::net::SocketAddr;
use std::time::Duration;

use clap::{Parser, Subcommand};
use sms_test_postgres::{Durability, Server as Postgres};

mod dispatch;
mod drive;
mod limit;
mod page;
mod send;
mod server;
mod stock;
mod table;
mod usage;

/// As the server has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Why a measurement ended early.
pub(crate) type Failed = Box<dyn std::error::Error + Send + Sync>;

#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Measures the PostgreSQL store on a server of its own, everything it commits on disk.
    Postgres {
        /// Seconds of each measurement
        #[arg(long, default_value_t = 5)]
        seconds: u64,
        /// Texts of the account whose pages are measured
        #[arg(long, default_value_t = 1_000_000)]
        texts: usize,
        /// Only the measurements of these names: singles, end-to-end, bulk, dispatch, pages
        #[arg(long, value_delimiter = ',')]
        only: Vec<String>,
    },
    /// Serves, for a measurement.
    #[command(hide = true)]
    Serve,
}

#[tokio::main]
async fn main() -> Result<(), Failed> {
    match Cli::parse().command {
        Command::Serve => server::serve().await,
        Command::Postgres { seconds, texts, only } => {
            measure_postgres(Duration::from_secs(seconds), texts, &only).await
        }
    }
}

async fn measure_postgres(during: Duration, texts: usize, only: &[String]) -> Result<(), Failed> {
    let wanted = |name: &str| only.is_empty() || only.iter().any(|one| one == name);
    let postgres = Postgres::start(Durability::Full);
    println!(
        "{} cores, {}",
        std::thread::available_parallelism()?,
        limit::version(&postgres).await?
    );
    table::print_head();
    if wanted("singles") || wanted("end-to-end") {
        let limit = limit::one_row_commits(&postgres, 16, during).await?;
        if wanted("singles") {
            send::singles(&postgres, &limit, during).await?;
        }
        if wanted("end-to-end") {
            send::end_to_end(&postgres, &limit, during).await?;
        }
    }
    if wanted("bulk") {
        send::bulk(&postgres, during).await?;
    }
    if wanted("dispatch") {
        dispatch::claims_and_outcomes(&postgres).await?;
    }
    if wanted("pages") {
        page::pages(&postgres, texts).await?;
    }
    Ok(())
}

pub(crate) fn loopback(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}
