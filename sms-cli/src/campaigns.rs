//! `sms campaigns`.

use std::fmt::Write as _;
use std::io::{self, IsTerminal as _};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use serde_json::json;
use sms_client::campaign::{
    Campaign, CampaignCounts, CampaignInput, CampaignLaunchInput, CampaignStatus,
};
use sms_client::ids::{CampaignId, ListId};
use sms_client::send::Quote;
use sms_client::{Client, Error, ErrorCode, IdempotencyKey, SendRequest, Timestamp};

use crate::confirm::{Confirm, ask};
use crate::context::{Access, Context, KeyKind};
use crate::failure::Failure;
use crate::lists::Most;
use crate::output::{
    Cell, Form, GREEN, PLAIN, RED, YELLOW, counted, grouped, local, paint, say, say_again,
    say_json, say_table,
};
use crate::send::{price_told, warn_of_gaps};
use crate::send_args::read_text;

/// Send one text to a whole list.
#[derive(Debug, Subcommand)]
pub(crate) enum Campaigns {
    /// Show the campaigns, newest first
    List {
        #[command(flatten)]
        most: Most,
    },
    /// Create a draft; nothing is sent yet
    #[command(after_help = "Example:
  sms campaigns create --name Christmas --list lst_… --body 'Hello {first_name}'")]
    Create(Create),
    /// Show what a campaign would cost if it were launched now
    Quote {
        /// The id of the campaign, cmp_…
        id: CampaignId,
    },
    /// Launch a campaign; asks for confirmation of the price unless --yes is given
    #[command(after_help = "Examples:
  sms campaigns launch cmp_…
  sms campaigns launch cmp_… --at 2026-12-24T09:00:00Z --yes
  sms campaigns launch cmp_… --yes && sms campaigns watch cmp_…")]
    Launch(Launch),
    /// Follow the counts of a campaign until all of its messages are settled
    Watch {
        /// The id of the campaign, cmp_…
        id: CampaignId,
        /// Seconds between two checks
        #[arg(long, value_name = "SECONDS", default_value_t = 1)]
        interval: u64,
        /// Stop once all messages are sent, without waiting for receipts
        #[arg(long)]
        until_sent: bool,
    },
    /// Cancel a campaign, and refund the messages that were not sent
    Cancel {
        /// The id of the campaign, cmp_…
        id: CampaignId,
    },
}

/// A draft, which nothing is sent for yet.
#[derive(Debug, Args)]
pub(crate) struct Create {
    /// Its name, for people of the account
    #[arg(long)]
    name: String,
    /// The list to send it to
    #[arg(long, value_name = "ID")]
    list: ListId,
    /// The text, with merge fields such as {first_name}
    #[arg(long, short, value_name = "TEXT", required_unless_present = "body_file")]
    body: Option<String>,
    /// A file with the text; - is standard input
    #[arg(long, value_name = "FILE", conflicts_with = "body")]
    body_file: Option<PathBuf>,
    /// An approved sender name
    #[arg(long, value_name = "NAME")]
    sender: Option<String>,
    /// Add the account's opt-out line
    #[arg(long)]
    append_opt_out: bool,
    /// Shorten and track links
    #[arg(long)]
    track_links: bool,
    /// Send during quiet hours too
    #[arg(long)]
    ignore_quiet_hours: bool,
}

/// A launch, now or at a time.
#[derive(Debug, Args)]
pub(crate) struct Launch {
    /// The id of the draft, cmp_…
    id: CampaignId,
    /// When to send, such as 2026-12-24T09:00:00Z; now by default
    #[arg(long, value_name = "TIME")]
    at: Option<Timestamp>,
    /// Send during quiet hours too
    #[arg(long)]
    ignore_quiet_hours: bool,
    /// Makes the launch take effect once, however often the command is run
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<IdempotencyKey>,
    #[command(flatten)]
    confirm: Confirm,
}

impl Campaigns {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        match self {
            Self::List { most } => {
                let campaigns = most.of(context.client()?.campaign_list()).await?;
                match context.form {
                    Form::Json => say_json(&campaigns),
                    Form::Text => say_campaigns(&campaigns),
                }
            }
            Self::Create(create) => create.run(context).await,
            Self::Quote { id } => {
                let client = context.client()?;
                let campaign = client.campaign_get(&id).await?;
                let price = price_of(&client, &campaign).await?;
                match context.form {
                    Form::Json => say_json(&price),
                    Form::Text => say(&price_told(&price)),
                }
            }
            Self::Launch(launch) => launch.run(context).await,
            Self::Watch { id, interval, until_sent } => {
                let until = if until_sent { Until::Sent } else { Until::Settled };
                watch(context, &id, Duration::from_secs(interval), until).await
            }
            Self::Cancel { id } => {
                let answer = context.client()?.campaign_cancel(&id).await?;
                let messages = answer.meta.cancelled_messages;
                match context.form {
                    Form::Json => say_json(&json!({ "id": id, "cancelled_messages": messages })),
                    Form::Text => {
                        let count = counted(messages, "message");
                        say(&format!("cancelled {id}: {count} refunded"))
                    }
                }
            }
        }
    }
}

impl Create {
    async fn run(self, context: &Context) -> Result<(), Failure> {
        let body = match (self.body, self.body_file) {
            (None, Some(file)) => read_text(&file)?,
            (body, _) => body.unwrap_or_default(),
        };
        let input = CampaignInput {
            sender: self.sender,
            append_opt_out: self.append_opt_out.then_some(true),
            track_links: self.track_links.then_some(true),
            ignore_quiet_hours: self.ignore_quiet_hours.then_some(true),
            ..CampaignInput::new(self.name, body, self.list)
        };
        let campaign = context.client()?.campaign_create(&input).await?;
        match context.form {
            Form::Json => say_json(&campaign),
            Form::Text => say(campaign.id.as_str()),
        }
    }
}

/// What a send of the same text to the same list would cost.
async fn price_of(client: &Client, campaign: &Campaign) -> Result<Quote, Error> {
    let request = SendRequest {
        sender: campaign.sender.clone(),
        append_opt_out: Some(campaign.append_opt_out),
        track_links: Some(campaign.track_links),
        ..SendRequest::new(campaign.body.clone()).to_list(campaign.list_id.clone())
    };
    client.message_quote(&request).await
}

impl Launch {
    async fn run(self, context: &Context) -> Result<(), Failure> {
        let Access { url, key } = context.access()?;
        let client = Client::new(&url, &key)?;
        if KeyKind::of(&key) == KeyKind::Live && !self.confirm.yes {
            ask(&launch_question(&client, &self.id).await?)?;
        }
        let launch = CampaignLaunchInput {
            schedule_at: self.at,
            ignore_quiet_hours: self.ignore_quiet_hours.then_some(true),
            ..CampaignLaunchInput::default()
        };
        let idempotency = self.idempotency_key.unwrap_or_else(IdempotencyKey::random);
        let launched = client.campaign_send(&self.id, &launch).idempotency_key(idempotency).await?;
        let campaign = launched.data;
        match context.form {
            Form::Json => say_json(&campaign),
            Form::Text => {
                let people = counted(campaign.recipients, "recipient");
                let credits = counted(campaign.credits, "credit");
                let status = paint(GREEN, campaign.status.as_str());
                let when = campaign.scheduled_at.map(|at| format!(" for {}", local(at)));
                let quiet =
                    if launched.meta.quiet_hours_applied { ", after quiet hours" } else { "" };
                say(&format!("{status}{}{quiet}: {people}, {credits}", when.unwrap_or_default()))
            }
        }
    }
}

/// The question before a launch, with its price.
async fn launch_question(client: &Client, id: &CampaignId) -> Result<String, Failure> {
    let campaign = client.campaign_get(id).await?;
    match price_of(client, &campaign).await {
        Ok(price) => {
            warn_of_gaps(&price);
            let people = counted(price.recipients, "recipient");
            let credits = counted(price.credits, "credit");
            let balance = grouped(price.balance);
            Ok(format!("Launch to {people} for {credits} (balance {balance})?"))
        }
        // A quote reaches 100,000 contacts, a campaign all of a list.
        Err(error) if error.code() == Some(&ErrorCode::ValidationFailed) => {
            let list = client.list_get(&campaign.list_id).await?;
            let people = counted(list.contact_count, "contact");
            Ok(format!("Launch to {people} without a quote (the list is too long for one)?"))
        }
        Err(error) => Err(error.into()),
    }
}

/// What ends a watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Until {
    /// All messages have left.
    Sent,
    /// No receipt is awaited either.
    Settled,
}

impl Until {
    fn is_reached(self, campaign: &Campaign) -> bool {
        let counts = &campaign.counts;
        let waiting = counts.scheduled + counts.queued + counts.sending;
        let is_over = matches!(campaign.status, CampaignStatus::Sent | CampaignStatus::Cancelled);
        is_over && waiting == 0 && (self == Self::Sent || counts.sent == 0)
    }
}

async fn watch(
    context: &Context,
    id: &CampaignId,
    interval: Duration,
    until: Until,
) -> Result<(), Failure> {
    let client = context.client()?;
    let is_live = context.form == Form::Text && io::stdout().is_terminal();
    let mut last = None;
    loop {
        let campaign = client.campaign_get(id).await?;
        if campaign.status == CampaignStatus::Draft {
            let usage = format!("{id} is a draft: launch it with `sms campaigns launch {id}`");
            return Err(Failure::Usage(usage));
        }
        let is_over = until.is_reached(&campaign);
        let now = (campaign.status.clone(), campaign.counts);
        if last.as_ref() != Some(&now) {
            match context.form {
                Form::Json => say_json(&campaign)?,
                Form::Text if is_live => say_again(&counts_told(&campaign))?,
                Form::Text => say(&counts_told(&campaign))?,
            }
            last = Some(now);
        }
        if is_over {
            return if is_live { say("") } else { Ok(()) };
        }
        tokio::time::sleep(interval).await;
    }
}

fn counts_told(campaign: &Campaign) -> String {
    let CampaignCounts {
        scheduled,
        queued,
        sending,
        sent,
        delivered,
        undelivered,
        failed,
        cancelled,
    } = campaign.counts;
    let mut line = format!("{}: {}", campaign.status, counted(campaign.recipients, "recipient"));
    for (count, name, style) in [
        (scheduled, "scheduled", PLAIN),
        (queued, "queued", YELLOW),
        (sending, "sending", YELLOW),
        (sent, "sent", YELLOW),
        (delivered, "delivered", GREEN),
        (undelivered, "undelivered", RED),
        (failed, "failed", RED),
        (cancelled, "cancelled", PLAIN),
    ] {
        if count > 0 {
            let _ = write!(line, "  {}", paint(style, &format!("{name} {}", grouped(count))));
        }
    }
    line
}

fn say_campaigns(campaigns: &[Campaign]) -> Result<(), Failure> {
    let row = |campaign: &Campaign| {
        let style = match campaign.status {
            CampaignStatus::Sent => GREEN,
            CampaignStatus::Cancelled => RED,
            _ => YELLOW,
        };
        vec![
            campaign.id.as_str().into(),
            local(campaign.created_at).into(),
            Cell::styled(campaign.status.as_str(), style),
            grouped(campaign.recipients).into(),
            grouped(campaign.counts.delivered).into(),
            (&campaign.name).into(),
        ]
    };
    let rows: Vec<_> = campaigns.iter().map(row).collect();
    say_table(&["ID", "CREATED", "STATUS", "RECIPIENTS", "DELIVERED", "NAME"], &rows)
}
