//! Cancelling a message that has not been submitted.

use super::{Changed, News, change};
use crate::ids::{AccountId, Ids, MessageId};
use crate::message::record::Message;
use crate::message::status::{MessageStatus, Trigger};
use crate::time::Timestamp;

/// A request to cancel one message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CancelPlan {
    /// The account that cancels.
    pub account: AccountId,
    /// The message to cancel.
    pub message: MessageId,
    /// The time of the request.
    pub at: Timestamp,
    /// Ids for the refund and the events.
    pub ids: Ids,
}

/// Why a message was not cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CancelRefused {
    /// The account has no such message.
    #[error("no such message")]
    NoSuchMessage,
    /// It is being handed over, or is in a later state. Carries its status.
    #[error("only a scheduled or queued message can be cancelled; this one is {0}")]
    NotCancellable(MessageStatus),
}

impl CancelPlan {
    /// The verdict on the message that the store found under its lock.
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
    fn a_waiting_message_is_cancelled_refunded_and_raises_no_event() {
        for status in MessageStatus::CANCELLABLE {
            let changed = cancel(Some(&message(status))).unwrap();
            assert_eq!(changed.message.status, MessageStatus::Cancelled);
            assert_eq!(changed.message.times.cancelled_at, Some(now()));
            assert!(changed.refund.is_some());
            assert_eq!(changed.events, []);
        }
    }

    #[test]
    fn any_other_message_is_refused_with_its_status() {
        for status in MessageStatus::ALL.into_iter().filter(|status| !status.is_cancellable()) {
            let refused = Err(CancelRefused::NotCancellable(status));
            assert_eq!(cancel(Some(&message(status))), refused);
        }
        assert_eq!(cancel(None), Err(CancelRefused::NoSuchMessage));
    }
}
