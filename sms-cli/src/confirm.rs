//! Asking before something costs credits.

use std::io::{self, IsTerminal as _, Write as _};

use clap::Args;

use crate::failure::Failure;
use crate::style::fit;

/// Whether to ask before something costs credits.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Confirm {
    /// Do not ask, whatever it costs
    #[arg(long, short)]
    pub yes: bool,
}

/// Asks on a terminal. Without a terminal there is no answer, and nothing is done.
pub(crate) fn ask(question: &str) -> Result<(), Failure> {
    if !io::stdin().is_terminal() {
        return Err(Failure::NeedsYes(question.trim_end_matches('?').to_owned()));
    }
    let mut err = anstream::stderr();
    write!(err, "{} [y/N] ", fit(question))?;
    err.flush()?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    match answer.trim().to_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(Failure::Declined),
    }
}
