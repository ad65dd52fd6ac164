//! `sms tail`: events as they happen.

use clap::Args;
use futures_util::StreamExt as _;
use serde_json::Value;
use sms_client::event::{Event, EventFilter, EventType, Position};
use sms_client::message::MessageStatus;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::{BOLD, DIM, Form, local, paint, say, say_json, shown, style_of};
use crate::style::tell;

/// Which events to follow.
#[derive(Debug, Args)]
pub(crate) struct Which {
    /// Such as message.received; may be repeated; all by default
    #[arg(long = "type", value_name = "TYPE")]
    types: Vec<EventType>,
    /// Begin after this position of an earlier event; now by default
    #[arg(long, value_name = "POSITION")]
    after: Option<String>,
}

impl From<Which> for EventFilter {
    fn from(which: Which) -> Self {
        let after = which.after.as_deref().map(Position::from);
        Self { types: which.types, after }
    }
}

/// Show events as they happen.
#[derive(Debug, Args)]
#[command(after_help = "Goes on after a lost connection without missing an event.
With --json, each line is an event with its position.

Examples:
  sms tail
  sms tail --type message.received --type opt_out.created
  sms tail --json | jq -r .data.body")]
pub(crate) struct Tail {
    #[command(flatten)]
    which: Which,
    /// Stop after this many events
    #[arg(long, value_name = "NUMBER")]
    limit: Option<usize>,
}

impl Tail {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let client = context.client()?;
        let events = client.event_stream(&self.which.into()).await?;
        if context.form == Form::Text {
            tell(&format!("following {}: Ctrl-C to stop", client.server()));
        }
        let mut events = events.take(self.limit.unwrap_or(usize::MAX));
        while let Some(event) = events.next().await {
            match context.form {
                Form::Json => say_json(&event?)?,
                Form::Text => say(&told(&event?))?,
            }
        }
        Ok(())
    }
}

/// An event on a line.
pub(crate) fn told(event: &Event) -> String {
    let text = |name: &str| shown(event.data[name].as_str().unwrap_or_default());
    let time = paint(DIM, &local(event.created_at));
    let kind = paint(BOLD, &format!("{:<17}", event.kind));
    let what = match &event.kind {
        EventType::MessageReceived => {
            format!("{} from {}: {}", text("id"), text("from"), text("body"))
        }
        EventType::MessageSent | EventType::MessageDelivered | EventType::MessageFailed => {
            message_told(&event.data)
        }
        EventType::OptOutCreated => format!("{} by {}", text("phone"), text("source")),
        EventType::LinkClicked => {
            let clicks = event.data["clicks"].as_u64().unwrap_or_default();
            format!("{} → {} (click {clicks})", text("contact_number"), text("url"))
        }
        EventType::RepliesPaused => {
            let keyword = event.data["keyword"].as_str();
            let of = keyword.map_or_else(|| "all keywords".to_owned(), shown);
            format!("{of}: {} until {}", text("reason"), text("paused_until"))
        }
        EventType::Other(_) => shown(&event.data.to_string()),
    };
    format!("{time}  {kind}  {what}")
}

fn message_told(message: &Value) -> String {
    let text = |name: &str| shown(message[name].as_str().unwrap_or_default());
    let status = MessageStatus::from(text("status").as_str());
    let error = message["error_code"].as_str().map(|code| format!(" ({})", shown(code)));
    format!(
        "{} to {}: {}{}",
        text("id"),
        text("to"),
        paint(style_of(&status), status.as_str()),
        error.unwrap_or_default()
    )
}
