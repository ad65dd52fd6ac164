//! `sms completions`: what shells complete.

use clap::{Args, Command};
use clap_complete::Shell;

use crate::failure::Failure;
use crate::output::say;

/// Print the completions of a shell.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  sms completions bash > ~/.local/share/bash-completion/completions/sms
  sms completions zsh > ~/.zfunc/_sms
  sms completions fish > ~/.config/fish/completions/sms.fish")]
pub(crate) struct Completions {
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self, sms: &mut Command) -> Result<(), Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, sms, "sms", &mut script);
        say(String::from_utf8_lossy(&script).trim_end())
    }
}
