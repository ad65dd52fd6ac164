//! Values with which the tests of several nouns start: a moment, an account, a message, an
//! endpoint.

use std::collections::BTreeSet;

use crate::account::{Account, AccountStatus, Mode, Settings, Share};
use crate::contact::{Contact, Details};
use crate::credits::Credits;
use crate::event::EventType;
use crate::ids::{
    AccountId, BatchId, ContactId, EndpointId, IdSource, Ids, LinkId, MessageId, NumberId,
};
use crate::link::Link;
use crate::message::{Body, Direction, ErrorCode, Message, MessageStatus, Times};
use crate::number::{Holder, Number};
use crate::phone::E164;
use crate::random::SeededRandom;
use crate::route::RouteName;
use crate::text::{Encoding, Segments};
use crate::time::Timestamp;
use crate::webhook::endpoint::{Endpoint, EndpointInput, Power};
use crate::webhook::secret::Secret;

/// The moment 2026-11-21T07:07:10.123Z, at which most tests happen.
pub(crate) fn now() -> Timestamp {
    Timestamp::from_millis(1_795_244_830_123)
}

/// The moment `offset` milliseconds after [`now`], or before it if negative.
pub(crate) fn millis(offset: i64) -> Timestamp {
    Timestamp::from_millis(now().as_millis() + offset)
}

/// The moment `offset` seconds after [`now`], or before it if negative.
pub(crate) fn seconds(offset: i64) -> Timestamp {
    millis(offset * 1_000)
}

/// The same run of ids every time, made at [`now`].
pub(crate) fn ids() -> Ids {
    IdSource::default().draw(now(), &SeededRandom::new(7))
}

pub(crate) fn credits(amount: u64) -> Credits {
    Credits::new(amount).unwrap()
}

/// 07700 900000 plus `last_digits`.
pub(crate) fn mobile(last_digits: u64) -> E164 {
    E164::from_digits(447_700_900_000 + last_digits).unwrap()
}

/// The number of the person who is texted.
pub(crate) fn person() -> E164 {
    mobile(123)
}

/// The number that the account sends from.
pub(crate) fn our_number() -> E164 {
    mobile(1)
}

pub(crate) fn account_id() -> AccountId {
    AccountId::from_u128(1)
}

/// An active account with 100 credits.
pub(crate) fn account() -> Account {
    Account {
        id: account_id(),
        name: "Bistro".to_owned(),
        status: AccountStatus::Active,
        balance: credits(100),
        settings: Settings::default(),
        share: Share::default(),
        created_at: seconds(-1_000),
        updated_at: seconds(-1_000),
    }
}

/// A contact with the number of [`person`] and no other details.
pub(crate) fn contact() -> Contact {
    Contact {
        id: ContactId::from_u128(1),
        account: account_id(),
        phone: person(),
        details: Details::default(),
        opted_out: false,
        created_at: seconds(-1_000),
        updated_at: seconds(-1_000),
    }
}

/// [`our_number`], shared by all accounts.
pub(crate) fn shared_number() -> Number {
    Number {
        id: NumberId::from_u128(1),
        phone: our_number(),
        holder: Holder::Shared,
        route: None,
        rental_credits: Credits::ZERO,
        monthly_credits: Credits::ZERO,
        rental_charged_at: None,
        next_rent_at: None,
        assigned_at: seconds(-1_000),
        checked_in_at: None,
    }
}

/// An id made a minute before [`now`].
pub(crate) fn message_id() -> MessageId {
    MessageId::from_u128(MessageId::first_at(seconds(-60)).as_u128() + 5)
}

/// A live message of two segments that reached this status in the usual way, within the minute
/// before [`now`].
pub(crate) fn message(status: MessageStatus) -> Message {
    use MessageStatus as S;
    let at = |applies: bool, offset| applies.then(|| seconds(offset));
    let inbound = status == S::Received;
    Message {
        id: message_id(),
        account: account_id(),
        direction: if inbound { Direction::Inbound } else { Direction::Outbound },
        status,
        to: if inbound { our_number() } else { person() },
        from: if inbound { person() } else { our_number() },
        body: Body::new("Your table is ready"),
        encoding: Encoding::Gsm7,
        segments: Segments::new(2),
        credits: if inbound { Credits::ZERO } else { credits(2) },
        route: RouteName::new("simulator"),
        sender: None,
        client_ref: None,
        batch_id: (!inbound).then(|| BatchId::from_u128(3)),
        campaign_id: None,
        contact_id: None,
        error: match status {
            S::Undelivered => Some(ErrorCode::AbsentSubscriber),
            S::Failed => Some(ErrorCode::RejectedByNetwork),
            _ => None,
        },
        mode: Mode::Live,
        scheduled_at: at(status == S::Scheduled, -30),
        times: Times {
            sent_at: at(matches!(status, S::Sent | S::Delivered | S::Undelivered), -20),
            delivered_at: at(status == S::Delivered, -10),
            failed_at: at(matches!(status, S::Undelivered | S::Failed), -10),
            cancelled_at: at(status == S::Cancelled, -10),
            received_at: at(inbound, -60),
            read_at: None,
        },
    }
}

/// The same message sent with a test key; it costs nothing.
pub(crate) fn test_message(status: MessageStatus) -> Message {
    let route = RouteName::test();
    Message { mode: Mode::Test, credits: Credits::ZERO, route, ..message(status) }
}

/// A link in the message [`message_id`] to [`person`] that has no clicks yet.
pub(crate) fn link() -> Link {
    Link {
        id: LinkId::from_u128(LinkId::first_at(seconds(-60)).as_u128() + 6),
        account: account_id(),
        code: "4fJ0aZk9Qx".parse().unwrap(),
        url: "https://example.com/menu".to_owned(),
        message: message_id(),
        campaign: None,
        contact_number: person(),
        clicks: 0,
        first_clicked_at: None,
        last_clicked_at: None,
    }
}

/// An enabled endpoint that subscribes to every kind of event.
pub(crate) fn endpoint() -> Endpoint {
    let input = EndpointInput {
        url: "https://example.com/hook".to_owned(),
        events: BTreeSet::from(EventType::SUBSCRIBABLE),
        description: None,
        power: Power::On,
    };
    let secret = Secret::generate(&SeededRandom::new(8)).into();
    input.into_endpoint(EndpointId::from_u128(1), account_id(), secret, seconds(-1_000))
}

/// JSON without the white space between its tokens, in the order written.
pub(crate) fn compact(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    let (mut in_string, mut escaped) = (false, false);
    for c in json.chars() {
        if in_string || !c.is_ascii_whitespace() {
            text.push(c);
        }
        if c == '"' && !escaped {
            in_string = !in_string;
        }
        escaped = in_string && c == '\\' && !escaped;
    }
    text
}
