//! The components that show messages, in every state.

use maud::{Markup, html};
use sms_core::Error;
use sms_core::account::Mode;
use sms_core::account::status::MayNotSend;
use sms_core::credits::Credits;
use sms_core::ids::{AccountId, MessageId};
use sms_core::message::{Body, Direction, ErrorCode, Message, MessageStatus, TimelineEntry, Times};
use sms_core::phone::{E164, parse_uk_mobile};
use sms_core::route::RouteName;
use sms_core::sending::quote::{Quote, QuoteTally};
use sms_core::sending::{BlankField, FieldGaps, Rejection, RejectionReason};
use sms_core::text::{Encoding, Segments, measure};
use sms_core::time::Timestamp;

use super::section::section;
use crate::part::bubble::bubbles;
use crate::part::counter::counter_regions;
use crate::part::gaps::agreement;
use crate::part::price::Price;
use crate::part::rejection::rejections;
use crate::part::timeline::timeline;

/// 23 November 2026, 09:00.
const MORNING: i64 = 1_795_424_400_000;
const MINUTE: i64 = 60_000;

pub(super) fn messages() -> Markup {
    // The example number always parses.
    let Ok(number) = parse_uk_mobile("07700 900123") else { return html! {} };
    html! {
        (conversation(number))
        (section("Timeline", "What happened to a message, in order.", &timeline(&[
            happened(MessageStatus::Queued, 0, None),
            happened(MessageStatus::Sent, 1, None),
            happened(MessageStatus::Undelivered, 2, Some("absent_subscriber")),
        ])))
        (left_out(number))
        (section(
            "Gaps",
            "Merge fields that cannot be filled in, before a message goes.",
            &agreement(&FieldGaps {
                unknown: vec!["town".to_owned()],
                blank: vec![BlankField { field: "first_name".to_owned(), recipients: 3 }],
            }),
        ))
        (counters())
    }
}

/// The bubbles: one for each state that a message can be in, in either direction.
fn conversation(number: E164) -> Markup {
    use MessageStatus::{
        Cancelled, Delivered, Failed, Queued, Received, Scheduled, Sending, Sent, Undelivered,
    };
    let own = [
        ("It goes tomorrow.", Scheduled, None),
        ("It waits for its turn.", Queued, None),
        ("It is on its way.", Sending, None),
        ("The network has it.", Sent, None),
        ("It has arrived.", Delivered, None),
        ("It was called back.", Cancelled, None),
        ("The telephone was off.", Undelivered, Some(ErrorCode::AbsentSubscriber)),
        ("Nobody has this number.", Failed, Some(ErrorCode::UnknownSubscriber)),
    ];
    let theirs = sample(number, 0, Received, None, "Is my table ready?");
    let own = (1..)
        .zip(own)
        .map(|(minute, (text, status, error))| sample(number, minute, status, error, text));
    let shown: Vec<Message> = std::iter::once(theirs).chain(own).collect();
    let now = Timestamp::from_millis(MORNING);
    let about = "A conversation, oldest first. What failed says why.";
    section("Bubble", about, &bubbles(&shown, now))
}

fn sample(
    number: E164,
    minute: i64,
    status: MessageStatus,
    error: Option<ErrorCode>,
    text: &str,
) -> Message {
    let measured = measure(text);
    let at = Timestamp::from_millis(MORNING + minute * MINUTE);
    let direction = match status {
        MessageStatus::Received => Direction::Inbound,
        _ => Direction::Outbound,
    };
    Message {
        id: MessageId::first_at(at),
        account: AccountId::first_at(at),
        direction,
        status,
        to: number,
        from: number,
        body: Body::new(text),
        encoding: measured.encoding,
        segments: measured.segments,
        credits: Credits::ZERO,
        route: RouteName::test(),
        sender: None,
        client_ref: None,
        batch_id: None,
        campaign_id: None,
        contact_id: None,
        error,
        mode: Mode::Live,
        scheduled_at: None,
        times: Times::default(),
    }
}

fn happened(status: MessageStatus, minute: i64, detail: Option<&str>) -> TimelineEntry {
    let at = Timestamp::from_millis(MORNING + minute * MINUTE);
    TimelineEntry { status, detail: detail.map(str::to_owned), at }
}

fn left_out(number: E164) -> Markup {
    section(
        "Rejection",
        "Who a message does not go to, and why.",
        &rejections(&[
            Rejection::of(number, RejectionReason::OptedOut),
            Rejection::of(number, RejectionReason::Duplicate),
            Rejection::as_given("0123", RejectionReason::InvalidNumber),
        ]),
    )
}

/// What stands below a text while it is written.
fn counters() -> Markup {
    let own = |recipients: usize, balance: u64| {
        let (one, balance) = (Credits::for_segments(Segments::new(1)), Credits::new(balance).ok()?);
        let mut quote = QuoteTally::default().finish(one, balance, Encoding::Gsm7);
        quote.recipients = recipients;
        Some(quote)
    };
    let (nobody, one, dear) = (own(0, 20), own(1, 20), own(1, 0));
    let suspended = Error::from(MayNotSend::Suspended);
    let shown = [
        ("", Price::NotYet),
        ("Your table is ready", priced(one.as_ref())),
        ("Your table is ready", priced(dear.as_ref())),
        ("Your table is ready", one.as_ref().map_or(Price::NotYet, Price::Free)),
        ("“Ready” – Привет", priced(nobody.as_ref())),
        ("It’s ready", Price::Refused(&suspended)),
    ];
    let about = "Below a text while somebody writes it: its length, what makes it dear, its price.";
    section(
        "Counter",
        about,
        &html! {
            @for (text, price) in shown { div.counter { (counter_regions(text, price)) } }
        },
    )
}

fn priced(quote: Option<&Quote>) -> Price<'_> {
    quote.map_or(Price::NotYet, Price::Quoted)
}
