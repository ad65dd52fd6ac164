//! Events: what webhook endpoints receive, as in the specification's Events table.

use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use crate::ids::{AccountId, CampaignId, EventId, Ids, LinkId, MessageId};
use crate::message::record::Message;
use crate::opt_out::OptOut;
use crate::phone::E164;
use crate::time::Timestamp;
use crate::unknown_name::UnknownName;
use replies_paused::RepliesPaused;

mod bytes;
pub mod kept;
pub mod kinds;
pub mod log;
pub mod position;
pub(crate) mod replies_paused;
pub mod row;
pub mod store;

/// The kinds of event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EventType {
    /// A message was handed over to the network.
    MessageSent,
    /// The network confirmed that the handset received a message.
    MessageDelivered,
    /// A message failed before it was sent, or the network could not deliver it.
    MessageFailed,
    /// A person sent a message to one of the account's numbers.
    MessageReceived,
    /// A number sent STOP or a similar word and is now opted out.
    OptOutCreated,
    /// A person followed a tracked link.
    LinkClicked,
    /// Automatic replies reached a bound and pause.
    RepliesPaused,
    /// The account requested a test of an endpoint. Endpoints cannot subscribe to it.
    WebhookTest,
}

impl EventType {
    /// The kinds that an endpoint may subscribe to, in the order of the specification.
    pub const SUBSCRIBABLE: [Self; 7] = [
        Self::MessageSent,
        Self::MessageDelivered,
        Self::MessageFailed,
        Self::MessageReceived,
        Self::OptOutCreated,
        Self::LinkClicked,
        Self::RepliesPaused,
    ];

    /// The name used in the API and by stores.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MessageSent => "message.sent",
            Self::MessageDelivered => "message.delivered",
            Self::MessageFailed => "message.failed",
            Self::MessageReceived => "message.received",
            Self::OptOutCreated => "opt_out.created",
            Self::LinkClicked => "link.clicked",
            Self::RepliesPaused => "replies.paused",
            Self::WebhookTest => "webhook.test",
        }
    }
}

impl fmt::Display for EventType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::str::FromStr for EventType {
    type Err = UnknownName;

    /// Parses the name of a kind that endpoints can subscribe to.
    fn from_str(text: &str) -> Result<Self, UnknownName> {
        Self::SUBSCRIBABLE
            .into_iter()
            .find(|kind| kind.as_str() == text)
            .ok_or(UnknownName::of("event type"))
    }
}

impl Serialize for EventType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// The data of an event, by its kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventData {
    /// The message as it was once handed over to the network.
    MessageSent(Box<Message>),
    /// The message as it was once the handset had received it.
    MessageDelivered(Box<Message>),
    /// The message as it was once it failed (refunded) or was undelivered (not refunded).
    MessageFailed(Box<Message>),
    /// The inbound message as it was recorded.
    MessageReceived(Box<Message>),
    /// The opt-out that the number's message created.
    OptOutCreated(OptOut),
    /// One click, with the count of clicks after it.
    LinkClicked(LinkClick),
    /// The pause, and the bound that caused it.
    RepliesPaused(RepliesPaused),
    /// A fixed sentence; no event of the account.
    WebhookTest(TestPing),
}

/// The data of a `link.clicked` event: one click on a tracked link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LinkClick {
    /// The link that was followed.
    pub link_id: LinkId,
    /// Its short code, 10 characters.
    pub code: String,
    /// The URL that the short link leads to.
    pub url: String,
    /// The message that contains it.
    pub message_id: Option<MessageId>,
    /// The campaign of that message; `None` if it belongs to none.
    pub campaign_id: Option<CampaignId>,
    /// The recipient of the message.
    pub contact_number: Option<E164>,
    /// How many clicks the link has had, including this one.
    pub clicks: u64,
    /// When the click happened.
    pub clicked_at: Timestamp,
}

/// The data of a `webhook.test` event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TestPing {
    /// A sentence for people who read the receiver's log.
    pub message: &'static str,
}

impl EventData {
    /// The kind of event that has this data.
    pub fn kind(&self) -> EventType {
        match self {
            Self::MessageSent(_) => EventType::MessageSent,
            Self::MessageDelivered(_) => EventType::MessageDelivered,
            Self::MessageFailed(_) => EventType::MessageFailed,
            Self::MessageReceived(_) => EventType::MessageReceived,
            Self::OptOutCreated(_) => EventType::OptOutCreated,
            Self::LinkClicked(_) => EventType::LinkClicked,
            Self::RepliesPaused(_) => EventType::RepliesPaused,
            Self::WebhookTest(_) => EventType::WebhookTest,
        }
    }
}

impl Serialize for EventData {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::MessageSent(message)
            | Self::MessageDelivered(message)
            | Self::MessageFailed(message)
            | Self::MessageReceived(message) => message.serialize(serializer),
            Self::OptOutCreated(opt_out) => opt_out.serialize(serializer),
            Self::LinkClicked(click) => click.serialize(serializer),
            Self::RepliesPaused(pause) => pause.serialize(serializer),
            Self::WebhookTest(ping) => ping.serialize(serializer),
        }
    }
}

/// Something that happened in an account and that its endpoints may subscribe to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Its id, the same in every delivery.
    pub id: EventId,
    /// The account that it happened in.
    pub account: AccountId,
    /// When it happened, UTC, to the millisecond; not when it was delivered.
    pub created_at: Timestamp,
    /// Its kind and data.
    pub data: EventData,
}

/// The events of one plan, which have to become deliveries.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "events have to become deliveries in the commit that raises them"]
pub struct Raised {
    /// The events, in order.
    pub events: Vec<Event>,
    /// The plan's remaining ids, which name the deliveries.
    pub ids: Ids,
}

/// The body of an event's deliveries. `Debug` shows only its length.
#[derive(Clone, PartialEq, Eq)]
pub struct EventBody(Arc<str>);

impl EventBody {
    /// A body as a store kept it.
    pub fn from_stored(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// The JSON, for sending without a copy.
    pub fn into_text(self) -> Arc<str> {
        self.0
    }

    /// The JSON, exactly as signed and sent.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for EventBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EventBody({} bytes)", self.0.len())
    }
}

impl Event {
    /// An event that happened at `at`.
    pub fn new(account: AccountId, data: EventData, at: Timestamp, ids: &mut Ids) -> Self {
        Self { id: ids.next(), account, created_at: at, data }
    }

    /// The bytes of every delivery of this event: `{ id, type, created_at, data }`.
    #[expect(clippy::missing_panics_doc, reason = "plain structs become JSON without fail")]
    pub fn body(&self) -> EventBody {
        #[derive(Serialize)]
        struct Wire<'a> {
            id: EventId,
            r#type: EventType,
            created_at: Timestamp,
            data: &'a EventData,
        }
        let wire = Wire {
            id: self.id,
            r#type: self.data.kind(),
            created_at: self.created_at,
            data: &self.data,
        };
        // Serialising plain structs with string keys into memory cannot fail.
        EventBody(serde_json::to_string(&wire).expect("an event is JSON").into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keyword::reply_limit::PauseReason;
    use crate::message::MessageStatus;
    use crate::opt_out::OptOutSource;
    use crate::samples::{account_id, compact, ids, message, message_id, now, person};

    fn text(status: MessageStatus) -> Box<Message> {
        let client_ref = (status != MessageStatus::Received).then(|| "booking-42".to_owned());
        Box::new(Message { client_ref, ..message(status) })
    }

    /// The data of every kind of event; a failure occurs twice, for its two causes.
    fn every_data() -> [EventData; 9] {
        let opt_out =
            OptOut { phone: person(), source: OptOutSource::Sms, note: None, created_at: now() };
        let click = LinkClick {
            link_id: LinkId::from_u128(1),
            code: "4fJ0aZk9Qx".to_owned(),
            url: "https://example.com/menu".to_owned(),
            message_id: Some(message_id()),
            campaign_id: None,
            contact_number: Some(person()),
            clicks: 2,
            clicked_at: now(),
        };
        [
            EventData::MessageSent(text(MessageStatus::Sent)),
            EventData::MessageDelivered(text(MessageStatus::Delivered)),
            EventData::MessageFailed(text(MessageStatus::Failed)),
            EventData::MessageFailed(text(MessageStatus::Undelivered)),
            EventData::MessageReceived(text(MessageStatus::Received)),
            EventData::OptOutCreated(opt_out),
            EventData::LinkClicked(click),
            EventData::RepliesPaused(RepliesPaused {
                keyword_id: None,
                keyword: None,
                reason: PauseReason::PerMinute,
                limit: 100,
                paused_until: now(),
            }),
            EventData::WebhookTest(TestPing {
                message: "This is a test of your webhook endpoint.",
            }),
        ]
    }

    #[test]
    fn events_are_written_exactly_as_the_golden_file_shows() {
        let bodies: Vec<String> = (1..)
            .zip(every_data())
            .map(|(number, data)| {
                let id = EventId::from_u128(number);
                let event = Event { id, account: account_id(), created_at: now(), data };
                event.body().as_str().to_owned()
            })
            .collect();
        let golden = compact(include_str!("../tests/golden/event.json"));
        assert_eq!(format!("[{}]", bodies.join(",")), golden);
    }

    #[test]
    fn the_data_of_a_message_event_is_the_message_object() {
        for data in &every_data()[..5] {
            let (EventData::MessageSent(message)
            | EventData::MessageDelivered(message)
            | EventData::MessageFailed(message)
            | EventData::MessageReceived(message)) = data
            else {
                panic!("{}", data.kind())
            };
            let (own, whole) = (serde_json::to_string(data), serde_json::to_string(message));
            assert_eq!(own.unwrap(), whole.unwrap());
        }
    }

    #[test]
    fn every_kind_but_the_test_can_be_subscribed_to_by_its_name() {
        let names = EventType::SUBSCRIBABLE.map(EventType::as_str);
        assert_eq!(
            names,
            [
                "message.sent",
                "message.delivered",
                "message.failed",
                "message.received",
                "opt_out.created",
                "link.clicked",
                "replies.paused",
            ]
        );
        for kind in EventType::SUBSCRIBABLE {
            assert_eq!(kind.as_str().parse(), Ok(kind));
        }
        for name in ["webhook.test", "message.queued", "Message.Sent", "*", ""] {
            assert!(name.parse::<EventType>().is_err(), "{name}");
        }
    }

    #[test]
    fn a_body_reads_the_same_each_time_and_after_it_was_kept() {
        let [data, ..] = every_data();
        let event = Event::new(account_id(), data, now(), &mut ids());
        let body = event.body();
        assert_eq!(body, event.body());
        assert_eq!(EventBody::from_stored(body.as_str()), body);
        assert!(!format!("{body:?}").contains("table"), "debug shows no words");
    }
}
