//! Texts: what one is, how it is shown, what may become of it.
//!
//! [`status`] holds the state machine, [`change`] what one step of it carries along (refund,
//! timeline, events), [`cancel`] the user's own step, [`filter`] the questions a list answers.

use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use crate::account::Mode;
use crate::credits::Credits;
use crate::ids::{AccountId, BatchId, CampaignId, ContactId, MessageId};
use crate::phone::E164;
use crate::route::RouteName;
use crate::text::{Encoding, Segments};
use crate::time::Timestamp;
use crate::unknown_name::UnknownName;

pub mod cancel;
pub mod change;
pub mod error_code;
pub mod filter;
pub mod status;
pub mod store;

pub use error_code::ErrorCode;
pub use filter::MessageFilter;
pub use status::MessageStatus;

/// Whether a text left or came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Sent by the account.
    Outbound,
    /// Sent to the account.
    Inbound,
}

impl Direction {
    /// Every value.
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

/// The words of a text. `Debug` tells its length only, so that no log holds what people write.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Body(Arc<str>);

impl Body {
    /// The words as typed or rendered.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// The words.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Body({} bytes)", self.0.len())
    }
}

/// One text. Serialises to the Message of the API and of webhooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its id; `created_at` is the millisecond the id carries.
    pub id: MessageId,
    /// Whose it is; not part of the serialised form.
    pub account: AccountId,
    /// Sent or received.
    pub direction: Direction,
    /// Where it stands.
    pub status: MessageStatus,
    /// Who it goes to.
    pub to: E164,
    /// Who it comes from: for an outbound text the account's number, also beside a `sender`.
    pub from: E164,
    /// Its words.
    pub body: Body,
    /// How they are coded.
    pub encoding: Encoding,
    /// How many parts they take.
    pub segments: Segments,
    /// What was charged for them.
    pub credits: Credits,
    /// The route that carries it, or brought it.
    pub route: RouteName,
    /// The approved sender name shown instead of `from`.
    pub sender: Option<String>,
    /// The caller's own reference.
    pub client_ref: Option<String>,
    /// The send request it came from.
    pub batch_id: Option<BatchId>,
    /// The campaign it came from.
    pub campaign_id: Option<CampaignId>,
    /// The saved contact it goes to or comes from.
    pub contact_id: Option<ContactId>,
    /// Why it failed or was not delivered.
    pub error: Option<ErrorCode>,
    /// Whether it is real.
    pub mode: Mode,
    /// When it was to leave, if not at once.
    pub scheduled_at: Option<Timestamp>,
    /// When each thing happened to it.
    pub times: Times,
}

/// When each thing happened to a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Times {
    /// It left for the network.
    pub sent_at: Option<Timestamp>,
    /// The handset received it.
    pub delivered_at: Option<Timestamp>,
    /// It failed, or the network gave it up.
    pub failed_at: Option<Timestamp>,
    /// It was cancelled.
    pub cancelled_at: Option<Timestamp>,
    /// It came in.
    pub received_at: Option<Timestamp>,
    /// Somebody marked it as read.
    pub read_at: Option<Timestamp>,
}

impl Times {
    /// When the last thing happened that is known; the epoch when nothing has.
    pub fn latest(&self) -> Timestamp {
        let Self { sent_at, delivered_at, failed_at, cancelled_at, received_at, read_at: _ } = self;
        let known = [sent_at, delivered_at, failed_at, cancelled_at, received_at];
        known.into_iter().flatten().copied().max().unwrap_or(Timestamp::from_millis(0))
    }
}

impl Message {
    /// The other party's number.
    pub fn contact_number(&self) -> E164 {
        match self.direction {
            Direction::Outbound => self.to,
            Direction::Inbound => self.from,
        }
    }

    /// When it was made.
    pub fn created_at(&self) -> Timestamp {
        self.id.timestamp()
    }

    /// When it falls or fell due: its scheduled time, else the moment of acceptance.
    pub fn due_at(&self) -> Timestamp {
        self.scheduled_at.unwrap_or_else(|| self.created_at())
    }

    /// An outbound text as it was when it was accepted: what a replay of the request shows.
    #[must_use]
    pub fn as_accepted(mut self) -> Self {
        self.status = MessageStatus::on_acceptance(self.scheduled_at);
        self.error = None;
        self.times = Times::default();
        self
    }
}

/// One line of a text's history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TimelineEntry {
    /// The status it took.
    pub status: MessageStatus,
    /// What else is known, for people.
    pub detail: Option<String>,
    /// When.
    pub at: Timestamp,
}

/// The wire shape of a [`Message`], in the order of the specification's table.
#[derive(Serialize)]
struct Wire<'a> {
    id: MessageId,
    direction: Direction,
    status: MessageStatus,
    to: E164,
    from: E164,
    contact_number: E164,
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
            from: self.from,
            contact_number: self.contact_number(),
            body: self.body.as_str(),
            encoding: self.encoding,
            segments: self.segments.get(),
            credits: self.credits,
            route: self.route.as_str(),
            sender: self.sender.as_deref(),
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
