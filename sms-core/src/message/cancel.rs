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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{account_id, ids, message, message_id, now};

    fn cancel(found: Option<&Message>) -> Result<Changed, CancelRefused> {
        let account = account_id();
        CancelPlan { account, message: message_id(), at: now(), ids: ids() }.settle(found)
    }

    #[test]
    fn a_text_not_yet_on_its_way_is_cancelled_refunded_and_raises_no_event() {
        for status in MessageStatus::CANCELLABLE {
            let changed = cancel(Some(&message(status))).unwrap();
            assert_eq!(changed.message.status, MessageStatus::Cancelled);
            assert_eq!(changed.message.times.cancelled_at, Some(now()));
            assert!(changed.refund.is_some());
            assert_eq!(changed.events, []);
        }
    }

    #[test]
    fn any_other_text_is_refused_with_the_status_it_has() {
        for status in MessageStatus::ALL.into_iter().filter(|status| !status.is_cancellable()) {
            let refused = Err(CancelRefused::NotCancellable(status));
            assert_eq!(cancel(Some(&message(status))), refused);
        }
        assert_eq!(cancel(None), Err(CancelRefused::NoSuchMessage));
    }
}
