//! Cancelling a text that is not yet on its way.

use super::change::{Changed, News, change};
use super::status::Trigger;
use super::{Message, MessageStatus};
use crate::ids::{AccountId, Ids, MessageId};
use crate::time::Timestamp;

/// A user's wish to cancel one text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CancelPlan {
    /// Whose text.
    pub account: AccountId,
    /// Which text.
    pub message: MessageId,
    /// When.
    pub at: Timestamp,
    /// Ids for what cancelling makes.
    pub ids: Ids,
}

/// Why a text was not cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CancelRefused {
    /// The account has no such text.
    #[error("no such message")]
    NoSuchMessage,
    /// It is on its way, or past it.
    #[error("a message that is {0} can no longer be cancelled")]
    NotCancellable(MessageStatus),
}

impl CancelPlan {
    /// The verdict on the text as the store finds it under its lock.
    pub fn settle(&mut self, found: Option<&Message>) -> Result<Changed, CancelRefused> {
        let message = found.ok_or(CancelRefused::NoSuchMessage)?;
        change(message, &News::new(Trigger::Cancel, self.at), &mut self.ids)
            .ok_or(CancelRefused::NotCancellable(message.status))
    }
}
