//! Delivery receipts (DLRs): a network's report on whether a message was delivered.

use crate::change::{Changed, News, change};
use crate::ids::{FollowUpId, Ids, MessageId};
use crate::message::error_code::ErrorCode;
use crate::message::record::Message;
use crate::message::status::Trigger;
use crate::time::Timestamp;

pub mod report;
pub mod store;
pub mod unmatched;

/// What a receipt reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReceiptStatus {
    /// The handset received the message.
    Delivered,
    /// The network could not deliver it.
    Undelivered(ErrorCode),
}

/// A receipt as a route reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// The message that it is about.
    pub message: MessageId,
    /// That it was delivered, or why it was not.
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
    /// The receipt as the route reported it.
    pub receipt: Receipt,
    /// When it arrived, UTC; becomes the `delivered_at` or `failed_at` of the message.
    pub at: Timestamp,
    /// Ids for the refund and the events.
    pub ids: Ids,
    /// The simulated follow-up that this receipt fulfils; `None` for a receipt from a network. If
    /// the follow-up no longer exists, the receipt is already recorded and nothing is written.
    pub follow_up: Option<FollowUpId>,
}

impl ReceiptPlan {
    /// What the receipt changes about the message that the store found under its lock; `None` for
    /// late or repeated news.
    pub fn settle(&mut self, message: &Message) -> Option<Changed> {
        let news = match self.receipt.status {
            ReceiptStatus::Delivered => News::new(Trigger::Deliver, self.at),
            ReceiptStatus::Undelivered(error) => News::undelivered(error, self.at),
        };
        change(message, &news, &mut self.ids)
    }
}

/// The result of recording a receipt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recorded {
    /// The message changed. Carries the message after the change.
    Changed(Message),
    /// The receipt was late or repeated. Carries the unchanged message.
    Unchanged(Message),
    /// No message has this id.
    NoSuchMessage,
    /// The simulated follow-up was fulfilled before.
    AlreadyDone,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::MessageStatus;
    use crate::samples::{ids, message, message_id, now};

    fn settle(status: ReceiptStatus, message: &Message) -> Option<Changed> {
        let receipt = Receipt::new(message_id(), status);
        ReceiptPlan { receipt, at: now(), ids: ids(), follow_up: None }.settle(message)
    }

    #[test]
    fn a_receipt_changes_only_a_message_that_is_sending_sent_or_undelivered() {
        use MessageStatus as S;
        let undelivered = ReceiptStatus::Undelivered(ErrorCode::UnknownSubscriber);
        for status in MessageStatus::ALL {
            let (by_delivered, by_undelivered) = match status {
                S::Sending | S::Sent => (Some(S::Delivered), Some(S::Undelivered)),
                S::Undelivered => (Some(S::Delivered), None),
                _ => (None, None),
            };
            let message = message(status);
            let became = |receipt| settle(receipt, &message).map(|changed| changed.message.status);
            assert_eq!(became(ReceiptStatus::Delivered), by_delivered, "{status}");
            assert_eq!(became(undelivered), by_undelivered, "{status}");
        }
    }

    #[test]
    fn a_delivered_message_has_a_time_an_undelivered_one_an_error_and_neither_is_refunded() {
        let sent = message(MessageStatus::Sent);
        let delivered = settle(ReceiptStatus::Delivered, &sent).unwrap();
        assert_eq!(delivered.message.times.delivered_at, Some(now()));
        assert_eq!((delivered.message.error, delivered.refund), (None, None));
        for error in ErrorCode::ALL {
            let undelivered = settle(ReceiptStatus::Undelivered(error), &sent).unwrap();
            assert_eq!(undelivered.message.error, Some(error));
            assert_eq!(undelivered.message.times.failed_at, Some(now()));
            assert_eq!(undelivered.refund, None);
        }
    }

    #[test]
    fn the_same_receipt_again_changes_nothing() {
        for receipt in
            [ReceiptStatus::Delivered, ReceiptStatus::Undelivered(ErrorCode::AbsentSubscriber)]
        {
            let once = settle(receipt, &message(MessageStatus::Sent)).unwrap();
            assert_eq!(settle(receipt, &once.message), None);
        }
    }

    #[test]
    fn in_any_order_of_two_receipts_a_delivered_one_wins() {
        let undelivered = ReceiptStatus::Undelivered(ErrorCode::AbsentSubscriber);
        for order in
            [[ReceiptStatus::Delivered, undelivered], [undelivered, ReceiptStatus::Delivered]]
        {
            let mut text = message(MessageStatus::Sent);
            for receipt in order {
                text = settle(receipt, &text).map_or(text, |changed| changed.message);
            }
            assert_eq!((text.status, text.error), (MessageStatus::Delivered, None));
            assert_eq!(text.times.failed_at, None);
        }
    }
}
