//! The expected state of new messages. The model takes only their ids from the service.

use sms_core::account::Mode;
use sms_core::credits::Credits;
use sms_core::ids::{AccountId, MessageId};
use sms_core::message::{Body, Direction, Message, MessageStatus, Times};
use sms_core::phone::E164;
use sms_core::route::RouteName;

use crate::simulation::measure::measure;

/// What is known about a new message.
#[derive(Debug, Clone, Copy)]
pub(super) struct Draft<'a> {
    pub id: MessageId,
    pub account: AccountId,
    pub mode: Mode,
    pub from: E164,
    pub to: E164,
    pub words: &'a str,
    pub route: &'a RouteName,
}

impl Draft<'_> {
    /// The message as queued: a single one, to be sent at once, from a number. A live message costs
    /// one credit per segment.
    pub(super) fn outbound(self) -> Message {
        let Self { id, account, mode, from, to, words, route } = self;
        let (encoding, segments) = measure(words);
        let price = if mode.is_test() { 0 } else { u64::from(segments.get()) };
        Message {
            id,
            account,
            direction: Direction::Outbound,
            status: MessageStatus::Queued,
            to,
            from,
            body: Body::new(words),
            encoding,
            segments,
            credits: Credits::new(price).unwrap_or(Credits::MAX),
            route: route.clone(),
            sender: None,
            client_ref: None,
            batch_id: None,
            campaign_id: None,
            contact_id: None,
            error: None,
            mode,
            scheduled_at: None,
            times: Times::default(),
        }
    }

    /// The message as it came in, from an unknown person.
    pub(super) fn inbound(self) -> Message {
        let received_at = Some(self.id.timestamp());
        Message {
            direction: Direction::Inbound,
            status: MessageStatus::Received,
            credits: Credits::ZERO,
            times: Times { received_at, ..Times::default() },
            ..self.outbound()
        }
    }
}
