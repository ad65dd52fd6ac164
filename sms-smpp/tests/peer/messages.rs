//! Messages to send, and what an SMSC received of them.

use std::time::Duration;

use serde_json::Value;
use sms_core::account::Mode;
use sms_core::clock::{Clock, SystemClock};
use sms_core::ids::MessageId;
use sms_core::message::Body;
use sms_core::phone::parse_any;
use sms_core::random::{Random, SystemRandom};
use sms_core::route::{Look, OutboundMessage, RouteName};
use sms_core::text::measure;
use sms_test_smsc::Smsc;

/// From 07700 900001 to 07700 900123.
pub(crate) fn text(body: &str) -> OutboundMessage {
    let measured = measure(body);
    let [high, low] = [SystemRandom.next_u64(), SystemRandom.next_u64()];
    OutboundMessage {
        message: MessageId::from_u128(u128::from(high) << 64 | u128::from(low)),
        to: parse_any("07700 900123").unwrap(),
        from: parse_any("07700 900001").unwrap(),
        sender: None,
        body: Body::new(body),
        encoding: measured.encoding,
        segments: measured.segments,
        route: RouteName::new("main"),
        mode: Mode::Live,
        lane: sms_core::dispatch::Lane::Normal,
        attempt: 0,
        expires_at: SystemClock.now().plus(Duration::from_hours(24)),
        look: Look::at(SystemClock.now()),
    }
}

/// Every character of GSM-7, the extension table included.
pub(crate) fn gsm7_characters() -> String {
    let mut all: String = (0..128)
        .filter(|septet| *septet != 0x1B)
        .map(|septet| sms_core::text::gsm7::decode(&[septet]))
        .collect();
    all.push_str("^{}\\[~]|€\u{C}");
    all
}

/// A message of about ten segments in each alphabet.
pub(crate) fn ten_parts() -> [String; 2] {
    let gsm = gsm7_characters().repeat(20).chars().take(1_380).collect();
    let ucs = "Привет 👋 ".repeat(80).chars().take(600).collect();
    [gsm, ucs]
}

pub(crate) fn numbers(value: &Value) -> Vec<u64> {
    value.as_array().unwrap().iter().map(|number| number.as_u64().unwrap()).collect()
}

/// The reference, the number of segments and the segment's own number, as the SMSC read them.
fn place(event: &Value) -> [u64; 3] {
    if event["sar"].is_array() {
        return numbers(&event["sar"]).try_into().unwrap();
    }
    match numbers(&event["udh"])[..] {
        [0, 3, reference, total, number] => [reference, total, number],
        [8, 4, high, low, total, number] => [high * 256 + low, total, number],
        _ => panic!("{event}"),
    }
}

/// The text of the next message, joined from this many segments.
pub(crate) async fn joined(smsc: &Smsc, parts: usize) -> String {
    let mut seen = Vec::new();
    for _ in 0..parts {
        let event = smsc.next("text").await;
        let [reference, total, number] = place(&event);
        assert_eq!(total, parts as u64);
        seen.push((reference, number, event["words"].as_str().unwrap().to_owned()));
    }
    seen.sort();
    assert!(seen.iter().all(|(reference, ..)| *reference == seen[0].0));
    seen.into_iter().map(|(.., words)| words).collect()
}
