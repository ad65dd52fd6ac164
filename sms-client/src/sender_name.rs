//! Sender names, and whether they are approved.

use serde::{Deserialize, Serialize};

use crate::call::{Call, KeyedCall};
use crate::choice::open_choice;
use crate::client::Client;
use crate::ids::SenderNameId;
use crate::timestamp::Timestamp;

open_choice! {
    /// How far the review of a sender name has come.
    SenderStatus {
        /// It waits for review.
        Pending = "pending",
        /// It may be used.
        Approved = "approved",
        /// It may not be used.
        Rejected = "rejected",
    }
}

/// A sender name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SenderName {
    /// Its id.
    pub id: SenderNameId,
    /// The name.
    pub value: String,
    /// What it is for.
    pub purpose: Option<String>,
    /// How far its review has come.
    pub status: SenderStatus,
    /// Why it was rejected.
    pub reason: Option<String>,
    /// When it was requested.
    pub created_at: Timestamp,
    /// When it was reviewed.
    pub reviewed_at: Option<Timestamp>,
}

/// A sender name to request.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct SenderNameInput {
    /// The name, 3 to 11 characters.
    pub value: String,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub purpose: Option<String>,
}

impl Client {
    /// Lists sender names.
    pub fn sender_name_list(&self) -> Call<Vec<SenderName>> {
        self.get(&["sender-ids"])
    }

    /// Requests a sender name.
    pub fn sender_name_create(&self, input: &SenderNameInput) -> KeyedCall<SenderName> {
        self.post_json(&["sender-ids"], input).keyed()
    }
}
