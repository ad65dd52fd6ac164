//! Campaigns: one message to a whole list, drafted, then launched for now or later.
//!
//! [`quiet_hours`] decides when a launch has to wait. [`launch`] plans the messages page by page
//! and decides with the account locked. [`counts`] keeps the number of messages in each status
//! without counting them. [`cancel`] stops the messages that have not been sent.

use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::account::settings::Settings;
use crate::credits::Credits;
use crate::field_error::FieldError;
use crate::idempotency::Answer;
use crate::idempotency::fingerprint::Fields;
use crate::ids::{AccountId, BatchId, CampaignId, ListId};
use crate::message::record::Body;
use crate::message::status::MessageStatus;
use crate::sender_name::folded;
use crate::setters::setters;
use crate::text::length::MAX_CHARACTERS;
use crate::time::Timestamp;
use crate::version::{Changed, IfVersion, Version, Versioned};

pub mod cancel;
pub mod counts;
pub mod launch;
pub mod quiet_hours;
pub mod store;

pub use counts::Counts;

/// How many characters a campaign's name may have.
pub const NAME_CHARACTERS: RangeInclusive<usize> = 1..=200;
/// How many characters its body may have.
pub const BODY_CHARACTERS: RangeInclusive<usize> = 1..=MAX_CHARACTERS;

/// The state of a campaign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CampaignStatus {
    /// It can be edited; nothing was sent.
    Draft,
    /// It was launched, and its scheduled time has not come.
    Scheduled,
    /// Its messages are being sent.
    Sending,
    /// Every message was sent, failed or was cancelled.
    Sent,
    /// It was cancelled. Messages that were sent before stay sent.
    Cancelled,
}

impl CampaignStatus {
    /// Every value, in the order in which the API lists them.
    pub const ALL: [Self; 5] =
        [Self::Draft, Self::Scheduled, Self::Sending, Self::Sent, Self::Cancelled];

    /// The name used in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::Scheduled => "scheduled",
            Self::Sending => "sending",
            Self::Sent => "sent",
            Self::Cancelled => "cancelled",
        }
    }
}

impl fmt::Display for CampaignStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One message to a whole list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Campaign {
    /// The id, given to the draft; it carries the time of creation.
    pub id: CampaignId,
    /// The account that it belongs to.
    pub account: AccountId,
    /// The account's name for it; need not be unique.
    pub name: String,
    /// Its text, with merge fields.
    pub body: Body,
    /// The list that it is sent to, which may have been deleted since.
    pub list: ListId,
    /// The approved sender name shown instead of a number; `None` for the number.
    pub sender: Option<String>,
    /// Whether the account's opt-out line is added.
    pub append_opt_out: bool,
    /// Whether links are replaced by tracked short links.
    pub track_links: bool,
    /// Whether it is also sent during quiet hours.
    pub ignore_quiet_hours: bool,
    /// The result of its launch; `None` for a draft.
    pub launch: Option<Launch>,
    /// The totals of its tracked links.
    pub links: LinkTotals,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it was last edited, launched or cancelled.
    pub updated_at: Timestamp,
}

/// The result of a launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// When the campaign was launched.
    pub at: Timestamp,
    /// When its messages are due; `None` for at once.
    pub scheduled_at: Option<Timestamp>,
    /// When it was cancelled; `None` if it was not.
    pub cancelled_at: Option<Timestamp>,
    /// The id shared by its messages.
    pub batch: BatchId,
    /// How many messages it created.
    pub recipients: u64,
    /// How many contacts of the list received no message.
    pub rejected: u64,
    /// What the launch charged for all its messages, before refunds.
    pub credits: Credits,
    /// How many messages are in each status.
    pub counts: Counts,
    /// When a message last stopped waiting: it was sent, failed or was cancelled. `None` before the
    /// first.
    pub last_settled_at: Option<Timestamp>,
}

/// Totals of the tracked links of a campaign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinkTotals {
    /// Tracked links in its messages: one for each URL and recipient.
    pub links: u64,
    /// Clicks of all recipients together.
    pub clicks: u64,
    /// Links clicked at least once, counted once for each URL and recipient.
    pub unique_clicked: u64,
}

impl Campaign {
    /// The campaign as its launch left it, without what happened since. A campaign that was
    /// launched is not edited any more, so the rest of it is as it was.
    #[must_use]
    pub fn as_launched(self) -> Self {
        let Some(launch) = self.launch else { return self };
        let status = MessageStatus::on_acceptance(launch.scheduled_at);
        let counts = Counts::only(status, launch.recipients);
        let links = LinkTotals { links: self.links.links, ..LinkTotals::default() };
        let at = launch.at;
        let launch = Launch { cancelled_at: None, counts, last_settled_at: None, ..launch };
        Self { launch: Some(launch), links, updated_at: at, ..self }
    }

    /// Its state at `now`.
    pub fn status(&self, now: Timestamp) -> CampaignStatus {
        let Some(launch) = &self.launch else { return CampaignStatus::Draft };
        if launch.cancelled_at.is_some() {
            CampaignStatus::Cancelled
        } else if launch.counts.waiting() == 0 {
            CampaignStatus::Sent
        } else if launch.scheduled_at.is_some_and(|at| now < at) {
            CampaignStatus::Scheduled
        } else {
            CampaignStatus::Sending
        }
    }

    /// When it became `sent`; `None` if it has not.
    pub fn completed_at(&self) -> Option<Timestamp> {
        let launch = self.launch.as_ref().filter(|launch| launch.cancelled_at.is_none())?;
        if launch.counts.waiting() == 0 { launch.last_settled_at } else { None }
    }
}

/// What a draft can change, and whether it was launched, but nothing of what has happened to it
/// since.
impl Versioned for Campaign {
    const KIND: &'static str = "campaign";

    fn version(&self) -> Version {
        let Self { id, account: _, name, body, list, sender, launch, links: _, .. } = self;
        let Self { append_opt_out, track_links, ignore_quiet_hours, .. } = self;
        Version::of(Self::KIND, id, |fields| {
            fields.add("name", [name]);
            fields.add("body", [body.as_str()]);
            fields.add("list", [list.to_string()]);
            fields.add("sender", sender.as_deref());
            fields.add("append_opt_out", append_opt_out.then_some(""));
            fields.add("track_links", track_links.then_some(""));
            fields.add("ignore_quiet_hours", ignore_quiet_hours.then_some(""));
            fields.add("launched", launch.as_ref().map(|_| ""));
        })
    }
}

/// The fields of a new campaign.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CampaignInput {
    /// The account's name for it, 1 to 200 characters.
    pub name: String,
    /// Its text, with merge fields, 1 to 1,600 characters.
    pub body: Body,
    /// The list to send it to.
    pub list: ListId,
    /// An approved sender name; `None` for the number.
    pub sender: Option<String>,
    /// Whether to add the account's opt-out line.
    pub append_opt_out: bool,
    /// Whether to track links; `None` for the account's setting.
    pub track_links: Option<bool>,
    /// Whether to send it during quiet hours too.
    pub ignore_quiet_hours: bool,
}

/// A repetition of its creation returns the draft as it was created. A repetition of its launch
/// reads the campaign.
impl Answer for Campaign {
    type Kept = KeptDraft;

    fn kept(&self) -> KeptDraft {
        let Self { id, created_at, sender, track_links, .. } = self;
        let (sender, track_links) = (sender.clone(), *track_links);
        KeptDraft { id: *id, at: *created_at, sender, track_links }
    }
}

/// What is kept of a new draft: what does not follow from its request alone.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct KeptDraft {
    id: CampaignId,
    at: Timestamp,
    sender: Option<String>,
    track_links: bool,
}

impl KeptDraft {
    /// The draft that this input made.
    pub fn draft(self, input: CampaignInput, account: AccountId) -> Campaign {
        let Self { id, at, sender, track_links } = self;
        let input = CampaignInput { sender, track_links: Some(track_links), ..input };
        input.into_draft(id, account, &Settings::default(), at)
    }
}

impl CampaignInput {
    /// Adds the meaning of the input to a fingerprint.
    pub fn meaning(&self, fields: &mut Fields) {
        let Self { name, body, list, sender, append_opt_out, track_links, ignore_quiet_hours } =
            self;
        fields.add("name", [name]);
        fields.add("body", [body.as_str()]);
        fields.add("list", [list.to_string()]);
        // Sender names are compared without case, as everywhere.
        fields.add("sender", sender.as_deref().map(folded));
        fields.add("append_opt_out", append_opt_out.then_some(""));
        fields.add("track_links", track_links.map(|track| track.to_string()));
        fields.add("ignore_quiet_hours", ignore_quiet_hours.then_some(""));
    }

    /// A campaign with this name and text for this list, with default options.
    pub fn new(name: impl Into<String>, body: impl Into<Arc<str>>, list: ListId) -> Self {
        Self {
            name: name.into(),
            body: Body::new(body),
            list,
            sender: None,
            append_opt_out: false,
            track_links: None,
            ignore_quiet_hours: false,
        }
    }

    /// Every rule for single fields that it breaks.
    pub fn check(&self) -> Vec<FieldError> {
        check(Some(&self.name), Some(self.body.as_str()))
    }

    /// The new draft, in an account with these settings.
    pub fn into_draft(
        self,
        id: CampaignId,
        account: AccountId,
        settings: &Settings,
        at: Timestamp,
    ) -> Campaign {
        let Self { name, body, list, sender, append_opt_out, track_links, ignore_quiet_hours } =
            self;
        Campaign {
            id,
            account,
            name,
            body,
            list,
            sender,
            append_opt_out,
            track_links: track_links.unwrap_or(settings.track_links_default),
            ignore_quiet_hours,
            launch: None,
            links: LinkTotals::default(),
            created_at: at,
            updated_at: at,
        }
    }
}

setters! { CampaignInput {
    /// Shows this approved sender name in place of a number.
    sender(name: impl Into<String>) = Some(name.into());
    /// Adds the account's opt-out line.
    append_opt_out() = true;
    /// Replaces links by tracked short ones, whatever the account's setting.
    track_links() = Some(true);
    /// Sends inside quiet hours too.
    ignore_quiet_hours() = true;
} }

/// A change of a draft. A field that is `None` stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CampaignChange {
    /// The new name, 1 to 200 characters.
    pub name: Option<String>,
    /// The new text with its merge fields, 1 to 1,600 characters.
    pub body: Option<Body>,
    /// Another list of the same account.
    pub list: Option<ListId>,
    /// Another sender name; `Some(None)` removes it.
    pub sender: Option<Option<String>>,
    /// Whether to add the account's opt-out line.
    pub append_opt_out: Option<bool>,
    /// Whether to track links.
    pub track_links: Option<bool>,
    /// Whether to send it during quiet hours too.
    pub ignore_quiet_hours: Option<bool>,
    /// The versions on which the change may be made.
    pub if_version: IfVersion,
}

/// Why a campaign was not edited or deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EditRefused {
    /// The account has no such campaign.
    #[error("no such campaign")]
    NoSuchCampaign,
    /// It was launched before.
    #[error("only a draft campaign can be edited or deleted")]
    NotDraft,
    /// It has another version than the change was made on.
    #[error(transparent)]
    Changed(#[from] Changed),
}

impl CampaignChange {
    /// Every rule for single fields that it breaks.
    pub fn check(&self) -> Vec<FieldError> {
        check(self.name.as_deref(), self.body.as_ref().map(Body::as_str))
    }

    /// The changed campaign, given the campaign that the store found under its lock.
    pub fn settle(self, found: Option<Campaign>, at: Timestamp) -> Result<Campaign, EditRefused> {
        let Self {
            name,
            body,
            list,
            sender,
            append_opt_out,
            track_links,
            ignore_quiet_hours,
            if_version,
        } = self;
        let campaign = editable(found, &if_version)?;
        Ok(Campaign {
            name: name.unwrap_or(campaign.name),
            body: body.unwrap_or(campaign.body),
            list: list.unwrap_or(campaign.list),
            sender: sender.unwrap_or(campaign.sender),
            append_opt_out: append_opt_out.unwrap_or(campaign.append_opt_out),
            track_links: track_links.unwrap_or(campaign.track_links),
            ignore_quiet_hours: ignore_quiet_hours.unwrap_or(campaign.ignore_quiet_hours),
            updated_at: at,
            ..campaign
        })
    }
}

setters! { CampaignChange {
    /// Replaces the name; 1 to 200 characters.
    name(name: impl Into<String>) = Some(name.into());
    /// Replaces the text; 1 to 1,600 characters, merge fields included.
    body(body: impl Into<Arc<str>>) = Some(Body::new(body));
    /// Replaces the list that the launch will send to.
    list(list: ListId) = Some(list);
    /// Replaces the sender name; `None` means a number.
    sender(name: Option<&str>) = Some(name.map(str::to_owned));
    /// Makes the change on this version only.
    if_version(version: impl Into<IfVersion>) = version.into();
} }

/// The campaign that the store found under its lock, if it may be edited or deleted.
pub fn editable(found: Option<Campaign>, if_version: &IfVersion) -> Result<Campaign, EditRefused> {
    let campaign = found.ok_or(EditRefused::NoSuchCampaign)?;
    if_version.check(&campaign)?;
    if campaign.launch.is_some() { Err(EditRefused::NotDraft) } else { Ok(campaign) }
}

fn check(name: Option<&str>, body: Option<&str>) -> Vec<FieldError> {
    let name = name.and_then(|name| FieldError::of_text("name", name, NAME_CHARACTERS));
    let body = body.and_then(|body| FieldError::of_text("body", body, BODY_CHARACTERS));
    name.into_iter().chain(body).collect()
}

#[cfg(test)]
mod tests;
