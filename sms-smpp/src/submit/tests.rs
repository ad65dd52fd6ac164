use proptest::prelude::*;
use sms_core::text::measure;

use super::*;
use crate::coding;
use crate::joining::{Place, user_data};
use crate::samples;

const NOW: i64 = 1_795_244_830_123;

fn text(body: &str) -> OutboundMessage {
    samples::outbound(body, 1, Timestamp::from_millis(NOW + 3_600_000))
}

fn made(body: &str, style: Style) -> Vec<ShortMessage> {
    submits(&text(body), style, 0x1234, Timestamp::from_millis(NOW))
}

fn style(long_messages: LongMessages) -> Style {
    Style { long_messages, ..Style::default() }
}

/// The text as a handset shows it.
fn received(parts: &[ShortMessage], septets: Septets) -> String {
    let mut words = Vec::new();
    for part in parts {
        let data = user_data(part);
        let coding = Coding::of(part.data_coding);
        let text = coding::text(&data.words, coding, septets, data.header).unwrap().decode();
        words.push((data.place.map_or(1, |place| place.number), text));
    }
    words.sort();
    words.into_iter().map(|(_, text)| text).collect()
}

#[test]
fn a_short_message_is_one_submit_sm_that_requests_a_receipt() {
    let [submit] = &made("Hello @ £5", Style::default())[..] else { panic!("one") };
    assert_eq!(&submit.short_message[..], b"Hello \0 \x015");
    assert_eq!((submit.data_coding, submit.esm_class, submit.registered_delivery), (0, 0, 1));
    assert_eq!(&*submit.source.text, "447700900001");
    assert_eq!(&*submit.destination.text, "447700900123");
    assert_eq!(submit.validity_period, "000000010000000R");
}

#[test]
fn a_sender_name_is_an_alphanumeric_source() {
    let named = OutboundMessage { sender: Some("Bistro".to_owned()), ..text("x") };
    let made = submits(&named, Style::default(), 1, Timestamp::from_millis(NOW));
    assert_eq!(made[0].source, Address::name("Bistro"));
}

#[test]
fn the_validity_period_is_a_relative_time_of_at_least_a_minute() {
    let cases = [
        (-5, "000000000100000R"),
        (90, "000000000130000R"),
        (86_400, "000001000000000R"),
        (30 * 86_400 + 3_661, "000030010101000R"),
        (31 * 86_400, ""),
    ];
    for (seconds, expected) in cases {
        let now = Timestamp::from_millis(NOW);
        assert_eq!(validity(Timestamp::from_millis(NOW + seconds * 1_000), now), expected);
    }
}

#[test]
fn segments_are_joined_by_a_header_with_the_low_octet_of_the_reference() {
    let parts = made(&"a".repeat(307), style(LongMessages::Udh8));
    let heads: Vec<&[u8]> = parts.iter().map(|part| &part.short_message[..6]).collect();
    assert_eq!(heads, [[5, 0, 3, 0x34, 3, 1], [5, 0, 3, 0x34, 3, 2], [5, 0, 3, 0x34, 3, 3]]);
    assert!(parts.iter().all(|part| part.esm_class == 0x40));
    assert_eq!(
        parts.iter().map(|part| part.short_message.len()).collect::<Vec<_>>(),
        [159, 159, 7]
    );
}

#[test]
fn a_reference_of_two_octets_is_used_where_it_costs_no_segment() {
    let reference = |length| {
        let parts = made(&"a".repeat(length), style(LongMessages::Udh16));
        (parts.len(), user_data(&parts[0]).place.unwrap().reference)
    };
    assert_eq!(reference(304), (2, 0x1234));
    assert_eq!(reference(305), (2, 0x34), "152 and 153 septets");
    assert_eq!(reference(307), (3, 0x1234));
}

#[test]
fn the_wider_header_splits_no_escape_sequence_or_surrogate_pair() {
    for body in ["a".repeat(151) + "€" + &"a".repeat(20), "д".repeat(65) + "👋" + "дддддд"]
    {
        let parts = made(&body, style(LongMessages::Udh16));
        assert_eq!(parts.len(), 2);
        assert!(parts.iter().all(|part| user_data(part).header == 7));
        assert_eq!(received(&parts, Septets::Unpacked), body);
    }
}

#[test]
fn sar_tlvs_give_the_place_and_the_user_data_is_message_alone() {
    let parts = made(&"a".repeat(161), style(LongMessages::Sar));
    let place = |number| Some(Place { reference: 0x1234, total: 2, number });
    assert_eq!(user_data(&parts[0]).place, place(1));
    assert_eq!(user_data(&parts[1]).place, place(2));
    assert_eq!((parts[0].short_message.len(), parts[0].esm_class), (153, 0));
}

#[test]
fn a_payload_is_the_whole_message_in_one_submit_sm() {
    let parts = made(&"a".repeat(1_600), style(LongMessages::Payload));
    assert_eq!(parts.len(), 1);
    assert!(parts[0].short_message.is_empty());
    assert_eq!(parts[0].octets().len(), 1_600);
}

proptest! {
    #[test]
    fn every_message_arrives_unchanged_in_segments_of_at_most_140_octets(
        body in prop_oneof!["[ -~£€\n]{1,900}", "[a-zд👋€]{1,400}"],
        long_messages in prop_oneof![
            Just(LongMessages::Udh8), Just(LongMessages::Udh16), Just(LongMessages::Sar),
            Just(LongMessages::Payload),
        ],
    ) {
        let parts = made(&body, style(long_messages));
        prop_assert_eq!(&received(&parts, Septets::Unpacked), &body);
        if long_messages != LongMessages::Payload {
            prop_assert_eq!(parts.len(), measure(&body).segments.get() as usize);
            for part in &parts {
                let data = user_data(part);
                let header = data.header * 8;
                let bits = if Coding::of(part.data_coding) == Coding::Ucs2 {
                    data.words.len() * 8
                } else {
                    header.next_multiple_of(7) - header + data.words.len() * 7
                };
                prop_assert!(header + bits <= 140 * 8);
            }
        }
    }

    #[test]
    fn packed_septets_arrive_unchanged_too(body in "[ -~£€\n]{1,500}") {
        let packed = Style { septets: Septets::Packed, long_messages: LongMessages::Udh8 };
        prop_assert_eq!(received(&made(&body, packed), Septets::Packed), body);
    }
}
