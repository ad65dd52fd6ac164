//! `sms messages`.

use std::fs::File;
use std::io::{Write, stdout};
use std::path::PathBuf;

use clap::{Args, Subcommand};
use futures_util::TryStreamExt as _;
use sms_client::Timestamp;
use sms_client::ids::{BatchId, CampaignId, MessageId};
use sms_client::message::{Direction, Message, MessageFilter, MessageStatus};

use crate::context::Context;
use crate::failure::Failure;
use crate::lists::Most;
use crate::output::{Cell, Form, GREEN, local, paint, say, say_json, say_table, shown, style_of};

/// Read, cancel and export messages.
#[derive(Debug, Subcommand)]
pub(crate) enum Messages {
    /// List messages, newest first
    #[command(after_help = "Examples:
  sms messages list --status failed --since 2026-11-01T00:00:00Z
  sms messages list --query 07700900123 --all --json")]
    List {
        #[command(flatten)]
        filter: Filter,
        #[command(flatten)]
        most: Most,
    },
    /// Show a message and its timeline
    Get {
        /// Its id
        id: MessageId,
    },
    /// Cancel a waiting message, and refund it
    Cancel {
        /// Its id
        id: MessageId,
    },
    /// Export up to 50,000 messages as CSV
    #[command(after_help = "Examples:
  sms messages export --since 2026-11-01T00:00:00Z --output november.csv
  sms messages export --campaign cmp_… | gzip > campaign.csv.gz")]
    Export {
        #[command(flatten)]
        filter: Filter,
        /// Where to write; standard output by default
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
}

/// Which messages.
#[derive(Debug, Args)]
pub(crate) struct Filter {
    /// outbound or inbound
    #[arg(long)]
    direction: Option<Direction>,
    /// Such as scheduled, delivered or failed
    #[arg(long)]
    status: Option<MessageStatus>,
    /// A number in any form, or text to find in the body
    #[arg(long, short, value_name = "TEXT")]
    query: Option<String>,
    /// Only messages of this campaign
    #[arg(long, value_name = "ID")]
    campaign: Option<CampaignId>,
    /// Only messages of this send
    #[arg(long, value_name = "ID")]
    batch: Option<BatchId>,
    /// Only messages with this reference of yours
    #[arg(long = "ref", value_name = "TEXT")]
    client_ref: Option<String>,
    /// Created at this time or later
    #[arg(long, value_name = "TIME")]
    since: Option<Timestamp>,
    /// Created before this time
    #[arg(long, value_name = "TIME")]
    until: Option<Timestamp>,
}

impl From<Filter> for MessageFilter {
    fn from(filter: Filter) -> Self {
        Self {
            direction: filter.direction,
            status: filter.status,
            q: filter.query.map(Into::into),
            campaign_id: filter.campaign,
            batch_id: filter.batch,
            client_ref: filter.client_ref,
            since: filter.since,
            until: filter.until,
        }
    }
}

impl Messages {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let client = context.client()?;
        match self {
            Self::List { filter, most } => {
                let messages = most.of(client.message_list(&filter.into())).await?;
                match context.form {
                    Form::Json => say_json(&messages),
                    Form::Text => say_messages(&messages),
                }
            }
            Self::Get { id } => {
                let message = client.message_get(&id).await?;
                if context.form == Form::Json {
                    return say_json(&message);
                }
                say_message(&message.message)?;
                for event in &message.events {
                    let status = paint(style_of(&event.status), event.status.as_str());
                    let detail = shown(event.detail.as_deref().unwrap_or_default());
                    say(format!("  {}  {status}  {detail}", local(event.at)).trim_end())?;
                }
                Ok(())
            }
            Self::Cancel { id } => {
                let message = client.message_cancel(&id).await?;
                match context.form {
                    Form::Json => say_json(&message),
                    Form::Text => say(&format!("{} {}", paint(GREEN, "cancelled"), message.id)),
                }
            }
            Self::Export { filter, output } => {
                let mut chunks = client.message_export(&filter.into()).await?;
                let (mut out, name): (Box<dyn Write>, PathBuf) = match output {
                    Some(file) => {
                        (Box::new(File::create(&file).map_err(Failure::file(&file))?), file)
                    }
                    None => (Box::new(stdout()), PathBuf::from("standard output")),
                };
                while let Some(chunk) = chunks.try_next().await? {
                    out.write_all(&chunk).map_err(|error| written(&name, error))?;
                }
                out.flush().map_err(|error| written(&name, error))
            }
        }
    }
}

/// A closed pipe is no failure worth a word.
fn written(name: &std::path::Path, error: std::io::Error) -> Failure {
    match error.kind() {
        std::io::ErrorKind::BrokenPipe => Failure::Terminal(error),
        _ => Failure::file(name)(error),
    }
}

fn say_messages(messages: &[Message]) -> Result<(), Failure> {
    let row = |message: &Message| {
        let arrow = if message.direction == Direction::Inbound { "←" } else { "→" };
        vec![
            message.id.as_str().into(),
            local(message.created_at).into(),
            format!("{arrow} {}", message.contact_number.as_str()).into(),
            Cell::styled(message.status.as_str(), style_of(&message.status)),
            message.body.as_str().into(),
        ]
    };
    let rows: Vec<_> = messages.iter().map(row).collect();
    say_table(&["ID", "CREATED", "NUMBER", "STATUS", "TEXT"], &rows)
}

fn say_message(message: &Message) -> Result<(), Failure> {
    let status = paint(style_of(&message.status), message.status.as_str());
    say(&format!("{}  {status}", message.id))?;
    say(&format!("  from {} to {}", shown(message.from.as_str()), message.to.as_str()))?;
    say(&format!("  {}", shown(message.body.as_str())))?;
    let (segments, credits) = (message.segments, message.credits);
    say(&format!(
        "  {segments} × {}, charged {credits}, route {}",
        message.encoding, message.route
    ))?;
    match (&message.error_code, &message.error_message) {
        (Some(code), Some(words)) => say(&format!("  {code}: {}", shown(words))),
        (Some(code), None) => say(&format!("  {code}")),
        (None, _) => Ok(()),
    }
}
