use super::*;
use crate::samples::{compact, message, now, our_number, person, seconds, test_message};

/// The specification's Message table, in its order.
const FIELDS: [&str; 27] = [
    "id",
    "direction",
    "status",
    "to",
    "from",
    "contact_number",
    "body",
    "encoding",
    "segments",
    "credits",
    "route",
    "sender",
    "client_ref",
    "batch_id",
    "campaign_id",
    "contact_id",
    "error_code",
    "error_message",
    "test",
    "scheduled_at",
    "sent_at",
    "delivered_at",
    "failed_at",
    "cancelled_at",
    "received_at",
    "read_at",
    "created_at",
];

/// A message with a value in every field, which no real message has.
fn full() -> Message {
    let at = |offset| Some(seconds(offset));
    Message {
        body: Body::new("Hi \"you\", 20 £ off\nReply STOP to opt out"),
        sender: Some("BISTRO".to_owned()),
        client_ref: Some("booking-42".to_owned()),
        batch_id: Some(BatchId::from_u128(1)),
        campaign_id: Some(CampaignId::from_u128(2)),
        contact_id: Some(ContactId::from_u128(3)),
        error: Some(ErrorCode::AbsentSubscriber),
        scheduled_at: at(0),
        times: Times {
            sent_at: at(1),
            delivered_at: at(2),
            failed_at: at(3),
            cancelled_at: at(4),
            received_at: at(5),
            read_at: at(6),
        },
        ..message(MessageStatus::Undelivered)
    }
}

fn json(message: &Message) -> serde_json::Value {
    serde_json::to_value(message).unwrap()
}

#[test]
fn a_message_is_written_exactly_as_the_golden_file_shows() {
    let golden = compact(include_str!("../../../tests/golden/message.json"));
    assert_eq!(serde_json::to_string(&full()).unwrap(), golden);
}

#[test]
fn a_message_always_has_the_specified_fields_in_order() {
    let empty = Message { batch_id: None, ..message(MessageStatus::Queued) };
    for message in [full(), empty] {
        let written = serde_json::to_string(&message).unwrap();
        let places: Vec<Option<usize>> =
            FIELDS.iter().map(|field| written.find(&format!("\"{field}\":"))).collect();
        assert!(places.iter().all(Option::is_some), "{places:?}");
        assert!(places.is_sorted(), "{places:?}");
        assert_eq!(json(&message).as_object().unwrap().len(), FIELDS.len(), "and no others");
    }
}

#[test]
fn missing_values_of_a_message_are_null() {
    let queued = json(&Message { batch_id: None, ..message(MessageStatus::Queued) });
    let nulls: Vec<&str> = FIELDS.into_iter().filter(|field| queued[field].is_null()).collect();
    let expected: Vec<&str> = ["sender", "client_ref", "batch_id", "campaign_id", "contact_id"]
        .into_iter()
        .chain(["error_code", "error_message"])
        .chain(FIELDS[19..26].iter().copied())
        .collect();
    assert_eq!(nulls, expected);
}

#[test]
fn a_test_message_is_marked_and_costs_nothing() {
    let json = json(&test_message(MessageStatus::Queued));
    assert_eq!((&json["test"], &json["route"]), (&true.into(), &"test".into()));
    assert_eq!((&json["credits"], &json["segments"]), (&0.into(), &2.into()));
}

#[test]
fn the_contact_number_is_the_other_partys() {
    assert_eq!(message(MessageStatus::Sent).contact_number(), person());
    let received = message(MessageStatus::Received);
    assert_eq!((received.to, received.contact_number()), (our_number(), person()));
}

#[test]
fn an_inbound_message_shows_the_short_code_or_name_that_it_came_from() {
    let acme = Originator::parse("ACME").unwrap();
    let received = Message {
        from: acme.number(),
        sender: acme.name().map(str::to_owned),
        ..message(MessageStatus::Received)
    };
    assert_eq!((received.originator(), received.other_party()), (acme.clone(), acme.clone()));
    assert_eq!(received.contact_number(), acme.number());
    let shown = json(&received);
    assert_eq!((&shown["from"], &shown["contact_number"]), (&"ACME".into(), &"ACME".into()));
    assert!(shown["sender"].is_null(), "only outbound messages have one");
    let sent = full();
    assert_eq!((sent.originator(), sent.other_party()), (our_number().into(), person().into()));
    assert_eq!(json(&sent)["sender"], "BISTRO");
}

#[test]
fn a_message_is_due_when_scheduled_else_when_created() {
    let made = seconds(-60);
    let message = message(MessageStatus::Queued);
    assert_eq!((message.created_at(), message.due_at()), (made, made));
    let later = Message { scheduled_at: Some(now()), ..message };
    assert_eq!((later.created_at(), later.due_at()), (made, now()));
}

#[test]
fn a_replay_shows_every_message_as_it_was_accepted() {
    for status in MessageStatus::ALL {
        if status == MessageStatus::Received {
            continue;
        }
        for (scheduled_at, accepted) in
            [(None, MessageStatus::Queued), (Some(now()), MessageStatus::Scheduled)]
        {
            let at_first = Message {
                status: accepted,
                scheduled_at,
                error: None,
                times: Times::default(),
                ..message(status)
            };
            let now_is = Message { scheduled_at, ..message(status) };
            assert_eq!(now_is.as_accepted(), at_first, "{status}");
        }
    }
}

#[test]
fn a_timeline_entry_is_status_detail_and_at() {
    let entry = TimelineEntry { status: MessageStatus::Sending, detail: None, at: now() };
    assert_eq!(
        serde_json::to_string(&entry).unwrap(),
        r#"{"status":"sending","detail":null,"at":"2026-11-21T07:07:10.123Z"}"#
    );
}

#[test]
fn directions_read_back_and_are_written_in_lower_case() {
    for direction in [Direction::Outbound, Direction::Inbound] {
        assert_eq!(direction.as_str().parse(), Ok(direction));
        assert_eq!(serde_json::to_value(direction).unwrap(), direction.as_str());
    }
    assert!("in".parse::<Direction>().is_err());
}

#[test]
fn debug_shows_neither_the_words_nor_the_whole_number_of_a_text() {
    let shown = format!("{:?}", full());
    assert!(!shown.contains("STOP") && !shown.contains("7700900123"), "{shown}");
}
