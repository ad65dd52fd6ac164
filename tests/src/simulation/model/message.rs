//! Texts as they must be when they are made, whole: nothing is taken over but their ids.

use sms_core::account::Mode;
use sms_core::credits::Credits;
use sms_core::ids::{AccountId, MessageId};
use sms_core::message::{Body, Direction, Message, MessageStatus, Times};
use sms_core::phone::E164;
use sms_core::route::RouteName;

use crate::simulation::measure::measure;

/// What is known of a text that is made.
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
    /// The text as it is queued, by itself, for at once, from a number. Live texts cost a credit
    /// for each part.
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

    /// The text as it came in, from nobody known.
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
