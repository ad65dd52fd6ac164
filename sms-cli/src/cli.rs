//! The commands.

use clap::{CommandFactory as _, Parser, Subcommand};

use crate::context::{Context, Global};
use crate::failure::Failure;
use crate::{campaigns, completions, contacts, inbound, listen, lists, login, messages, opt_outs};
use crate::{send, tail, webhooks};

/// What follows the list of commands in `sms --help`.
const EXAMPLES: &str = "\
Examples:
  sms login --url https://sms.example.com
  sms send 07700900123 --body 'Your table is ready'
  sms listen --forward-to http://localhost:3000/hooks
  sms contacts import people.csv --list lst_…
  sms messages list --status failed --json

Exit codes:
  0 done   1 failed   2 wrong usage   3 no valid key   4 refused   5 not enough credit
  6 not confirmed   7 no answer from the server   8 done in part

Environment:
  SMS_API_KEY and SMS_API_URL override the profile; SMS_API_KEY_FILE names a file with the key.
  NO_COLOR turns colours off.";

/// Send and receive SMS from the command line.
#[derive(Debug, Parser)]
#[command(name = "sms", version, about, max_term_width = 100, after_help = EXAMPLES)]
#[command(arg_required_else_help = true, propagate_version = false)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Save a key, once the server has accepted it
    Login(login::Login),
    /// Delete a saved key
    Logout(login::Logout),
    /// Show which server and key are used, and the balance
    Status(login::Status),
    /// Send messages to numbers, contacts or a list
    Send(send::Send),
    /// Show what a send would cost
    Quote(send::Quote),
    /// Read, cancel and export messages
    #[command(subcommand)]
    Messages(messages::Messages),
    /// Show events as they happen
    Tail(tail::Tail),
    /// Deliver events to a program on this machine, signed as webhooks are
    Listen(listen::Listen),
    /// Read and import contacts
    #[command(subcommand)]
    Contacts(contacts::Contacts),
    /// Show, create, fill and delete lists
    #[command(subcommand)]
    Lists(lists::Lists),
    /// Send one text to a whole list
    #[command(subcommand)]
    Campaigns(campaigns::Campaigns),
    /// Endpoints that receive events
    #[command(subcommand)]
    Webhooks(webhooks::Webhooks),
    /// Simulate inbound messages, as the operator
    #[command(subcommand)]
    Inbound(inbound::Inbound),
    /// Numbers that must not get messages
    #[command(subcommand)]
    OptOuts(opt_outs::OptOuts),
    /// Print the completions of a shell
    Completions(completions::Completions),
}

impl Command {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        match self {
            Self::Login(command) => command.run(context).await,
            Self::Logout(command) => command.run(context),
            Self::Status(command) => command.run(context).await,
            Self::Send(command) => command.run(context).await,
            Self::Quote(command) => command.run(context).await,
            Self::Messages(command) => command.run(context).await,
            Self::Tail(command) => command.run(context).await,
            Self::Listen(command) => command.run(context).await,
            Self::Contacts(command) => command.run(context).await,
            Self::Lists(command) => command.run(context).await,
            Self::Campaigns(command) => command.run(context).await,
            Self::Webhooks(command) => command.run(context).await,
            Self::Inbound(command) => command.run(context).await,
            Self::OptOuts(command) => command.run(context).await,
            Self::Completions(command) => command.run(&mut Cli::command()),
        }
    }
}
