//! The commands of the server binary. Those on accounts, keys, credits, numbers and senders call
//! the operator API of a running server, so they do exactly what it does, with any store. The
//! others work on the stored data themselves ([`crate::data_command`]).

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use reqwest::Method;
use serde_json::{Value, json};
use sms_core::text::{shown, shown_json};

use crate::data_command::{self, DataCommand};
use crate::operator_client::{CommandFailed, OperatorClient};
use crate::secrets::Hidden;
use crate::settings::{Keeping, Settings};

/// What to do instead of serving.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Create, list, approve and suspend accounts
    #[command(subcommand)]
    Account(AccountCommand),
    /// Create, list and revoke API keys
    #[command(subcommand)]
    Key(KeyCommand),
    /// Adjust an account's balance, or list its ledger
    #[command(subcommand)]
    Credits(CreditsCommand),
    /// Add, list and remove numbers
    #[command(subcommand)]
    Number(NumberCommand),
    /// Review sender names: list, approve and reject them
    #[command(subcommand)]
    Sender(SenderCommand),
    /// Show the state of each route and its connections
    Routes {
        #[command(flatten)]
        target: Target,
    },
    /// Show or advance the clock of a sandbox
    #[command(subcommand)]
    Clock(ClockCommand),
    /// Apply the pending migrations to DATABASE_URL, then exit
    Migrate,
    /// Copy the data in SMS_DATA_DIR to a new file, even while a server uses it
    Backup {
        /// The file to write; it must not exist
        file: PathBuf,
    },
    /// Put a backup into SMS_DATA_DIR, which must not hold data
    Restore {
        /// The backup
        file: PathBuf,
    },
    /// Copy everything from one store to another, verify it, and continue if it was interrupted
    ///
    /// Stop all servers on both stores first. The target must be empty, or hold the beginning of
    /// the same copy. A server does not open a target before its copy is complete and verified.
    /// Copy the admin-token file too if you set no SMS_ADMIN_TOKEN, and keep SMS_SECRET_KEY.
    Copy {
        /// What to copy: sqlite:PATH (a file or a data folder) or postgres://... without a password
        /// [default: SMS_COPY_FROM or the content of SMS_COPY_FROM_FILE, which may have one]
        #[arg(long, value_name = "ADDRESS")]
        from: Option<Hidden>,
        /// Where to: sqlite:PATH or postgres://... without a password [default: SMS_COPY_TO or the
        /// content of SMS_COPY_TO_FILE, which may have one]
        #[arg(long, value_name = "ADDRESS")]
        to: Option<Hidden>,
    },
    /// Check the data in SMS_DATA_DIR: damaged pages, and balances, refunds and counts
    Check,
}

/// The server that a command calls.
#[derive(Debug, Args)]
pub struct Target {
    /// Base URL of the running server [default: http://SMS_ADMIN_ADDR or http://SMS_ADDR]
    #[arg(long, env = "SMS_SERVER")]
    server: Option<String>,
}

/// Commands about accounts.
#[derive(Debug, Subcommand)]
pub enum AccountCommand {
    /// Create an account
    Create {
        /// Name of the account
        #[arg(long)]
        name: String,
        /// Whether the account may send
        #[arg(long, default_value = "pending")]
        status: Status,
        /// Opening balance in credits
        #[arg(long, default_value_t = 0)]
        credits: u64,
        #[command(flatten)]
        target: Target,
    },
    /// List accounts, newest first
    List {
        #[command(flatten)]
        target: Target,
    },
    /// Approve an account, so that it may send
    Approve {
        /// The account's id
        id: String,
        #[command(flatten)]
        target: Target,
    },
    /// Suspend an account, so that it may not send
    Suspend {
        /// The account's id
        id: String,
        #[command(flatten)]
        target: Target,
    },
}

/// Commands about keys.
#[derive(Debug, Subcommand)]
pub enum KeyCommand {
    /// Create a key, and print it; it cannot be shown again
    Create {
        /// The account's id
        account: String,
        /// Whether the key sends real messages
        #[arg(long, default_value = "test")]
        kind: Kind,
        /// What the key is for
        #[arg(long)]
        name: Option<String>,
        #[command(flatten)]
        target: Target,
    },
    /// List an account's keys
    List {
        /// The account's id
        account: String,
        #[command(flatten)]
        target: Target,
    },
    /// Revoke a key
    Revoke {
        /// The account's id
        account: String,
        /// The key's id
        key: String,
        #[command(flatten)]
        target: Target,
    },
}

/// Commands about credits.
#[derive(Debug, Subcommand)]
pub enum CreditsCommand {
    /// Add credits; a negative amount takes credits back
    Add {
        /// The account's id
        account: String,
        /// Credits to add; negative to take back
        #[arg(allow_negative_numbers = true)]
        amount: i64,
        /// Reason, kept in the ledger
        #[arg(long)]
        note: Option<String>,
        #[command(flatten)]
        target: Target,
    },
    /// List an account's ledger, newest entry first
    Ledger {
        /// The account's id
        account: String,
        #[command(flatten)]
        target: Target,
    },
}

/// Commands about numbers.
#[derive(Debug, Subcommand)]
pub enum NumberCommand {
    /// Add a number: dedicated to --account if given, else shared
    Add {
        /// Phone number in any common format
        phone_number: String,
        /// Id of the account that rents the number
        #[arg(long)]
        account: Option<String>,
        /// Route that carries the number's messages [default: the first of SMS_ROUTES]
        #[arg(long)]
        route: Option<String>,
        /// Rent in credits, taken every 30 days
        #[arg(long, default_value_t = 0)]
        rental_credits: u64,
        /// Also add a number that another account released less than 30 days ago
        #[arg(long)]
        force: bool,
        #[command(flatten)]
        target: Target,
    },
    /// List numbers, newest first
    List {
        #[command(flatten)]
        target: Target,
    },
    /// Remove a number
    Remove {
        /// The number's id
        id: String,
        #[command(flatten)]
        target: Target,
    },
    /// Check in for a number's gateway: the number is online for five minutes
    CheckIn {
        /// The number's id
        id: String,
        #[command(flatten)]
        target: Target,
    },
}

/// Commands about sender names.
#[derive(Debug, Subcommand)]
pub enum SenderCommand {
    /// List the sender names of all accounts, newest first
    List {
        /// Only names with this status
        #[arg(long)]
        status: Option<Review>,
        #[command(flatten)]
        target: Target,
    },
    /// Approve a sender name
    Approve {
        /// The sender name's id
        id: String,
        /// Reason, shown to the account
        #[arg(long)]
        reason: Option<String>,
        #[command(flatten)]
        target: Target,
    },
    /// Reject a sender name, or withdraw its approval
    Reject {
        /// The sender name's id
        id: String,
        /// Reason, shown to the account
        #[arg(long)]
        reason: Option<String>,
        #[command(flatten)]
        target: Target,
    },
}

/// Commands about the clock of a sandbox.
#[derive(Debug, Subcommand)]
pub enum ClockCommand {
    /// Show the time, and how far the clock was advanced
    Show {
        #[command(flatten)]
        target: Target,
    },
    /// Advance the clock, doing everything that falls due on the way, and wait for that
    Advance {
        /// Seconds to advance, 1 to 34560000
        seconds: u64,
        #[command(flatten)]
        target: Target,
    },
}

/// The status of a sender name.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Review {
    /// Waiting for review.
    Pending,
    /// May be used.
    Approved,
    /// May not be used.
    Rejected,
}

/// Whether an account may send.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Status {
    /// May send.
    Active,
    /// Waits for approval.
    Pending,
    /// May not send.
    Suspended,
}

/// What a key sends.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Kind {
    /// Real messages, which cost credits.
    Live,
    /// Simulated messages, free of charge.
    Test,
}

/// How long a command waits for the server's answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long it waits while the clock advances: webhooks that fall due are delivered on real time.
const LONGEST_MOVE: Duration = Duration::from_mins(10);

/// A request to the operator API.
struct Call {
    method: Method,
    path: String,
    body: Option<Value>,
    server: Option<String>,
    /// How long to wait for the answer.
    patience: Duration,
}

/// What a command comes to.
enum Work {
    Ask(Call),
    Do(DataCommand),
}

/// Runs a command. Prints the answer of a server as JSON.
pub async fn run(command: Command, settings: &Settings) -> Result<(), CommandFailed> {
    let call = match work_of(command) {
        Work::Ask(call) => call,
        Work::Do(command) => {
            println!("{}", shown(&data_command::run(command, settings).await?));
            return Ok(());
        }
    };
    let token = operator_token(settings)?;
    let local = settings.admin_addr.unwrap_or(settings.addr);
    let base = call.server.unwrap_or_else(|| format!("http://{local}"));
    let client = OperatorClient::new(&base, &token)?;
    let data = client.call(call.method, &call.path, call.body, call.patience).await?;
    if !data.is_null() {
        println!("{}", shown_json(&format!("{data:#}")));
    }
    Ok(())
}

/// The token of the settings, or the one that a server with these settings has kept in its folder.
fn operator_token(settings: &Settings) -> Result<String, CommandFailed> {
    if let Some(token) = &settings.secrets.admin_token {
        return Ok(token.0.clone());
    }
    let Keeping::File(data) = settings.keeping() else { return Err(CommandFailed::NoToken) };
    let unreadable = |source| CommandFailed::TokenFile { file: data.token_file(), source };
    data.token().map_err(unreadable)?.ok_or(CommandFailed::NoToken)
}

fn work_of(command: Command) -> Work {
    let call = match command {
        Command::Account(command) => account_call(command),
        Command::Key(command) => key_call(command),
        Command::Credits(command) => credits_call(command),
        Command::Number(command) => number_call(command),
        Command::Sender(command) => sender_call(command),
        Command::Routes { target } => target.call(Method::GET, "/routes".to_owned()),
        Command::Clock(command) => clock_call(command),
        Command::Migrate => return Work::Do(DataCommand::Migrate),
        Command::Backup { file } => return Work::Do(DataCommand::Backup(file)),
        Command::Restore { file } => return Work::Do(DataCommand::Restore(file)),
        Command::Copy { from, to } => return Work::Do(DataCommand::Copy { from, to }),
        Command::Check => return Work::Do(DataCommand::Check),
    };
    Work::Ask(call)
}

fn account_call(command: AccountCommand) -> Call {
    let set_status = |id: &str, status: &str, target: Target| {
        target
            .call(Method::PATCH, format!("/accounts/{}", segment(id)))
            .with(json!({ "status": status }))
    };
    match command {
        AccountCommand::Create { name, status, credits, target } => {
            let status = name_of(&status);
            let body = json!({ "name": name, "status": status, "credits": credits });
            target.call(Method::POST, "/accounts".to_owned()).with(body)
        }
        AccountCommand::List { target } => {
            target.call(Method::GET, "/accounts?limit=100".to_owned())
        }
        AccountCommand::Approve { id, target } => set_status(&id, "active", target),
        AccountCommand::Suspend { id, target } => set_status(&id, "suspended", target),
    }
}

fn key_call(command: KeyCommand) -> Call {
    let keys = |account: &str| format!("/accounts/{}/keys", segment(account));
    match command {
        KeyCommand::Create { account, kind, name, target } => {
            let body = json!({ "kind": name_of(&kind), "name": name });
            target.call(Method::POST, keys(&account)).with(body)
        }
        KeyCommand::List { account, target } => target.call(Method::GET, keys(&account)),
        KeyCommand::Revoke { account, key, target } => {
            target.call(Method::DELETE, format!("{}/{}", keys(&account), segment(&key)))
        }
    }
}

fn credits_call(command: CreditsCommand) -> Call {
    match command {
        CreditsCommand::Add { account, amount, note, target } => {
            let path = format!("/accounts/{}/credits", segment(&account));
            target.call(Method::POST, path).with(json!({ "amount": amount, "note": note }))
        }
        CreditsCommand::Ledger { account, target } => {
            let path = format!("/accounts/{}/ledger?limit=100", segment(&account));
            target.call(Method::GET, path)
        }
    }
}

fn number_call(command: NumberCommand) -> Call {
    match command {
        NumberCommand::Add { phone_number, account, route, rental_credits, force, target } => {
            let body = json!({
                "phone_number": phone_number,
                "account_id": account,
                "route": route,
                "rental_credits": rental_credits,
                "force": force,
            });
            target.call(Method::POST, "/numbers".to_owned()).with(body)
        }
        NumberCommand::List { target } => target.call(Method::GET, "/numbers".to_owned()),
        NumberCommand::Remove { id, target } => {
            target.call(Method::DELETE, format!("/numbers/{}", segment(&id)))
        }
        NumberCommand::CheckIn { id, target } => {
            target.call(Method::POST, format!("/numbers/{}/check-in", segment(&id)))
        }
    }
}

fn sender_call(command: SenderCommand) -> Call {
    let decide = |id: &str, decision: &str, reason: Option<String>, target: Target| {
        target
            .call(Method::POST, format!("/sender-ids/{}/{decision}", segment(id)))
            .with(json!({ "reason": reason }))
    };
    match command {
        SenderCommand::List { status, target } => {
            let filter = status.map(|status| format!("&status={}", name_of(&status)));
            let path = format!("/sender-ids?limit=100{}", filter.unwrap_or_default());
            target.call(Method::GET, path)
        }
        SenderCommand::Approve { id, reason, target } => decide(&id, "approve", reason, target),
        SenderCommand::Reject { id, reason, target } => decide(&id, "reject", reason, target),
    }
}

fn clock_call(command: ClockCommand) -> Call {
    let path = "/clock".to_owned();
    match command {
        ClockCommand::Show { target } => target.call(Method::GET, path),
        ClockCommand::Advance { seconds, target } => {
            let call = target.call(Method::POST, path);
            Call { patience: LONGEST_MOVE, ..call.with(json!({ "advance_seconds": seconds })) }
        }
    }
}

impl Target {
    fn call(self, method: Method, path: String) -> Call {
        Call { method, path, body: None, server: self.server, patience: PATIENCE }
    }
}

impl Call {
    fn with(self, body: Value) -> Self {
        Self { body: Some(body), ..self }
    }
}

/// The name of a value, the same on the command line and in the API.
fn name_of(value: &impl ValueEnum) -> String {
    value.to_possible_value().map(|name| name.get_name().to_owned()).unwrap_or_default()
}

/// An id as a path segment. Valid ids need no escapes. In anything else every other character is
/// replaced, so that it cannot lead to another path.
fn segment(id: &str) -> String {
    id.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' }).collect()
}
