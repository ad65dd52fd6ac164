//! `sms login`, `sms logout` and `sms status`.

use clap::Args;
use serde_json::json;
use sms_client::Client;

use crate::context::{Access, Context, KeyKind};
use crate::failure::Failure;
use crate::output::{Form, GREEN, counted, paint, say, say_json};
use crate::profile::{self, Profile, Profiles};
use crate::secret_input::read_key;
use crate::style::{shown, tell};

/// Save a key, once the server has accepted it.
#[derive(Debug, Args)]
#[command(
    after_help = "The key is asked for, or read from standard input. It is never an argument.

Examples:
  sms login --url https://sms.example.com
  sms login --profile test < key.txt"
)]
pub(crate) struct Login {}

/// Delete a saved key.
#[derive(Debug, Args)]
pub(crate) struct Logout {}

/// Show which server and key are used, and the balance.
#[derive(Debug, Args)]
pub(crate) struct Status {}

impl Login {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let Self {} = self;
        let server = context.server()?;
        let key = read_key(&format!("API key for {}: ", shown(&server)))?;
        let client = Client::new(&server, &key)?;
        let url = client.server().to_owned();
        if url.starts_with("http://") && !is_this_machine(&url) {
            tell(&format!("warning: {url} is not encrypted: others can read your key"));
        }
        let balance = client.balance_get().await?;
        let kind = KeyKind::of(&key);
        let mut profiles = Profiles::read()?;
        let listen_secret = profiles.remove(&context.profile).and_then(|old| old.listen_secret);
        profiles.set(&context.profile, Profile { url: url.clone(), key, listen_secret });
        profiles.write()?;
        let file = profile::file()?;
        match context.form {
            Form::Json => say_json(&json!({
                "profile": context.profile,
                "url": url,
                "key": kind.as_str(),
                "balance": balance,
                "file": file,
            })),
            Form::Text => say(&format!(
                "{} to {url} with a {} key: {}\nsaved in {} as profile {:?}",
                paint(GREEN, "logged in"),
                kind.as_str(),
                counted(balance.credits, "credit"),
                file.display(),
                context.profile,
            )),
        }
    }
}

fn is_this_machine(url: &str) -> bool {
    let host = url.trim_start_matches("http://");
    ["127.0.0.1", "localhost", "[::1]"].iter().any(|local| {
        host.strip_prefix(local).is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '/']))
    })
}

impl Logout {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let Self {} = self;
        let mut profiles = Profiles::read()?;
        let name = &context.profile;
        profiles.remove(name).ok_or_else(|| Failure::NoKey(name.clone()))?;
        profiles.write()?;
        match context.form {
            Form::Json => say_json(&json!({ "profile": name })),
            Form::Text => say(&format!("deleted the key of profile {name:?}")),
        }
    }
}

impl Status {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let Self {} = self;
        let Access { url, key } = context.access()?;
        let kind = KeyKind::of(&key).as_str();
        let client = Client::new(&url, &key)?;
        let (url, balance) = (client.server(), client.balance_get().await?);
        match context.form {
            Form::Json => say_json(&json!({ "url": url, "key": kind, "balance": balance })),
            Form::Text => say(&format!(
                "{url} with a {kind} key\n{}, account {}",
                counted(balance.credits, "credit"),
                balance.account_status,
            )),
        }
    }
}
