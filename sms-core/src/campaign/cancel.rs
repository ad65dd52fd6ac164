//! Cancelling a campaign. One commit marks it as cancelled. From then on no worker claims its
//! messages. The messages are then cancelled in portions, each with its refund.
//!
//! Messages that a worker claimed before are still sent, so the race is decided message by message.
//! Neither a million messages nor a program that dies midway blocks anything: a worker that would
//! claim a leftover message cancels it, or tidying does.

use super::{Campaign, CampaignStatus};
use crate::change::{Changed, News, change};
use crate::ids::{AccountId, CampaignId, Ids, MessageId};
use crate::message::record::Message;
use crate::message::status::Trigger;
use crate::time::Timestamp;

/// How many messages a portion has.
pub const PORTION: usize = 2_000;

/// A request to cancel a campaign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CancelPlan {
    /// The account that cancels.
    pub account: AccountId,
    /// The campaign to cancel.
    pub campaign: CampaignId,
    /// The time of the request.
    pub at: Timestamp,
}

/// Why a campaign was not cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CancelRefused {
    /// The account has no such campaign.
    #[error("no such campaign")]
    NoSuchCampaign,
    /// It is a draft, has been sent, or was cancelled before. Carries its status.
    #[error("only a scheduled or sending campaign can be cancelled; this one is {0}")]
    NotCancellable(CampaignStatus),
}

impl CancelPlan {
    /// The campaign marked as cancelled, given the one that the store found under its lock. Its
    /// messages are cancelled afterwards.
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

/// A request to cancel a portion of the messages of a cancelled campaign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SweepPlan {
    /// The account that the campaign belongs to.
    pub account: AccountId,
    /// The campaign, which has to be cancelled.
    pub campaign: CampaignId,
    /// The last message of the portion before; `None` for the first portion.
    pub after: Option<MessageId>,
    /// The most messages to process.
    pub limit: usize,
    /// The time of the request.
    pub at: Timestamp,
    /// Ids for the refunds and the events.
    pub ids: Ids,
}

impl SweepPlan {
    /// What the sweep does to a message that the store found under its lock; `None` if the message
    /// has been claimed or is in a later state.
    pub fn settle(&mut self, message: &Message) -> Option<Changed> {
        change(message, &News::new(Trigger::Cancel, self.at), &mut self.ids)
    }
}

/// The result of a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Swept {
    /// The last message of the portion, after which the next one begins; `None` if no message was
    /// left and the campaign needs no more sweeping.
    pub last: Option<MessageId>,
}
