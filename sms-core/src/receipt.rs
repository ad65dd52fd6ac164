//! Receipts (DLRs): what a network says became of a text that left.

use crate::ids::{FollowUpId, Ids, MessageId};
use crate::message::change::{Changed, News, change};
use crate::message::status::Trigger;
use crate::message::{ErrorCode, Message};
use crate::time::Timestamp;

pub mod store;

/// What a receipt says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReceiptStatus {
    /// The handset received the text.
    Delivered,
    /// The network could not deliver it.
    Undelivered(ErrorCode),
}

/// A receipt as a route reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// The text it is about.
    pub message: MessageId,
    /// What it says.
    pub status: ReceiptStatus,
}

impl Receipt {
    /// A receipt for `message`.
    pub fn new(message: MessageId, status: ReceiptStatus) -> Self {
        Self { message, status }
    }
}

/// A receipt to be recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceiptPlan {
    /// What the route reported.
    pub receipt: Receipt,
    /// When it came.
    pub at: Timestamp,
    /// Ids for what recording makes.
    pub ids: Ids,
    /// The simulated comeback that this receipt fulfils; if it is no longer there the receipt was
    /// recorded before, and nothing is written.
    pub follow_up: Option<FollowUpId>,
}

impl ReceiptPlan {
    /// What the receipt changes about the text as the store finds it under its lock; `None` when
    /// it is late or repeated news.
    pub fn settle(&mut self, message: &Message) -> Option<Changed> {
        let news = match self.receipt.status {
            ReceiptStatus::Delivered => News::new(Trigger::Deliver, self.at),
            ReceiptStatus::Undelivered(error) => News::undelivered(error, self.at),
        };
        change(message, &news, &mut self.ids)
    }
}

/// What became of a receipt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recorded {
    /// The text changed; here it is as it is now.
    Changed(Message),
    /// It was late or repeated news; here is the text as it was and is.
    Unchanged(Message),
    /// No text has this id.
    NoSuchMessage,
    /// The simulated comeback was fulfilled before.
    AlreadyDone,
}
