//! `sms messages`.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use futures_util::TryStreamExt as _;
use sms_client::Timestamp;
use sms_client::ids::{BatchId, CampaignId, MessageId};
use sms_client::message::{Direction, Message, MessageFilter, MessageStatus};
use sms_core::text::cell::MARK;

use crate::context::Context;
use crate::failure::Failure;
use crate::lists::Most;
use crate::output::{
    Cell, Form, GREEN, Streamed, local, paint, say, say_json, say_table, shown, style_of,
};
use crate::private_file::NewFile;

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
        /// The id of the message, msg_…
        id: MessageId,
    },
    /// Cancel a waiting message, and refund it
    Cancel {
        /// The id of the message, msg_…
        id: MessageId,
    },
    /// Export up to 50,000 messages as CSV
    #[command(after_help = "Examples:
  sms messages export --since 2026-11-01T00:00:00Z --output november.csv
  sms messages export --campaign cmp_… | gzip > campaign.csv.gz

A file begins with the mark by which spreadsheets know UTF-8. Standard output does not.")]
    Export {
        #[command(flatten)]
        filter: Filter,
        /// Where to write, once all is there; standard output by default
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
        #[command(flatten)]
        mark: Mark,
    },
}

/// Whether an export begins with the mark by which spreadsheets know UTF-8.
#[derive(Debug, Args)]
pub(crate) struct Mark {
    /// Begin with a UTF-8 mark, also on standard output
    #[arg(long, conflicts_with = "no_bom")]
    bom: bool,
    /// Begin without a UTF-8 mark, also in a file
    #[arg(long)]
    no_bom: bool,
}

impl Mark {
    /// A file is for a spreadsheet, and what goes elsewhere for a program.
    fn of(&self, out: &Output) -> &'static [u8] {
        match (self.bom, self.no_bom, out) {
            (true, ..) | (_, false, Output::New(_)) => MARK.as_bytes(),
            _ => &[],
        }
    }
}

/// Which messages; all conditions together have to hold.
#[derive(Debug, Args)]
pub(crate) struct Filter {
    /// Either outbound or inbound
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
            Self::Export { filter, output, mark } => {
                let mut chunks = client.message_export(&filter.into()).await?;
                let mut out = match &output {
                    Some(path) => Output::file(path).map_err(Failure::file(path))?,
                    None => Output::Standard(Streamed::standard()),
                };
                let name = output.unwrap_or_else(|| PathBuf::from("standard output"));
                out.write_all(mark.of(&out)).map_err(|error| written(&name, error))?;
                while let Some(chunk) = chunks.try_next().await? {
                    out.write_all(&chunk).map_err(|error| written(&name, error))?;
                }
                out.finish().map_err(|error| written(&name, error))
            }
        }
    }
}

/// Where an export goes.
enum Output {
    Standard(Streamed<io::Stdout>),
    /// A new file, which gets its name once the export is complete.
    New(NewFile),
    /// What is there and is no regular file, such as a named pipe or a terminal.
    Other(Streamed<File>),
}

impl Output {
    fn file(path: &Path) -> io::Result<Self> {
        match fs::metadata(path) {
            Ok(about) if !about.is_file() => {
                Ok(Self::Other(Streamed::to(File::options().write(true).open(path)?)))
            }
            _ => Ok(Self::New(NewFile::begin(path)?)),
        }
    }

    fn write_all(&mut self, octets: &[u8]) -> io::Result<()> {
        match self {
            Self::Standard(out) => out.write_all(octets),
            Self::New(file) => file.file().write_all(octets),
            Self::Other(file) => file.write_all(octets),
        }
    }

    fn finish(self) -> io::Result<()> {
        match self {
            Self::Standard(mut out) => out.flush(),
            Self::New(file) => file.publish(),
            Self::Other(mut file) => file.flush(),
        }
    }
}

/// A closed pipe is no failure worth a word.
fn written(name: &Path, error: io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::Terminal(error),
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
    let [from, to] = [message.from.as_str(), message.to.as_str()].map(shown);
    say(&format!("  from {from} to {to}"))?;
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
