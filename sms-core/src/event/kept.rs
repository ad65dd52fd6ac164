//! What the event log keeps of an event.
//!
//! Of an event about a message it keeps the message's id and what later changes of the message
//! would overwrite. [`Kept::event`] makes the event from that and the message as it is now: byte
//! for byte what webhooks were sent.

use super::replies_paused::RepliesPaused;
use super::{Event, EventData, EventType, LinkClick};
use crate::ids::{AccountId, EventId, MessageId};
use crate::message::error_code::ErrorCode;
use crate::message::record::Message;
use crate::message::status::MessageStatus;
use crate::opt_out::OptOut;
use crate::time::Timestamp;

/// What a row keeps of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// The event's id, the same in every delivery.
    pub id: EventId,
    /// When the event happened, UTC.
    pub created_at: Timestamp,
    /// What it is about.
    pub(super) about: About,
}

/// What an event is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum About {
    /// A message entered this status.
    Message { id: MessageId, status: MessageStatus, error: Option<ErrorCode> },
    /// A number opted out.
    OptOut(OptOut),
    /// A person followed a link.
    Click(LinkClick),
    /// Automatic replies reached a bound.
    Pause(RepliesPaused),
}

impl Kept {
    /// What is kept of an event; `None` for a test, which is no event of the account.
    pub(super) fn of(event: &Event) -> Option<Self> {
        let about = match &event.data {
            EventData::MessageSent(message)
            | EventData::MessageDelivered(message)
            | EventData::MessageFailed(message)
            | EventData::MessageReceived(message) => {
                let Message { id, status, error, .. } = **message;
                About::Message { id, status, error }
            }
            EventData::OptOutCreated(opt_out) => About::OptOut(opt_out.clone()),
            EventData::LinkClicked(click) => About::Click(click.clone()),
            EventData::RepliesPaused(pause) => About::Pause(pause.clone()),
            EventData::WebhookTest(_) => return None,
        };
        Some(Self { id: event.id, created_at: event.created_at, about })
    }

    /// The kind of event that [`event`](Self::event) makes.
    pub fn kind(&self) -> EventType {
        match &self.about {
            About::Message { status, .. } => match status {
                MessageStatus::Sent => EventType::MessageSent,
                MessageStatus::Delivered => EventType::MessageDelivered,
                MessageStatus::Received => EventType::MessageReceived,
                // No other status raises an event.
                _ => EventType::MessageFailed,
            },
            About::OptOut(_) => EventType::OptOutCreated,
            About::Click(_) => EventType::LinkClicked,
            About::Pause(_) => EventType::RepliesPaused,
        }
    }

    /// The message that it is about, which [`event`](Self::event) needs; `None` if it needs none.
    pub fn message(&self) -> Option<MessageId> {
        match &self.about {
            About::Message { id, .. } => Some(*id),
            About::OptOut(_) | About::Click(_) | About::Pause(_) => None,
        }
    }

    /// The event as it was raised. `message` is the message that it is about, as it is now; `None`
    /// if that is missing.
    pub fn event(self, account: AccountId, message: Option<&Message>) -> Option<Event> {
        let Self { id, created_at, about } = self;
        let data = match about {
            About::Message { id: _, status, error } => {
                let then = Box::new(as_it_was(message?, status, created_at, error));
                match status {
                    MessageStatus::Sent => EventData::MessageSent(then),
                    MessageStatus::Delivered => EventData::MessageDelivered(then),
                    MessageStatus::Received => EventData::MessageReceived(then),
                    _ => EventData::MessageFailed(then),
                }
            }
            About::OptOut(opt_out) => EventData::OptOutCreated(opt_out),
            About::Click(click) => EventData::LinkClicked(click),
            About::Pause(pause) => EventData::RepliesPaused(pause),
        };
        Some(Event { id, account, created_at, data })
    }
}

/// A message as it was when it entered `status` at `at`. Only its status, error and times change
/// once it has raised an event, and it enters each of these states once.
fn as_it_was(
    message: &Message,
    status: MessageStatus,
    at: Timestamp,
    error: Option<ErrorCode>,
) -> Message {
    let mut then = Message { status, error, ..message.clone() };
    let times = &mut then.times;
    times.read_at = None;
    match status {
        MessageStatus::Sent => (times.delivered_at, times.failed_at) = (None, None),
        MessageStatus::Delivered => (times.delivered_at, times.failed_at) = (Some(at), None),
        MessageStatus::Failed | MessageStatus::Undelivered => {
            (times.delivered_at, times.failed_at) = (None, Some(at));
        }
        _ => {}
    }
    then
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::change::{News, change};
    use crate::message::status::Trigger;
    use crate::samples::{account_id, ids, message, seconds};

    fn any_news() -> impl Strategy<Value = (Trigger, Option<ErrorCode>)> {
        prop_oneof![
            Just((Trigger::Claim, None)),
            Just((Trigger::Leave, None)),
            Just((Trigger::Deliver, None)),
            Just((Trigger::Fail, Some(ErrorCode::Expired))),
            Just((Trigger::Undeliver, Some(ErrorCode::AbsentSubscriber))),
            Just((Trigger::Undeliver, Some(ErrorCode::NetworkError))),
            Just((Trigger::Cancel, None)),
            Just((Trigger::CallOff, None)),
        ]
    }

    proptest! {
        #[test]
        fn an_event_reads_the_same_whatever_becomes_of_its_message(
            news in proptest::collection::vec(any_news(), 1..12),
        ) {
            let mut ids = ids();
            let mut current = message(MessageStatus::Queued);
            let mut events = Vec::new();
            for (second, (trigger, error)) in (1..).zip(news) {
                let news = News { error, ..News::new(trigger, seconds(second)) };
                if let Some(changed) = change(&current, &news, &mut ids) {
                    events.extend(changed.events);
                    current = changed.message;
                }
            }
            for event in events {
                let kept = Kept::of(&event).expect("messages raise no tests");
                prop_assert_eq!(kept.message(), Some(current.id));
                let read = kept.event(account_id(), Some(&current)).expect("it has its message");
                prop_assert_eq!(read.body(), event.body());
            }
        }
    }

    #[test]
    fn a_received_message_is_shown_unread_as_it_came() {
        let mut received = message(MessageStatus::Received);
        let event = Event::new(
            account_id(),
            EventData::MessageReceived(Box::new(received.clone())),
            seconds(0),
            &mut ids(),
        );
        received.times.read_at = Some(seconds(9));
        let kept = Kept::of(&event).expect("it is kept");
        assert_eq!(kept.event(account_id(), Some(&received)), Some(event));
    }
}
