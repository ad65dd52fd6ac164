//! A launched campaign.

use std::collections::BTreeSet;

use sms_core::ids::{AccountId, MessageId};

/// The expected state of a launched campaign.
#[derive(Debug)]
pub struct CampaignModel {
    /// Whose it is.
    pub account: AccountId,
    /// Its messages, oldest first.
    pub messages: BTreeSet<MessageId>,
    /// Whether it was cancelled.
    pub cancelled: bool,
}
