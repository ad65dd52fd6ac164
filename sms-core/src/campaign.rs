//! Campaigns: one text to a whole list, drafted, then launched at once or for later.
//!
//! [`quiet_hours`] says when a launch has to wait, [`launch`] plans its texts a page of contacts at
//! a time and decides with the account locked, [`counts`] keeps how many texts stand where without
//! counting them, [`cancel`] stops what has not left.

use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::account::Settings;
use crate::credits::Credits;
use crate::error::FieldError;
use crate::ids::{AccountId, BatchId, CampaignId, ListId};
use crate::message::Body;
use crate::text::MAX_CHARACTERS;
use crate::time::Timestamp;

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

/// Where a campaign stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CampaignStatus {
    /// It can be edited, and nothing was sent.
    Draft,
    /// It was launched, and its time has not come.
    Scheduled,
    /// Its texts are leaving.
    Sending,
    /// Every text has left, failed or been cancelled.
    Sent,
    /// It was cancelled; what had left by then had left.
    Cancelled,
}

impl CampaignStatus {
    /// Every value.
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

/// One text to a whole list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Campaign {
    /// Its id.
    pub id: CampaignId,
    /// Whose it is.
    pub account: AccountId,
    /// What its owner calls it; several may be called the same.
    pub name: String,
    /// Its words, with merge fields.
    pub body: Body,
    /// Whom it goes to. The list may have been removed since.
    pub list: ListId,
    /// The approved name that is shown instead of a number.
    pub sender: Option<String>,
    /// Whether the account's opt-out line is added.
    pub append_opt_out: bool,
    /// Whether links are replaced by tracked ones.
    pub track_links: bool,
    /// Whether it is sent inside quiet hours too.
    pub ignore_quiet_hours: bool,
    /// What its launch made of it; none while it is a draft.
    pub launch: Option<Launch>,
    /// Its tracked links.
    pub links: LinkTotals,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last edited, launched or cancelled.
    pub updated_at: Timestamp,
}

/// What became of a launched campaign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// When it was launched.
    pub at: Timestamp,
    /// When its texts fall or fell due, if not at once.
    pub scheduled_at: Option<Timestamp>,
    /// When it was cancelled.
    pub cancelled_at: Option<Timestamp>,
    /// The batch that its texts are.
    pub batch: BatchId,
    /// How many texts it made.
    pub recipients: u64,
    /// How many contacts of the list got none.
    pub rejected: u64,
    /// What it took.
    pub credits: Credits,
    /// Where its texts stand.
    pub counts: Counts,
    /// When a text last stopped waiting to leave: it left, failed or was cancelled.
    pub last_settled_at: Option<Timestamp>,
}

/// Sums over the tracked links of a campaign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinkTotals {
    /// Tracked links sent.
    pub links: u64,
    /// Hits, all recipients together.
    pub clicks: u64,
    /// Links clicked at least once, at most one for each address and recipient.
    pub unique_clicked: u64,
}

impl Campaign {
    /// Where it stands at `now`.
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

    /// When it became `sent`, if it did.
    pub fn completed_at(&self) -> Option<Timestamp> {
        let launch = self.launch.as_ref().filter(|launch| launch.cancelled_at.is_none())?;
        if launch.counts.waiting() == 0 { launch.last_settled_at } else { None }
    }
}

/// What a new campaign shall be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CampaignInput {
    /// What its owner calls it.
    pub name: String,
    /// Its words.
    pub body: Body,
    /// Whom it goes to.
    pub list: ListId,
    /// An approved sender name.
    pub sender: Option<String>,
    /// Whether the account's opt-out line is added.
    pub append_opt_out: bool,
    /// Whether links are tracked; the account's setting unless given.
    pub track_links: Option<bool>,
    /// Whether it is sent inside quiet hours too.
    pub ignore_quiet_hours: bool,
}

impl CampaignInput {
    /// A campaign of this name with this text to this list, with nothing added.
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

    /// Every rule about single fields that it breaks.
    pub fn check(&self) -> Vec<FieldError> {
        check(Some(&self.name), Some(self.body.as_str()))
    }

    /// The draft as it is made, in an account with these settings.
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

/// What the owner of a draft wants changed; what is `None` stays.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CampaignChange {
    /// A new name.
    pub name: Option<String>,
    /// New words.
    pub body: Option<Body>,
    /// Another list.
    pub list: Option<ListId>,
    /// Another sender name, or none.
    pub sender: Option<Option<String>>,
    /// Whether the account's opt-out line is added.
    pub append_opt_out: Option<bool>,
    /// Whether links are tracked.
    pub track_links: Option<bool>,
    /// Whether it is sent inside quiet hours too.
    pub ignore_quiet_hours: Option<bool>,
}

/// Why a campaign was not edited or removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EditRefused {
    /// The account has no such campaign.
    #[error("no such campaign")]
    NoSuchCampaign,
    /// It was launched.
    #[error("only a draft can be changed")]
    NotDraft,
}

impl CampaignChange {
    /// Every rule about single fields that it breaks.
    pub fn check(&self) -> Vec<FieldError> {
        check(self.name.as_deref(), self.body.as_ref().map(Body::as_str))
    }

    /// The campaign as it is after the change, as the store finds it under its lock.
    pub fn settle(self, found: Option<Campaign>, at: Timestamp) -> Result<Campaign, EditRefused> {
        let campaign = editable(found)?;
        let Self { name, body, list, sender, append_opt_out, track_links, ignore_quiet_hours } =
            self;
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

/// The campaign as the store finds it under its lock, if it may be edited or removed.
pub fn editable(found: Option<Campaign>) -> Result<Campaign, EditRefused> {
    let campaign = found.ok_or(EditRefused::NoSuchCampaign)?;
    if campaign.launch.is_some() { Err(EditRefused::NotDraft) } else { Ok(campaign) }
}

fn check(name: Option<&str>, body: Option<&str>) -> Vec<FieldError> {
    let name = name.and_then(|name| FieldError::of_text("name", name, NAME_CHARACTERS));
    let body = body.and_then(|body| FieldError::of_text("body", body, BODY_CHARACTERS));
    name.into_iter().chain(body).collect()
}

#[cfg(test)]
mod tests;
