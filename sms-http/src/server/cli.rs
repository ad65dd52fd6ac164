//! The command line of the server: its settings, and the command if there is one.

use clap::Parser;

use super::command::Command;
use super::settings::Settings;

/// The reference server of the SMS platform.
///
/// Without a command it serves the API. Every setting is an environment variable and a flag of the
/// same name; the flag wins.
#[derive(Debug, Parser)]
#[command(name = "sms-server", version, about, long_about, max_term_width = 100)]
pub struct Cli {
    /// How the server is set up.
    #[command(flatten)]
    pub settings: Settings,
    /// Something else to do than to serve.
    #[command(subcommand)]
    pub command: Option<Command>,
}
