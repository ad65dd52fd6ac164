//! Campaigns: one text to a whole list.

use reqwest::Method;
use serde::{Deserialize, Serialize};

use crate::call::{Answer, Call, KeyedCall, data_and_meta};
use crate::choice::open_choice;
use crate::client::Client;
use crate::ids::{CampaignId, ListId};
use crate::listing::Listing;
use crate::patch::Patch;
use crate::private_text::Words;
use crate::timestamp::Timestamp;

open_choice! {
    /// How far a campaign has come.
    CampaignStatus {
        /// It can still be changed.
        Draft = "draft",
        /// It waits for its time.
        Scheduled = "scheduled",
        /// Its messages are leaving.
        Sending = "sending",
        /// All of its messages have left, or failed.
        Sent = "sent",
        /// It was cancelled.
        Cancelled = "cancelled",
    }
}

/// A campaign.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Campaign {
    /// Its id.
    pub id: CampaignId,
    /// Its name.
    pub name: String,
    /// Its words.
    pub body: Words,
    /// The list that it goes to.
    pub list_id: ListId,
    /// The sender name; `None` for a number.
    pub sender: Option<String>,
    /// Whether the line is added that says how to opt out.
    pub append_opt_out: bool,
    /// Whether links are shortened and tracked.
    pub track_links: bool,
    /// Whether it is sent within quiet hours, too.
    pub ignore_quiet_hours: bool,
    /// How far it has come.
    pub status: CampaignStatus,
    /// When it is to be sent.
    pub scheduled_at: Option<Timestamp>,
    /// When it was launched.
    pub launched_at: Option<Timestamp>,
    /// When its last message had left.
    pub completed_at: Option<Timestamp>,
    /// When it was cancelled.
    pub cancelled_at: Option<Timestamp>,
    /// How many people get a message.
    pub recipients: u64,
    /// How many contacts of the list get none.
    pub rejected: u64,
    /// What it was charged.
    pub credits: u64,
    /// Its messages by status.
    pub counts: CampaignCounts,
    /// Its tracked links.
    pub links: CampaignLinkStats,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it changed last.
    pub updated_at: Timestamp,
}

/// The messages of a campaign by status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CampaignCounts {
    /// Waiting for their time.
    pub scheduled: u64,
    /// Waiting to be handed over.
    pub queued: u64,
    /// Being handed over.
    pub sending: u64,
    /// With the network.
    pub sent: u64,
    /// On the handset.
    pub delivered: u64,
    /// Not deliverable.
    pub undelivered: u64,
    /// Failed before they left.
    pub failed: u64,
    /// Cancelled.
    pub cancelled: u64,
}

/// The tracked links of a campaign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CampaignLinkStats {
    /// Whether links are tracked.
    pub track_links: bool,
    /// How many tracked links were sent.
    pub links: u64,
    /// How often they were followed.
    pub clicks: u64,
    /// How many of them were followed at least once.
    pub unique_clicked: u64,
}

/// A new campaign.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CampaignInput {
    /// Its name.
    pub name: String,
    /// Its words.
    pub body: Words,
    /// The list that it goes to.
    pub list_id: ListId,
    /// An approved sender name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sender: Option<String>,
    /// Whether to add the line that says how to opt out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub append_opt_out: Option<bool>,
    /// Whether to shorten and track links.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub track_links: Option<bool>,
    /// Whether to send within quiet hours, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ignore_quiet_hours: Option<bool>,
}

impl CampaignInput {
    /// A campaign with this name that sends these words to this list.
    pub fn new(name: impl Into<String>, body: impl Into<Words>, list_id: ListId) -> Self {
        Self {
            name: name.into(),
            body: body.into(),
            list_id,
            sender: None,
            append_opt_out: None,
            track_links: None,
            ignore_quiet_hours: None,
        }
    }
}

/// Changes to a draft.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct CampaignPatch {
    /// A new name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// New words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<Words>,
    /// Another list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list_id: Option<ListId>,
    /// An approved sender name.
    #[serde(skip_serializing_if = "Patch::is_keep")]
    pub sender: Patch<String>,
    /// Whether to add the line that says how to opt out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub append_opt_out: Option<bool>,
    /// Whether to shorten and track links.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub track_links: Option<bool>,
    /// Whether to send within quiet hours, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ignore_quiet_hours: Option<bool>,
}

/// How to launch a campaign. The default launches it now, as it is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct CampaignLaunchInput {
    /// When to send; now if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedule_at: Option<Timestamp>,
    /// Whether to shorten and track links.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub track_links: Option<bool>,
    /// Whether to send within quiet hours, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ignore_quiet_hours: Option<bool>,
}

/// What a launch did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchMeta {
    /// Whether the campaign waits for the end of the quiet hours.
    pub quiet_hours_applied: bool,
    /// Whether this is the answer to an earlier request with the same key.
    pub replayed: bool,
}

/// What cancelling a campaign did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CancelMeta {
    /// How many messages were cancelled and refunded.
    pub cancelled_messages: u64,
}

impl Client {
    /// Lists campaigns, newest first.
    pub fn campaign_list(&self) -> Listing<Campaign> {
        self.list(&["campaigns"], &())
    }

    /// Makes a draft.
    pub fn campaign_create(&self, input: &CampaignInput) -> KeyedCall<Campaign> {
        self.post_json(&["campaigns"], input).keyed()
    }

    /// Reads a campaign.
    pub fn campaign_get(&self, id: &CampaignId) -> Call<Campaign> {
        self.get(&["campaigns", id.as_str()])
    }

    /// Changes a draft.
    pub fn campaign_update(&self, id: &CampaignId, patch: &CampaignPatch) -> Call<Campaign> {
        self.patch_json(&["campaigns", id.as_str()], patch)
    }

    /// Deletes a draft.
    pub fn campaign_delete(&self, id: &CampaignId) -> Call<()> {
        self.delete(&["campaigns", id.as_str()])
    }

    /// Launches a campaign.
    pub fn campaign_send(
        &self,
        id: &CampaignId,
        launch: &CampaignLaunchInput,
    ) -> KeyedCall<Answer<Campaign, LaunchMeta>> {
        let path = ["campaigns", id.as_str(), "send"];
        self.send_json(Method::POST, &path, launch, data_and_meta::<Campaign, LaunchMeta>).keyed()
    }

    /// Cancels a scheduled or sending campaign. What has not left is refunded.
    pub fn campaign_cancel(&self, id: &CampaignId) -> Call<Answer<Campaign, CancelMeta>> {
        let path = ["campaigns", id.as_str(), "cancel"];
        self.post_empty(&path, data_and_meta::<Campaign, CancelMeta>)
    }
}
