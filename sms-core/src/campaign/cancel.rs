//! Cancelling a campaign: one commit says that it is cancelled, and from then on no text of it is
//! taken by a worker; the texts follow in portions, each with its refund.
//!
//! What a worker had taken before is on its way. So the race is decided text by text, and neither a
//! million texts nor a program that dies in the middle holds anybody up: whoever finds texts left
//! over, a worker that would take them or the tidying, cancels them then.

use super::{Campaign, CampaignStatus};
use crate::ids::{AccountId, CampaignId, Ids, MessageId};
use crate::message::Message;
use crate::message::change::{Changed, News, change};
use crate::message::status::Trigger;
use crate::time::Timestamp;

/// So many texts make a good portion.
pub const PORTION: usize = 2_000;

/// The owner's wish to cancel a campaign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CancelPlan {
    /// Whose campaign.
    pub account: AccountId,
    /// Which.
    pub campaign: CampaignId,
    /// When.
    pub at: Timestamp,
}

/// Why a campaign was not cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CancelRefused {
    /// The account has no such campaign.
    #[error("no such campaign")]
    NoSuchCampaign,
    /// It is a draft, has been sent, or was cancelled before.
    #[error("a campaign that is {0} cannot be cancelled")]
    NotCancellable(CampaignStatus),
}

impl CancelPlan {
    /// The campaign after the verdict, as the store finds it under its lock. Its texts are still to
    /// be cancelled.
    pub fn settle(&self, found: Option<Campaign>) -> Result<Campaign, CancelRefused> {
        let mut campaign = found.ok_or(CancelRefused::NoSuchCampaign)?;
        let status = campaign.status(self.at);
        match (&mut campaign.launch, status) {
            (Some(launch), CampaignStatus::Scheduled | CampaignStatus::Sending) => {
                launch.cancelled_at = Some(self.at);
                campaign.updated_at = self.at;
                Ok(campaign)
            }
            _ => Err(CancelRefused::NotCancellable(status)),
        }
    }
}

/// A portion of the texts of a cancelled campaign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SweepPlan {
    /// Whose campaign.
    pub account: AccountId,
    /// Which; only one that was cancelled is swept.
    pub campaign: CampaignId,
    /// Where the portion before ended.
    pub after: Option<MessageId>,
    /// How many texts at most.
    pub limit: usize,
    /// When.
    pub at: Timestamp,
    /// Ids for what cancelling makes.
    pub ids: Ids,
}

impl SweepPlan {
    /// What the sweep does to a text as the store finds it under its lock; nothing to one that is
    /// on its way or past it.
    pub fn settle(&mut self, message: &Message) -> Option<Changed> {
        change(message, &News::new(Trigger::Cancel, self.at), &mut self.ids)
    }
}

/// What a sweep did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Swept {
    /// The last text of the portion: the next one begins after it. None when no text was left, and
    /// the campaign needs no more sweeping.
    pub last: Option<MessageId>,
}
