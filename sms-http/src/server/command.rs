//! The commands of the server binary. They call the operator's API of a running server, so that
//! they do just what it does, whatever the store.

use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use reqwest::Method;
use serde_json::{Value, json};

use super::operator_client::{CommandFailed, OperatorClient};
use super::settings::Settings;
use sms_store_postgres::{PgSettings, PgStore};

/// Something else to do than to serve.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make, list, approve and suspend accounts
    #[command(subcommand)]
    Account(AccountCommand),
    /// Make, list and revoke API keys
    #[command(subcommand)]
    Key(KeyCommand),
    /// Add credits to an account, or read its ledger
    #[command(subcommand)]
    Credits(CreditsCommand),
    /// Add, list and remove numbers
    #[command(subcommand)]
    Number(NumberCommand),
    /// List, approve and reject sender names
    #[command(subcommand)]
    Sender(SenderCommand),
    /// Say how the routes stand, and their connections
    Routes {
        #[command(flatten)]
        target: Target,
    },
    /// Read or move the clock of a sandbox
    #[command(subcommand)]
    Clock(ClockCommand),
    /// Bring the tables of DATABASE_URL up to date, and do no more
    Migrate,
}

/// Where the running server is.
#[derive(Debug, Args)]
pub struct Target {
    /// The running server [default: http://SMS_ADMIN_ADDR, else http://SMS_ADDR]
    #[arg(long, env = "SMS_SERVER")]
    server: Option<String>,
}

/// Commands about accounts.
#[derive(Debug, Subcommand)]
pub enum AccountCommand {
    /// Make an account
    Create {
        /// Its name
        #[arg(long)]
        name: String,
        /// Whether it may send
        #[arg(long, default_value = "pending")]
        status: Status,
        /// What it can spend from the start
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
    /// Let an account send
    Approve {
        /// The account's id
        id: String,
        #[command(flatten)]
        target: Target,
    },
    /// Stop an account from sending
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
    /// Make a key; it is shown this once
    Create {
        /// The account's id
        account: String,
        /// Live or test
        #[arg(long, default_value = "test")]
        kind: Kind,
        /// What it is for
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
    /// Add credits, or take some back with a negative amount
    Add {
        /// The account's id
        account: String,
        /// How many
        #[arg(allow_negative_numbers = true)]
        amount: i64,
        /// Why, for the ledger
        #[arg(long)]
        note: Option<String>,
        #[command(flatten)]
        target: Target,
    },
    /// Read an account's ledger, newest first
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
    /// Add a number, shared unless an account is given
    Add {
        /// The number, in any common format
        phone_number: String,
        /// The account that rents it
        #[arg(long)]
        account: Option<String>,
        /// The route behind it
        #[arg(long)]
        route: Option<String>,
        /// Credits taken every 30 days
        #[arg(long, default_value_t = 0)]
        rental_credits: u64,
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
    /// Say that the gateway behind a number is there
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
    /// List the names of all accounts, newest first
    List {
        /// Only those that stand so
        #[arg(long)]
        status: Option<Review>,
        #[command(flatten)]
        target: Target,
    },
    /// Let a name send
    Approve {
        /// The sender name's id
        id: String,
        /// Why, for the account
        #[arg(long)]
        reason: Option<String>,
        #[command(flatten)]
        target: Target,
    },
    /// Stop a name from sending
    Reject {
        /// The sender name's id
        id: String,
        /// Why, for the account
        #[arg(long)]
        reason: Option<String>,
        #[command(flatten)]
        target: Target,
    },
}

/// Commands about the clock of a sandbox.
#[derive(Debug, Subcommand)]
pub enum ClockCommand {
    /// Say what it shows, and how far it was moved
    Show {
        #[command(flatten)]
        target: Target,
    },
    /// Move it on, and wait until all that falls due on the way is done
    Advance {
        /// How far, at most 34560000
        seconds: u64,
        #[command(flatten)]
        target: Target,
    },
}

/// What was decided about a sender name.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Review {
    /// Nothing yet.
    Pending,
    /// It may send.
    Approved,
    /// It may not.
    Rejected,
}

/// Whether an account may send.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Status {
    /// Approved.
    Active,
    /// Awaiting approval.
    Pending,
    /// Suspended.
    Suspended,
}

/// Live or test.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Kind {
    /// Sends real texts.
    Live,
    /// Simulates them.
    Test,
}

/// How long a command waits for its answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long it waits for a move of the clock, which takes as long as the webhooks on the way.
const LONGEST_MOVE: Duration = Duration::from_mins(10);

/// A call of the operator's API.
struct Call {
    method: Method,
    path: String,
    body: Option<Value>,
    server: Option<String>,
    /// How long to wait for the answer.
    patience: Duration,
}

/// Does what a command says, and prints the answer as JSON.
pub async fn run(command: Command, settings: &Settings) -> Result<(), CommandFailed> {
    let Some(call) = call_of(command) else { return migrate(settings).await };
    let token = settings.admin_token.as_ref().ok_or(CommandFailed::NoToken)?;
    let local = settings.admin_addr.unwrap_or(settings.addr);
    let base = call.server.unwrap_or_else(|| format!("http://{local}"));
    let client = OperatorClient::new(&base, &token.0)?;
    let data = client.call(call.method, &call.path, call.body, call.patience).await?;
    if !data.is_null() {
        println!("{data:#}");
    }
    Ok(())
}

/// The call that a command makes; none for what is done without a server.
fn call_of(command: Command) -> Option<Call> {
    match command {
        Command::Account(command) => Some(account_call(command)),
        Command::Key(command) => Some(key_call(command)),
        Command::Credits(command) => Some(credits_call(command)),
        Command::Number(command) => Some(number_call(command)),
        Command::Sender(command) => Some(sender_call(command)),
        Command::Routes { target } => Some(target.call(Method::GET, "/routes".to_owned())),
        Command::Clock(command) => Some(clock_call(command)),
        Command::Migrate => None,
    }
}

async fn migrate(settings: &Settings) -> Result<(), CommandFailed> {
    let url = settings.database().ok_or(CommandFailed::NoDatabase)?;
    let store = PgStore::connect(url, PgSettings { connections: 1 }).await?;
    store.migrate().await?;
    store.close().await;
    println!("the tables are up to date");
    Ok(())
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
        NumberCommand::Add { phone_number, account, route, rental_credits, target } => {
            let body = json!({
                "phone_number": phone_number,
                "account_id": account,
                "route": route,
                "rental_credits": rental_credits,
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

/// What a value is called on the command line and in the API.
fn name_of(value: &impl ValueEnum) -> String {
    value.to_possible_value().map(|name| name.get_name().to_owned()).unwrap_or_default()
}

/// An id as a path segment. Ids need no escapes; anything else names nothing, and must not lead to
/// another path.
fn segment(id: &str) -> String {
    id.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' }).collect()
}
