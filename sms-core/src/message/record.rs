//! A message as stores keep it, as the API shows it, and as events carry it.

use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use super::error_code::ErrorCode;
use super::status::MessageStatus;
use crate::credits::Credits;
use crate::ids::{AccountId, BatchId, CampaignId, ContactId, MessageId};
use crate::mode::Mode;
use crate::originator::Originator;
use crate::phone::E164;
use crate::route_name::RouteName;
use crate::text::encoding::{Encoding, Segments};
use crate::time::Timestamp;
use crate::unknown_name::UnknownName;

/// Whether the account sent or received a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Sent by the account.
    Outbound,
    /// Sent to the account.
    Inbound,
}

impl Direction {
    /// Every value. Stores may keep one as its index here: a new value goes to the end.
    pub const ALL: [Self; 2] = [Self::Outbound, Self::Inbound];

    /// The name used in the API and by stores.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Outbound => "outbound",
            Self::Inbound => "inbound",
        }
    }
}

impl std::str::FromStr for Direction {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        let found = [Self::Outbound, Self::Inbound].into_iter().find(|d| d.as_str() == text);
        found.ok_or(UnknownName::of("message direction"))
    }
}

/// The text of a message. `Debug` shows only its length, so that no log contains what people write.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Body(Arc<str>);

impl Body {
    /// A body of this text.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// The text; `Debug` does not show it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Body({} bytes)", self.0.len())
    }
}

/// One message. Serialises to the Message of the API and of webhooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its id, which carries `created_at` in milliseconds.
    pub id: MessageId,
    /// The account that sent or received it; not serialised.
    pub account: AccountId,
    /// Whether the account sent or received it.
    pub direction: Direction,
    /// Its state; see [`status`](super::status).
    pub status: MessageStatus,
    /// The recipient's number; of an inbound message, the operator's number.
    pub to: E164,
    /// The sending number. For an outbound message this is the account's number, even if `sender`
    /// is set. For an inbound one it is the [number](Originator::number) of its
    /// [originator](Self::originator).
    pub from: E164,
    /// Its text, after merging and with the opt-out line and short links, if any.
    pub body: Body,
    /// GSM 7-bit or UCS-2.
    pub encoding: Encoding,
    /// The number of segments; each is one SMS.
    pub segments: Segments,
    /// The credits charged for it, one for each segment; zero for a test or inbound message. Stays
    /// as it is after a refund.
    pub credits: Credits,
    /// The route that carries an outbound message, or that received an inbound one.
    pub route: RouteName,
    /// The name in place of `from`: the approved sender name that recipients of an outbound message
    /// see, or the short code or name that an inbound message came from; `None` if there is none.
    pub sender: Option<String>,
    /// The caller's own reference, at most 64 characters; `None` if none was given.
    pub client_ref: Option<String>,
    /// The send or launch that created it; `None` for an inbound message.
    pub batch_id: Option<BatchId>,
    /// The campaign that it belongs to; `None` if it belongs to none.
    pub campaign_id: Option<CampaignId>,
    /// The saved contact that the other party is; `None` if the number was not a contact.
    pub contact_id: Option<ContactId>,
    /// Why it failed or was not delivered; `None` in all other states.
    pub error: Option<ErrorCode>,
    /// The kind of key that sent it. A test message reaches no network and costs nothing.
    pub mode: Mode,
    /// The time that it was scheduled for; `None` if it was sent at once.
    pub scheduled_at: Option<Timestamp>,
    /// When it reached each state.
    pub times: Times,
}

/// When a message reached each state; `None` for a state that it has not reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Times {
    /// When it was handed over to the network.
    pub sent_at: Option<Timestamp>,
    /// When the network reported its delivery to the handset.
    pub delivered_at: Option<Timestamp>,
    /// When it failed, or when the network reported that it was not delivered.
    pub failed_at: Option<Timestamp>,
    /// When it was cancelled.
    pub cancelled_at: Option<Timestamp>,
    /// When it was received; set for inbound messages only.
    pub received_at: Option<Timestamp>,
    /// When it was marked as read; set for inbound messages only.
    pub read_at: Option<Timestamp>,
}

impl Times {
    /// The latest of these times; the epoch if none is set.
    pub fn latest(&self) -> Timestamp {
        let Self { sent_at, delivered_at, failed_at, cancelled_at, received_at, read_at: _ } = self;
        let known = [sent_at, delivered_at, failed_at, cancelled_at, received_at];
        known.into_iter().flatten().copied().max().unwrap_or(Timestamp::from_millis(0))
    }
}

impl Message {
    /// Who sent it: the account's number, or for an inbound message the number, short code or name
    /// that it came from.
    pub fn originator(&self) -> Originator {
        let name = self.sender.clone().filter(|_| self.direction == Direction::Inbound);
        Originator::kept(self.from, name)
    }

    /// The other party: the recipient, or the [originator](Self::originator) of an inbound message.
    pub fn other_party(&self) -> Originator {
        match self.direction {
            Direction::Outbound => self.to.into(),
            Direction::Inbound => self.originator(),
        }
    }

    /// The number of the other party, by which its messages are found.
    pub fn contact_number(&self) -> E164 {
        match self.direction {
            Direction::Outbound => self.to,
            Direction::Inbound => self.from,
        }
    }

    /// When it was created, in milliseconds, from its id.
    pub fn created_at(&self) -> Timestamp {
        self.id.timestamp()
    }

    /// When it is due: its scheduled time, else the time of acceptance.
    pub fn due_at(&self) -> Timestamp {
        self.scheduled_at.unwrap_or_else(|| self.created_at())
    }

    /// An outbound message as it was when it was accepted, which is what a replay of the send
    /// returns.
    #[must_use]
    pub fn as_accepted(mut self) -> Self {
        self.status = MessageStatus::on_acceptance(self.scheduled_at);
        self.error = None;
        self.times = Times::default();
        self
    }
}

/// One line of a message's timeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TimelineEntry {
    /// The status of the message at this time.
    pub status: MessageStatus,
    /// An explanation for people, at most 300 characters; `None` if there is none.
    pub detail: Option<String>,
    /// When it happened, UTC, to the millisecond.
    pub at: Timestamp,
}

/// The serialised form of a [`Message`], in the order of the specification's table.
#[derive(Serialize)]
struct Wire<'a> {
    id: MessageId,
    direction: Direction,
    status: MessageStatus,
    to: E164,
    from: Originator,
    contact_number: Originator,
    body: &'a str,
    encoding: Encoding,
    segments: u32,
    credits: Credits,
    route: &'a str,
    sender: Option<&'a str>,
    client_ref: Option<&'a str>,
    batch_id: Option<BatchId>,
    campaign_id: Option<CampaignId>,
    contact_id: Option<ContactId>,
    error_code: Option<&'a str>,
    error_message: Option<&'a str>,
    test: bool,
    scheduled_at: Option<Timestamp>,
    sent_at: Option<Timestamp>,
    delivered_at: Option<Timestamp>,
    failed_at: Option<Timestamp>,
    cancelled_at: Option<Timestamp>,
    received_at: Option<Timestamp>,
    read_at: Option<Timestamp>,
    created_at: Timestamp,
}

impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let wire = Wire {
            id: self.id,
            direction: self.direction,
            status: self.status,
            to: self.to,
            from: self.originator(),
            contact_number: self.other_party(),
            body: self.body.as_str(),
            encoding: self.encoding,
            segments: self.segments.get(),
            credits: self.credits,
            route: self.route.as_str(),
            sender: self.sender.as_deref().filter(|_| self.direction == Direction::Outbound),
            client_ref: self.client_ref.as_deref(),
            batch_id: self.batch_id,
            campaign_id: self.campaign_id,
            contact_id: self.contact_id,
            error_code: self.error.map(ErrorCode::as_str),
            error_message: self.error.map(ErrorCode::message),
            test: self.mode.is_test(),
            scheduled_at: self.scheduled_at,
            sent_at: self.times.sent_at,
            delivered_at: self.times.delivered_at,
            failed_at: self.times.failed_at,
            cancelled_at: self.times.cancelled_at,
            received_at: self.times.received_at,
            read_at: self.times.read_at,
            created_at: self.created_at(),
        };
        wire.serialize(serializer)
    }
}

#[cfg(test)]
mod tests;
