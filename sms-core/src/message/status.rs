//! The state machine of a message: which trigger leads to which status.
//!
//! ```text
//! (accepted) ─> queued ────┐
//!          └──> scheduled ─┴─> sending ──> sent ──> delivered
//!                   │             │          └────> undelivered ──> delivered
//!                   ├─> cancelled ├─> cancelled
//!                   └─> failed    └─> failed          (inbound) ──> received
//! ```

use std::fmt;

use serde::{Serialize, Serializer};

use crate::time::Timestamp;
use crate::unknown_name::UnknownName;
/// The status of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MessageStatus {
    /// Accepted for a later time.
    Scheduled,
    /// Accepted and due now, until a worker claims it.
    Queued,
    /// Claimed by a worker, which hands it over to its route.
    Sending,
    /// Handed over to the network, which has not reported its delivery.
    Sent,
    /// The handset received it. Final.
    Delivered,
    /// The network could not deliver it. Final, unless a later receipt reports its delivery.
    Undelivered,
    /// It was not sent, and was refunded. Final.
    Failed,
    /// It was cancelled and refunded. Final.
    Cancelled,
    /// An inbound message. Final.
    Received,
}

/// What happens to a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Trigger {
    /// A worker claims it.
    Claim,
    /// A route hands it over to the network.
    Leave,
    /// It cannot be sent.
    Fail,
    /// The network reports that the handset received it.
    Deliver,
    /// The network reports that it could not be delivered.
    Undeliver,
    /// The account cancels it.
    Cancel,
    /// Its campaign was cancelled before it was submitted.
    CallOff,
}

/// What a trigger does to a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    /// It enters this status.
    To(MessageStatus),
    /// It enters the first status and then the second. A receipt that arrives before the hand-over
    /// is recorded proves that the message was sent.
    Through(MessageStatus, MessageStatus),
    /// It stays as it is, because it is already past this step. Late and repeated news never moves
    /// a message backwards.
    Stay,
}

impl MessageStatus {
    /// Every status, in the order of the specification.
    pub const ALL: [Self; 9] = [
        Self::Scheduled,
        Self::Queued,
        Self::Sending,
        Self::Sent,
        Self::Delivered,
        Self::Undelivered,
        Self::Failed,
        Self::Cancelled,
        Self::Received,
    ];

    /// The statuses from which a message can be cancelled: no worker has claimed it.
    pub const CANCELLABLE: [Self; 2] = [Self::Scheduled, Self::Queued];

    /// The statuses of messages that a worker may claim. A `sending` message is claimed again when
    /// the lease of its worker has run out.
    pub const CLAIMABLE: [Self; 3] = [Self::Scheduled, Self::Queued, Self::Sending];

    /// The name used in the API and by stores.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Scheduled => "scheduled",
            Self::Queued => "queued",
            Self::Sending => "sending",
            Self::Sent => "sent",
            Self::Delivered => "delivered",
            Self::Undelivered => "undelivered",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Received => "received",
        }
    }

    /// The first status of an outbound message: `scheduled` with a time, else `queued`.
    pub fn on_acceptance(scheduled_at: Option<Timestamp>) -> Self {
        if scheduled_at.is_some() { Self::Scheduled } else { Self::Queued }
    }

    /// Whether nothing more is expected to happen to the message.
    pub fn is_final(self) -> bool {
        !matches!(self, Self::Scheduled | Self::Queued | Self::Sending | Self::Sent)
    }

    /// Whether the message can be cancelled.
    pub fn is_cancellable(self) -> bool {
        Self::CANCELLABLE.contains(&self)
    }

    /// What `trigger` does to a message in this status.
    pub fn after(self, trigger: Trigger) -> Step {
        use MessageStatus as S;
        match (self, trigger) {
            (S::Scheduled | S::Queued, Trigger::Claim) => Step::To(S::Sending),
            (S::Scheduled | S::Queued, Trigger::Cancel)
            | (S::Scheduled | S::Queued | S::Sending, Trigger::CallOff) => Step::To(S::Cancelled),
            (S::Scheduled | S::Queued | S::Sending, Trigger::Fail) => Step::To(S::Failed),
            (S::Sending, Trigger::Leave) => Step::To(S::Sent),
            (S::Sending, Trigger::Deliver) => Step::Through(S::Sent, S::Delivered),
            (S::Sending, Trigger::Undeliver) => Step::Through(S::Sent, S::Undelivered),
            (S::Sent | S::Undelivered, Trigger::Deliver) => Step::To(S::Delivered),
            (S::Sent, Trigger::Undeliver) => Step::To(S::Undelivered),
            _ => Step::Stay,
        }
    }
}

impl fmt::Display for MessageStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::str::FromStr for MessageStatus {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        Self::ALL
            .into_iter()
            .find(|status| status.as_str() == text)
            .ok_or(UnknownName::of("message status"))
    }
}

impl Serialize for MessageStatus {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::MessageStatus::{
        Cancelled, Delivered, Failed, Queued, Received, Scheduled, Sending, Sent, Undelivered,
    };
    use super::*;

    const TRIGGERS: [Trigger; 7] = [
        Trigger::Claim,
        Trigger::Leave,
        Trigger::Fail,
        Trigger::Deliver,
        Trigger::Undeliver,
        Trigger::Cancel,
        Trigger::CallOff,
    ];

    #[test]
    fn every_status_follows_the_specification_on_every_trigger() {
        use Step::{Stay, Through, To};
        let table = [
            // from, and where claim, leave, fail, deliver, undeliver, cancel and call off lead
            (Scheduled, [To(Sending), Stay, To(Failed), Stay, Stay, To(Cancelled), To(Cancelled)]),
            (Queued, [To(Sending), Stay, To(Failed), Stay, Stay, To(Cancelled), To(Cancelled)]),
            (
                Sending,
                [
                    Stay,
                    To(Sent),
                    To(Failed),
                    Through(Sent, Delivered),
                    Through(Sent, Undelivered),
                    Stay,
                    To(Cancelled),
                ],
            ),
            (Sent, [Stay, Stay, Stay, To(Delivered), To(Undelivered), Stay, Stay]),
            (Delivered, [Stay; 7]),
            (Undelivered, [Stay, Stay, Stay, To(Delivered), Stay, Stay, Stay]),
            (Failed, [Stay; 7]),
            (Cancelled, [Stay; 7]),
            (Received, [Stay; 7]),
        ];
        assert_eq!(table.len(), MessageStatus::ALL.len());
        for (from, steps) in table {
            for (trigger, step) in TRIGGERS.into_iter().zip(steps) {
                assert_eq!(from.after(trigger), step, "{from} {trigger:?}");
            }
        }
    }

    #[test]
    fn only_a_waiting_message_can_be_cancelled() {
        for status in MessageStatus::ALL {
            let cancelled = status.after(Trigger::Cancel) == Step::To(Cancelled);
            assert_eq!(status.is_cancellable(), cancelled, "{status}");
        }
    }

    #[test]
    fn a_message_that_expects_no_more_news_is_final() {
        for status in MessageStatus::ALL {
            let waits = matches!(status, Scheduled | Queued | Sending | Sent);
            assert_eq!(status.is_final(), !waits, "{status}");
            assert_eq!(status.to_string(), status.as_str());
        }
    }

    #[test]
    fn final_statuses_stay_except_when_an_undelivered_message_is_delivered() {
        for status in MessageStatus::ALL.into_iter().filter(|status| status.is_final()) {
            for trigger in TRIGGERS {
                let expected = match (status, trigger) {
                    (Undelivered, Trigger::Deliver) => Step::To(Delivered),
                    _ => Step::Stay,
                };
                assert_eq!(status.after(trigger), expected, "{status} {trigger:?}");
            }
        }
    }

    #[test]
    fn names_read_back() {
        for status in MessageStatus::ALL {
            assert_eq!(status.as_str().parse(), Ok(status));
        }
        assert!("SENT".parse::<MessageStatus>().is_err());
    }
}
