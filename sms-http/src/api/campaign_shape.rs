//! What campaigns look like in requests and answers.

use chrono::{DateTime, Utc};
use poem_openapi::{Enum, Object};
use sms_core::Error;
use sms_core::campaign::launch::LaunchOptions;
use sms_core::campaign::{
    self as core, BODY_CHARACTERS, Campaign, CampaignChange, CampaignStatus, Counts, Launch,
    NAME_CHARACTERS,
};
use sms_core::ids::ListId;
use sms_core::message::{Body as Words, MessageStatus};
use sms_core::time::Timestamp;

use super::contact_shape::given;
use crate::web::envelope::Meta;
use crate::web::fields::{Fields, FromFields, Given, Patch, rule};
use crate::web::moment::Moment;

/// How many characters an id may have; more cannot be one.
const MAX_ID: usize = 100;

fn name_rule() -> rule::Text {
    rule::text().min(*NAME_CHARACTERS.start()).max(*NAME_CHARACTERS.end())
}

fn body_rule() -> rule::Text {
    rule::text().min(*BODY_CHARACTERS.start()).max(*BODY_CHARACTERS.end())
}

fn list_id(text: &str) -> Result<ListId, Error> {
    let unknown = || Error::UnknownReference { resource: "list", id: text.to_owned() };
    text.parse().map_err(|_| unknown())
}

/// A new campaign.
#[derive(Debug, Object)]
#[oai(example)]
pub(super) struct CampaignInput {
    /// What you call it.
    #[oai(validator(min_length = 1, max_length = 200))]
    name: String,
    /// The text, with merge fields as in the body of a send.
    #[oai(validator(min_length = 1, max_length = 1600))]
    body: String,
    /// Whom it goes to.
    list_id: String,
    /// An approved sender name; omit it to send from a number people can reply to.
    sender: Option<String>,
    /// Adds the account's opt-out line.
    append_opt_out: Option<bool>,
    /// Replaces each URL by a short tracked link; the account's own setting unless given.
    track_links: Option<bool>,
    /// Sends inside the account's quiet hours too.
    ignore_quiet_hours: Option<bool>,
}

impl poem_openapi::types::Example for CampaignInput {
    fn example() -> Self {
        Self {
            name: "Spring menu".to_owned(),
            body: "Hello {first_name}, our spring menu is here".to_owned(),
            list_id: "lst_01k9z1f7q8e2v5n3r4t6w8y0ac".to_owned(),
            sender: None,
            append_opt_out: Some(true),
            track_links: Some(false),
            ignore_quiet_hours: Some(false),
        }
    }
}

impl FromFields for CampaignInput {
    fn from_fields(fields: &mut Fields<'_>) -> Self {
        Self {
            name: fields.required("name", name_rule()),
            body: fields.required("body", body_rule()),
            list_id: fields.required("list_id", rule::text().max(MAX_ID)),
            sender: fields.optional("sender", rule::text()),
            append_opt_out: fields.optional("append_opt_out", rule::boolean()),
            track_links: fields.optional("track_links", rule::boolean()),
            ignore_quiet_hours: fields.optional("ignore_quiet_hours", rule::boolean()),
        }
    }
}

impl CampaignInput {
    /// A malformed id of a list names nothing.
    pub(super) fn into_core(self) -> Result<core::CampaignInput, Error> {
        Ok(core::CampaignInput {
            list: list_id(&self.list_id)?,
            name: self.name,
            body: Words::new(self.body),
            sender: self.sender,
            append_opt_out: self.append_opt_out.unwrap_or_default(),
            track_links: self.track_links,
            ignore_quiet_hours: self.ignore_quiet_hours.unwrap_or_default(),
        })
    }
}

/// Changes to a draft; what is absent stays.
#[derive(Debug, Object)]
pub(super) struct CampaignPatch {
    /// A new name.
    #[oai(validator(min_length = 1, max_length = 200))]
    name: Given<String>,
    /// A new text.
    #[oai(validator(min_length = 1, max_length = 1600))]
    body: Given<String>,
    /// Another list.
    list_id: Given<String>,
    /// Another sender name; null for a number people can reply to.
    sender: Patch<String>,
    /// Adds the account's opt-out line.
    append_opt_out: Given<bool>,
    /// Replaces each URL by a short tracked link.
    track_links: Given<bool>,
    /// Sends inside the account's quiet hours too.
    ignore_quiet_hours: Given<bool>,
}

impl FromFields for CampaignPatch {
    fn from_fields(fields: &mut Fields<'_>) -> Self {
        Self {
            name: fields.given("name", name_rule()),
            body: fields.given("body", body_rule()),
            list_id: fields.given("list_id", rule::text().max(MAX_ID)),
            sender: fields.patch("sender", rule::text()),
            append_opt_out: fields.given("append_opt_out", rule::boolean()),
            track_links: fields.given("track_links", rule::boolean()),
            ignore_quiet_hours: fields.given("ignore_quiet_hours", rule::boolean()),
        }
    }
}

impl CampaignPatch {
    /// A malformed id of a list names nothing.
    pub(super) fn into_core(self) -> Result<CampaignChange, Error> {
        Ok(CampaignChange {
            list: self.list_id.0.as_deref().map(list_id).transpose()?,
            name: self.name.0,
            body: self.body.0.map(Words::new),
            sender: given(self.sender),
            append_opt_out: self.append_opt_out.0,
            track_links: self.track_links.0,
            ignore_quiet_hours: self.ignore_quiet_hours.0,
        })
    }
}

/// How to launch a campaign; what is absent is as the draft says.
#[derive(Debug, Default, Object)]
#[oai(rename = "CampaignSend")]
pub(super) struct LaunchBody {
    /// When to send, up to a year ahead; now unless given.
    schedule_at: Option<DateTime<Utc>>,
    /// Replaces each URL by a short tracked link.
    track_links: Option<bool>,
    /// Sends inside the account's quiet hours too.
    ignore_quiet_hours: Option<bool>,
}

impl FromFields for LaunchBody {
    fn from_fields(fields: &mut Fields<'_>) -> Self {
        Self {
            schedule_at: fields.optional("schedule_at", rule::date_time()),
            track_links: fields.optional("track_links", rule::boolean()),
            ignore_quiet_hours: fields.optional("ignore_quiet_hours", rule::boolean()),
        }
    }
}

impl LaunchBody {
    pub(super) fn into_core(self) -> LaunchOptions {
        LaunchOptions {
            schedule_at: self.schedule_at.map(Into::into),
            track_links: self.track_links,
            ignore_quiet_hours: self.ignore_quiet_hours,
        }
    }
}

/// Where a campaign stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
#[oai(rename = "CampaignStatus", rename_all = "snake_case")]
enum StatusName {
    /// It can be edited, and nothing was sent.
    Draft,
    /// It was launched, and its time has not come.
    Scheduled,
    /// Its texts are leaving.
    Sending,
    /// Every text has left, failed or been cancelled.
    Sent,
    /// It was cancelled.
    Cancelled,
}

impl From<CampaignStatus> for StatusName {
    fn from(status: CampaignStatus) -> Self {
        match status {
            CampaignStatus::Draft => Self::Draft,
            CampaignStatus::Scheduled => Self::Scheduled,
            CampaignStatus::Sending => Self::Sending,
            CampaignStatus::Sent => Self::Sent,
            CampaignStatus::Cancelled => Self::Cancelled,
        }
    }
}

/// How many of a campaign's texts stand where.
#[derive(Debug, Object)]
struct CampaignCounts {
    /// Accepted for later.
    scheduled: u64,
    /// Due as soon as a worker takes them.
    queued: u64,
    /// In the hands of a worker.
    sending: u64,
    /// Left for the network.
    sent: u64,
    /// Received by the handset.
    delivered: u64,
    /// Given up by the network.
    undelivered: u64,
    /// Failed before leaving, refunded.
    failed: u64,
    /// Cancelled, refunded.
    cancelled: u64,
}

impl From<Counts> for CampaignCounts {
    fn from(counts: Counts) -> Self {
        Self {
            scheduled: counts.of(MessageStatus::Scheduled),
            queued: counts.of(MessageStatus::Queued),
            sending: counts.of(MessageStatus::Sending),
            sent: counts.of(MessageStatus::Sent),
            delivered: counts.of(MessageStatus::Delivered),
            undelivered: counts.of(MessageStatus::Undelivered),
            failed: counts.of(MessageStatus::Failed),
            cancelled: counts.of(MessageStatus::Cancelled),
        }
    }
}

/// A campaign's tracked links.
#[derive(Debug, Object)]
struct CampaignLinkStats {
    /// Whether its links are tracked.
    track_links: bool,
    /// Tracked links sent.
    links: u64,
    /// Hits, all recipients together.
    clicks: u64,
    /// Links clicked at least once, at most one per URL per recipient.
    unique_clicked: u64,
}

/// One text to a whole list.
#[derive(Debug, Object)]
#[oai(rename = "Campaign")]
pub(super) struct CampaignShape {
    /// `cmp_` and 26 characters.
    id: String,
    /// What you call it.
    name: String,
    /// The text.
    body: String,
    /// Whom it goes to. The list may have been removed since.
    list_id: String,
    /// The sender name shown in place of a number.
    sender: Option<String>,
    /// Whether the account's opt-out line is added.
    append_opt_out: bool,
    /// Whether each URL is replaced by a short tracked link.
    track_links: bool,
    /// Whether it is sent inside the account's quiet hours too.
    ignore_quiet_hours: bool,
    /// Where it stands.
    status: StatusName,
    /// When its texts fall or fell due, if not at once.
    scheduled_at: Option<Moment>,
    /// When it was launched.
    launched_at: Option<Moment>,
    /// When every text had left, failed or been cancelled.
    completed_at: Option<Moment>,
    /// When it was cancelled.
    cancelled_at: Option<Moment>,
    /// How many texts its launch made.
    recipients: u64,
    /// How many contacts of the list got none.
    rejected: u64,
    /// What its launch took.
    credits: u64,
    /// How many of its texts stand where.
    counts: CampaignCounts,
    /// Its tracked links.
    links: CampaignLinkStats,
    /// When it was made.
    created_at: Moment,
    /// When it was last changed, launched or cancelled.
    updated_at: Moment,
}

/// The campaign as it stands at `now`.
pub(super) fn shape(campaign: Campaign, now: Timestamp) -> CampaignShape {
    let (status, completed_at) = (campaign.status(now), campaign.completed_at());
    let launch = campaign.launch.as_ref();
    let moment = |pick: fn(&Launch) -> Option<Timestamp>| launch.and_then(pick).map(Into::into);
    CampaignShape {
        status: status.into(),
        scheduled_at: moment(|launch| launch.scheduled_at),
        launched_at: moment(|launch| Some(launch.at)),
        completed_at: completed_at.map(Into::into),
        cancelled_at: moment(|launch| launch.cancelled_at),
        recipients: launch.map_or(0, |launch| launch.recipients),
        rejected: launch.map_or(0, |launch| launch.rejected),
        credits: launch.map_or(0, |launch| launch.credits.get()),
        counts: launch.map(|launch| launch.counts).unwrap_or_default().into(),
        links: CampaignLinkStats {
            track_links: campaign.track_links,
            links: campaign.links.links,
            clicks: campaign.links.clicks,
            unique_clicked: campaign.links.unique_clicked,
        },
        id: campaign.id.to_string(),
        name: campaign.name,
        body: campaign.body.as_str().to_owned(),
        list_id: campaign.list.to_string(),
        sender: campaign.sender,
        append_opt_out: campaign.append_opt_out,
        track_links: campaign.track_links,
        ignore_quiet_hours: campaign.ignore_quiet_hours,
        created_at: campaign.created_at.into(),
        updated_at: campaign.updated_at.into(),
    }
}

/// How a launch went.
#[derive(Debug, Object)]
pub(super) struct LaunchMeta {
    /// Whether it waits for the end of the account's quiet hours.
    pub(super) quiet_hours_applied: bool,
}

impl Meta for LaunchMeta {
    const NAME_END: &'static str = "SendResponse";
}

/// How a cancellation went.
#[derive(Debug, Object)]
pub(super) struct CancelMeta {
    /// How many texts were cancelled, and refunded.
    pub(super) cancelled_messages: u64,
}

impl Meta for CancelMeta {
    const NAME_END: &'static str = "CancelResponse";
}
