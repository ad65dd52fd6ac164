//! The command line of the server: settings and an optional command.

use clap::Parser;

use super::command::Command;
use super::settings::Settings;

/// The reference server of the SMS platform.
///
/// Serves the API unless a command is given. Every setting can be given as a flag or as an
/// environment variable; the flag takes precedence. Missing or invalid settings are reported at
/// startup, by variable name.
#[derive(Debug, Parser)]
#[command(name = "sms-server", version, about, long_about, max_term_width = 100)]
pub struct Cli {
    /// The settings of the server.
    #[command(flatten)]
    pub settings: Settings,
    /// What to do instead of serving.
    #[command(subcommand)]
    pub command: Option<Command>,
}
