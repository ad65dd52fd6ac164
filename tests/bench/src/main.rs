//! `cargo run --release -p sms-bench`: ours beside the limits beneath, measured in one
//! run on one machine, each with its ratio.

#![expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts and seconds of measurements are far below what f64 tells apart"
)]

use std::net::SocketAddr;
use std::time::Duration;

use clap::{Parser, Subcommand, ValueEnum};
use sms_test_postgres::{Durability, Server as Postgres};

mod bare;
mod campaign;
mod dispatch;
mod drive;
mod failed;
mod folder;
mod growth;
mod keyed;
mod lanes;
mod life;
mod limit;
mod memory;
mod numbers;
mod page;
mod parts;
mod planning;
mod search;
mod send;
mod server;
mod smsc;
mod stock;
mod table;
mod taker;
mod turns;
mod usage;
mod webhook;

pub(crate) use failed::Failed;

use drive::Keys;

/// As the server has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    child: Option<Child>,
    /// Seconds of each measurement
    #[arg(long, default_value_t = 5)]
    seconds: u64,
    /// Messages of the account whose pages, and among whose messages other work, are measured
    #[arg(long, default_value_t = 1_000_000)]
    messages: usize,
    /// Contacts of the campaign
    #[arg(long, default_value_t = 1_000_000)]
    contacts: usize,
    /// Servers over one database, where several are measured
    #[arg(long, default_value_t = 1)]
    servers: usize,
    /// Only the measurements of these names
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Name>,
}

/// What can be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Name {
    Parts,
    Numbers,
    Planning,
    HttpMemory,
    Singles,
    Keyed,
    Mixed,
    EndToEnd,
    Bulk,
    Dispatch,
    Pages,
    Webhooks,
    Campaign,
    Growth,
    Search,
    Life,
    Lanes,
}

/// What this program is when it runs itself again.
#[derive(Subcommand)]
enum Child {
    #[command(hide = true)]
    Serve,
    #[command(hide = true)]
    Bare { addr: SocketAddr, answer_bytes: usize },
    #[command(hide = true)]
    CampaignAlone {
        #[arg(long)]
        contacts: usize,
        /// The address of a database or the path of a file
        place: Option<String>,
    },
}

#[tokio::main]
async fn main() -> Result<(), Failed> {
    let cli = Cli::parse();
    match cli.child {
        Some(Child::Serve) => server::serve().await,
        Some(Child::Bare { addr, answer_bytes }) => bare::serve(addr, answer_bytes).await,
        Some(Child::CampaignAlone { contacts, place }) => campaign::alone(place, contacts).await,
        None => measure(&cli).await,
    }
}

async fn measure(cli: &Cli) -> Result<(), Failed> {
    let wanted = |name| cli.only.is_empty() || cli.only.contains(&name);
    let during = Duration::from_secs(cli.seconds);
    let postgres = Postgres::start(Durability::Full);
    println!(
        "{} cores, {}",
        std::thread::available_parallelism()?,
        limit::version(&postgres).await?
    );
    table::print_head();
    if wanted(Name::Parts) {
        parts::parts(during);
    }
    if wanted(Name::Numbers) {
        numbers::numbers(during);
    }
    if wanted(Name::Planning) {
        planning::planning(during)?;
    }
    if wanted(Name::HttpMemory) {
        memory::singles_and_bulk(during * 2).await?;
    }
    if wanted(Name::Singles) || wanted(Name::EndToEnd) {
        let limit = limit::one_row_commits(&postgres, 16, during).await?;
        if wanted(Name::Singles) {
            send::singles(&postgres, &limit, during).await?;
        }
        if wanted(Name::EndToEnd) {
            send::end_to_end(&postgres, &limit, during).await?;
        }
    }
    for (name, keys) in [(Name::Keyed, Keys::Each), (Name::Mixed, Keys::OneInTen)] {
        if wanted(name) {
            keyed::beside_keyless(&postgres, keys, during * 2).await?;
        }
    }
    if wanted(Name::Bulk) {
        send::bulk(&postgres, during).await?;
    }
    if wanted(Name::Dispatch) {
        dispatch::claims_and_outcomes(&postgres).await?;
    }
    if wanted(Name::Pages) {
        page::pages(&postgres, cli.messages).await?;
    }
    if wanted(Name::Webhooks) {
        webhook::deliveries(&postgres).await?;
    }
    if wanted(Name::Campaign) {
        campaign::each_store(&postgres, cli.contacts).await?;
    }
    if wanted(Name::Growth) {
        growth::growth(&postgres, cli.messages, during / 2).await?;
    }
    if cli.only.contains(&Name::Search) {
        search::search(&postgres, cli.messages.min(search::MOST)).await?;
    }
    if cli.only.contains(&Name::Life) {
        life::life(&postgres, cli.messages).await?;
    }
    if cli.only.contains(&Name::Lanes) {
        lanes::lanes(&postgres, cli.servers, during).await?;
    }
    Ok(())
}
