//! Campaigns in requests and answers.

use chrono::{DateTime, Utc};
use poem_openapi::Object;
use sms_core::Error;
use sms_core::campaign::launch::LaunchOptions;
use sms_core::campaign::{
    self as core, BODY_CHARACTERS, Campaign, CampaignChange, CampaignStatus, Counts, Launch,
    NAME_CHARACTERS,
};
use sms_core::ids::ListId;
use sms_core::message::{Body as Words, MessageStatus};
use sms_core::time::Timestamp;

use crate::request_body;
use crate::web::choice::Named;
use crate::web::envelope::Meta;
use crate::web::fields::text::{Text, text};
use crate::web::moment::Moment;

/// The most characters that an id may have.
const MAX_ID: usize = 100;

fn name() -> Text {
    text().min(*NAME_CHARACTERS.start()).max(*NAME_CHARACTERS.end())
}

fn body() -> Text {
    text().min(*BODY_CHARACTERS.start()).max(*BODY_CHARACTERS.end())
}

fn list_id(text: &str) -> Result<ListId, Error> {
    let unknown = || Error::UnknownReference { resource: "list", id: text.to_owned() };
    text.parse().map_err(|_| unknown())
}

request_body! {
    /// A new campaign.
    pub(super) struct CampaignInput as "CampaignInput" {
        /// The name you give it.
        required name: String = name(), example "Spring menu";
        /// The text, with merge fields as in `POST /messages`.
        required body: String = body(), example "Hello {first_name}, our spring menu is here";
        /// The list of recipients.
        required list_id: String = text().undocumented_max(MAX_ID),
            example "lst_01k9z1f7q8e2v5n3r4t6w8y0ac";
        /// An approved sender name; omit it to send from a number that people can reply to.
        optional sender: String = text();
        /// Whether to add the account's opt-out line to each message; false by default.
        optional append_opt_out: bool = boolean(), example true;
        /// Replaces each URL with a short tracked link; by default as the account's settings say.
        optional track_links: bool = boolean(), example false;
        /// Whether to send during the account's quiet hours too; false by default.
        optional ignore_quiet_hours: bool = boolean(), example false;
    }
}

impl CampaignInput {
    /// A malformed list id counts as unknown.
    pub(super) fn into_core(self) -> Result<core::CampaignInput, Error> {
        let list = list_id(&self.list_id)?;
        let mut input = core::CampaignInput::new(self.name, self.body, list);
        input.sender = self.sender;
        input.append_opt_out = self.append_opt_out.unwrap_or_default();
        input.track_links = self.track_links;
        input.ignore_quiet_hours = self.ignore_quiet_hours.unwrap_or_default();
        Ok(input)
    }
}

request_body! {
    /// Changes to a draft. Absent fields stay as they are.
    pub(super) struct CampaignPatch as "CampaignPatch" {
        /// The new name.
        given name: String = name();
        /// The new text.
        given body: String = body();
        /// A different list.
        given list_id: String = text().undocumented_max(MAX_ID);
        /// A different sender name; null to send from a number that people can reply to.
        patch sender: String = text();
        /// Adds the account's opt-out line.
        given append_opt_out: bool = boolean();
        /// Replaces each URL with a short tracked link.
        given track_links: bool = boolean();
        /// Sends during the account's quiet hours too.
        given ignore_quiet_hours: bool = boolean();
    }
}

impl CampaignPatch {
    /// A malformed list id counts as unknown.
    pub(super) fn into_core(self) -> Result<CampaignChange, Error> {
        Ok(CampaignChange {
            list: self.list_id.as_deref().map(list_id).transpose()?,
            name: self.name,
            body: self.body.map(Words::new),
            sender: self.sender,
            append_opt_out: self.append_opt_out,
            track_links: self.track_links,
            ignore_quiet_hours: self.ignore_quiet_hours,
            ..CampaignChange::default()
        })
    }
}

request_body! {
    /// How to launch a campaign. Absent fields are taken from the draft.
    pub(super) struct LaunchBody as "CampaignLaunchInput" {
        /// When to send, up to a year ahead; now by default.
        optional schedule_at: DateTime<Utc> = date_time();
        /// Replaces each URL with a short tracked link.
        optional track_links: bool = boolean();
        /// Sends during the account's quiet hours too.
        optional ignore_quiet_hours: bool = boolean();
    }
}

impl LaunchBody {
    pub(super) fn into_core(self) -> LaunchOptions {
        let mut options =
            LaunchOptions::default().schedule_at(self.schedule_at.map(Timestamp::from));
        options.track_links = self.track_links;
        options.ignore_quiet_hours = self.ignore_quiet_hours;
        options
    }
}

/// A campaign's messages by status.
#[derive(Debug, Object)]
struct CampaignCounts {
    /// Scheduled for later.
    scheduled: u64,
    /// Due, and waiting for a worker.
    queued: u64,
    /// Claimed by a worker.
    sending: u64,
    /// Sent to the network.
    sent: u64,
    /// Received by the handset.
    delivered: u64,
    /// Not delivered by the network.
    undelivered: u64,
    /// Failed before they were sent; refunded.
    failed: u64,
    /// Cancelled; refunded.
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
    /// Clicks of all recipients.
    clicks: u64,
    /// Links clicked at least once, at most one per URL per recipient.
    unique_clicked: u64,
}

/// A message to every contact of a list.
#[derive(Debug, Object)]
#[oai(rename = "Campaign")]
pub(super) struct CampaignShape {
    /// `cmp_` and 26 characters.
    id: String,
    /// The name you give it.
    name: String,
    /// The text.
    body: String,
    /// The list of recipients, which may have been deleted since.
    list_id: String,
    /// The sender name; null if the campaign is sent from a number.
    sender: Option<String>,
    /// Whether the account's opt-out line is added.
    append_opt_out: bool,
    /// Whether each URL is replaced with a short tracked link.
    track_links: bool,
    /// Whether it is sent during the account's quiet hours too.
    ignore_quiet_hours: bool,
    /// The status.
    status: Named<CampaignStatus>,
    /// When its messages fall due; null if at once.
    scheduled_at: Option<Moment>,
    /// When it was launched; null for a draft.
    launched_at: Option<Moment>,
    /// When its last message was sent, failed or was cancelled; null before that.
    completed_at: Option<Moment>,
    /// When it was cancelled; null if it was not.
    cancelled_at: Option<Moment>,
    /// How many messages the launch created.
    recipients: u64,
    /// How many contacts of the list were left out.
    rejected: u64,
    /// Credits charged at launch.
    credits: u64,
    /// Its messages by status.
    counts: CampaignCounts,
    /// Its tracked links.
    links: CampaignLinkStats,
    /// When it was created.
    created_at: Moment,
    /// When it was last changed, launched or cancelled.
    updated_at: Moment,
}

/// The campaign at the time `now`.
pub(super) fn shape(campaign: Campaign, now: Timestamp) -> CampaignShape {
    let (status, completed_at) = (campaign.status(now), campaign.completed_at());
    let launch = campaign.launch.as_ref();
    let moment = |pick: fn(&Launch) -> Option<Timestamp>| launch.and_then(pick).map(Into::into);
    CampaignShape {
        status: Named(status),
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

/// The result of a launch.
#[derive(Debug, Object)]
pub(super) struct LaunchMeta {
    /// Whether it waits for the end of the account's quiet hours.
    pub(super) quiet_hours_applied: bool,
    /// Whether this answer repeats the first one for the same `Idempotency-Key`.
    pub(super) replayed: bool,
}

impl Meta for LaunchMeta {
    const NAME_END: &'static str = "SendEnvelope";
}

/// The result of a cancellation.
#[derive(Debug, Object)]
pub(super) struct CancelMeta {
    /// How many messages were cancelled and refunded.
    pub(super) cancelled_messages: u64,
}

impl Meta for CancelMeta {
    const NAME_END: &'static str = "CancelEnvelope";
}
