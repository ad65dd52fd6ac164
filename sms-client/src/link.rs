//! Tracked links.

use serde::{Deserialize, Serialize};

use crate::call::Call;
use crate::client::Client;
use crate::ids::{CampaignId, LinkId, MessageId};
use crate::listing::Listing;
use crate::private_text::Phone;
use crate::timestamp::Timestamp;

/// A tracked link: one for each URL and recipient.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// Its id.
    pub id: LinkId,
    /// The short code.
    pub code: String,
    /// The short URL.
    pub short_url: String,
    /// Where it leads.
    pub url: String,
    /// The message that has it.
    pub message_id: MessageId,
    /// The campaign that has it.
    pub campaign_id: Option<CampaignId>,
    /// The recipient.
    pub contact_number: Option<Phone>,
    /// How often it was followed.
    pub clicks: u64,
    /// When it was followed first.
    pub first_clicked_at: Option<Timestamp>,
    /// When it was followed last.
    pub last_clicked_at: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
}

/// Which links a list has.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct LinkFilter {
    /// Only those of this campaign.
    pub campaign_id: Option<CampaignId>,
    /// Only those of this message.
    pub message_id: Option<MessageId>,
}

impl Client {
    /// Lists tracked links, newest first.
    pub fn link_list(&self, filter: &LinkFilter) -> Listing<Link> {
        self.list(&["links"], filter)
    }

    /// Reads a tracked link.
    pub fn link_get(&self, id: &LinkId) -> Call<Link> {
        self.get(&["links", id.as_str()])
    }
}
