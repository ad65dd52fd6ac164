//! The command line of the server: settings and an optional command.

use clap::Parser;

use crate::command::Command;
use crate::secrets::HELP;
use crate::settings::Settings;

/// The reference server of the SMS platform.
///
/// Serves the API unless a command is given. Every setting but the secrets can be given as a flag
/// or as an environment variable; the flag takes precedence. Everything that is wrong with the
/// settings is reported at startup, by the name of the flag or the variable.
#[derive(Debug, Parser)]
#[command(name = "sms-server", version, about, long_about, max_term_width = 100)]
#[command(after_help = HELP)]
pub struct Cli {
    /// The settings of the server.
    #[command(flatten)]
    pub settings: Settings,
    /// What to do instead of serving.
    #[command(subcommand)]
    pub command: Option<Command>,
}
