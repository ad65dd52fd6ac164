//! `sms`: the command line of the SMS platform's customers.

mod campaigns;
mod cli;
mod completions;
mod confirm;
mod contacts;
mod context;
mod failure;
mod file_args;
mod import;
mod inbound;
mod listen;
mod lists;
mod login;
mod messages;
mod opt_out_import;
mod opt_outs;
mod output;
mod private_file;
mod profile;
mod progress;
mod secret_input;
mod send;
mod send_args;
mod style;
mod tail;
mod webhooks;

use std::process::ExitCode;

use clap::Parser as _;

use crate::cli::Cli;
use crate::context::Context;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let Cli { global, command } = Cli::parse();
    let context = Context::new(global);
    match command.run(&context).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.report(context.form);
            failure.exit_code()
        }
    }
}
