use bytes::Bytes;
use proptest::prelude::*;
use sms_core::message::ErrorCode as E;
use sms_core::text::gsm7;

use super::*;
use crate::address::Address;
use crate::pdu::Tlvs;

fn deliver(esm_class: u8, words: &str, tlvs: Tlvs) -> ShortMessage {
    let blank = ShortMessage::between(Address::name("x"), Address::name("y"));
    let short_message = Bytes::copy_from_slice(words.as_bytes());
    ShortMessage { esm_class, short_message, tlvs, ..blank }
}

fn read(words: &str) -> Option<Report> {
    Report::read(&deliver(0x04, words, Tlvs::default()))
}

#[test]
fn receipts_are_parsed_in_the_forms_that_smscs_send() {
    let cases = [
        (
            "id:0123456789 sub:001 dlvrd:001 submit date:2611210707 done date:2611210708 \
             stat:DELIVRD err:000 Text:Hello",
            ("0123456789", State::Delivered, "000"),
        ),
        (
            "id:5f2A-9c sub:001 dlvrd:000 submit date:261121070710 done date:261121070810 \
             stat:UNDELIV err:027 text:",
            ("5f2A-9c", State::Undeliverable, "027"),
        ),
        ("id:1 stat:expired err:0", ("1", State::Expired, "0")),
        ("id: 42 stat: REJECTD err: 99", ("42", State::Rejected, "99")),
        ("ID:7 STAT:ACCEPTD", ("7", State::Accepted, "")),
        ("id:7 stat:DELIVERED err:000 text:id:8 stat:UNDELIV", ("7", State::Delivered, "000")),
        ("id:9 smsc_id:8 stat:UNKNOWN err:1", ("9", State::Unknown, "1")),
    ];
    for (words, (id, state, error)) in cases {
        let expected = Report { id: id.to_owned(), state, error: error.to_owned() };
        assert_eq!(read(words), Some(expected), "{words}");
    }
}

#[test]
fn pairs_are_found_however_they_are_written() {
    for words in [
        "id:7,sub:001,dlvrd:001,stat:DELIVRD,err:000",
        "id:7; stat:DELIVRD; err:000; text:hello",
        "id:\"7\" stat:\"DELIVRD\" err:\"000\"",
        "id:'7' stat:'DELIVRD'",
        "Id : 7 Stat : DELIVRD Err : 000",
        "ID=7 STAT=delivrd",
        "id:7\u{a0}sub:001\u{a0}stat:DELIVRD\u{a0}err:000",
        "id:7|stat:DELIVRD|err:0",
        "id:7;stat:DELIVRD;err:0",
        "id:'7',stat:DELIVRD",
        "id:\"7\"|stat:DELIVRD",
        "id:7\",stat:DELIVRD",
        "\u{feff}id:7 stat:DELIVRD",
        "id:7 stat:DELIVRD.",
        "id:7 stat:2 err:0",
        "id:7 sub:001 dlvrd:001 submit date:1 done date:2 status:DELIVRD error:0",
        "id:7 stat:SUCCESS",
        // The message stands in the middle, and says something else.
        "id:7 text:Hello stat:UNDELIV err:9 stat:DELIVRD err:000",
        "text:id:8 id:7 stat:DELIVRD",
        "id:7 sub:001 text:my text:stat:UNDELIV stat:DELIVRD err:000",
        "id:7 stat:DELIVRD text:stat:UNDELIV id:8",
        "id:7 text : stat:EXPIRED , stat:DELIVRD",
    ] {
        let report = read(words).map(|report| (report.id, report.state));
        assert_eq!(report, Some(("7".to_owned(), State::Delivered)), "{words}");
    }
    for words in [
        "id: submit date:1 stat:DELIVRD",
        "id:7 stat: err:000 text:stat:DELIVRD",
        "id:7 stat:,err:000",
        "text:id:7",
    ] {
        assert_eq!(read(words), None, "{words}");
    }
}

#[test]
fn an_empty_id_is_not_the_pair_after_it() {
    let names = "id sub dlvrd submit submit_date done done_date date stat state status err error \
                 text";
    let both = [names.to_owned(), names.to_uppercase()].join(" ");
    for name in both.split(' ').map(|name| name.replace('_', " ")) {
        for colon in [":", " : ", "="] {
            let words = format!("id: {name}{colon}1 stat:DELIVRD");
            assert_eq!(read(&words), None, "{words}");
        }
    }
}

#[test]
fn a_text_in_latin_1_is_a_receipt_too() {
    let words = b"id:7\xA0stat:DELIVRD\xA0text:caf\xE9";
    let receipt = ShortMessage {
        short_message: Bytes::from_static(words),
        ..deliver(4, "", Tlvs::default())
    };
    assert_eq!(Report::read(&receipt).unwrap().state, State::Delivered);
}

#[test]
fn states_are_read_by_name_and_number() {
    use State::{Accepted, Deleted, Delivered, EnRoute, Expired, Rejected, Undeliverable, Unknown};
    let numbers = [
        EnRoute,
        EnRoute,
        Delivered,
        Expired,
        Deleted,
        Undeliverable,
        Accepted,
        Unknown,
        Rejected,
        Undeliverable,
    ];
    for (number, state) in (0_u8..).zip(numbers) {
        let tlvs = Tlvs::default()
            .with(Tag::RECEIPTED_MESSAGE_ID, b"7\0".to_vec())
            .with(Tag::MESSAGE_STATE, vec![number]);
        assert_eq!(Report::read(&deliver(4, "", tlvs)).unwrap().state, state, "{number}");
        assert_eq!(read(&format!("id:7 stat:{number}")).unwrap().state, state, "{number}");
    }
    let words = [
        ("ENROUTE", EnRoute),
        ("BUFFERED", EnRoute),
        ("SCHEDULED", EnRoute),
        ("DELIVRD", Delivered),
        ("Delivered", Delivered),
        ("SUCCESS", Delivered),
        ("EXPIRED", Expired),
        ("DELETED", Deleted),
        ("CANCELLED", Deleted),
        ("UNDELIV", Undeliverable),
        ("UNDELIVERED", Undeliverable),
        ("FAILED", Undeliverable),
        ("SKIPPED", Undeliverable),
        ("ACCEPTD", Accepted),
        ("UNKNOWN", Unknown),
        ("REJECTD", Rejected),
        ("rejected", Rejected),
    ];
    for (word, state) in words {
        assert_eq!(read(&format!("id:7 stat:{word} err:0")).unwrap().state, state, "{word}");
    }
    for word in ["10", "99", "002", "OK?", "-"] {
        assert_eq!(read(&format!("id:7 stat:{word}")), None, "{word}");
    }
}

#[test]
fn tlvs_add_to_the_message_and_take_precedence_over_it() {
    let tlvs = || {
        Tlvs::default()
            .with(Tag::RECEIPTED_MESSAGE_ID, b"abc\0".to_vec())
            .with(Tag::MESSAGE_STATE, vec![5])
            .with(Tag::NETWORK_ERROR_CODE, vec![3, 0, 6])
    };
    let expected =
        |error: &str| Report { id: "abc".into(), state: State::Undeliverable, error: error.into() };
    // Without the receipt bits, without text.
    assert_eq!(Report::read(&deliver(0, "", tlvs())), Some(expected("6")));
    let words = "id:other stat:DELIVRD err:001";
    assert_eq!(Report::read(&deliver(4, words, tlvs())), Some(expected("6")));
}

#[test]
fn an_id_in_a_tlv_may_lack_its_terminating_zero() {
    let tlvs = Tlvs::default()
        .with(Tag::RECEIPTED_MESSAGE_ID, b"abc".to_vec())
        .with(Tag::MESSAGE_STATE, vec![2]);
    assert_eq!(Report::read(&deliver(4, "", tlvs)).unwrap().id, "abc");
}

#[test]
fn an_id_of_white_space_counts_as_missing() {
    let blank = |state: Vec<u8>| {
        let id = b" \x0b\0".to_vec();
        Tlvs::default().with(Tag::RECEIPTED_MESSAGE_ID, id).with(Tag::MESSAGE_STATE, state)
    };
    let receipt = deliver(4, "id:7 stat:DELIVRD err:000", blank(vec![2]));
    assert_eq!(Report::read(&receipt).unwrap().id, "7", "the text has one");
    for (esm_class, words) in [(4, ""), (4, "id:\u{b} stat:DELIVRD"), (0, "Hello")] {
        assert_eq!(Report::read(&deliver(esm_class, words, blank(vec![2]))), None, "{words}");
    }
}

#[test]
fn an_id_of_control_characters_counts_as_missing() {
    let nothing = |words: &str| {
        let tlvs = Tlvs::default().with(Tag::RECEIPTED_MESSAGE_ID, b"\x03\0".to_vec());
        Report::read(&deliver(4, words, tlvs.with(Tag::MESSAGE_STATE, vec![2])))
    };
    assert_eq!(nothing("id:7 stat:DELIVRD err:000").unwrap().id, "7", "the text has one");
    assert_eq!(nothing(""), None);
    assert_eq!(nothing("id:\u{1} stat:DELIVRD"), None);
}

#[test]
fn a_message_is_not_a_receipt_and_neither_is_one_without_id_or_state() {
    for words in ["Hello", "my id:7 stat:DELIVRD", "", "stat:DELIVRD"] {
        assert_eq!(Report::read(&deliver(0, words, Tlvs::default())), None, "{words}");
    }
    for words in ["id:7", "stat:DELIVRD", "id: stat:DELIVRD err:", "id:7 stat:NONSENSE", "é", "id:"]
    {
        assert_eq!(read(words), None, "{words}");
    }
}

#[test]
fn a_message_that_looks_like_a_receipt_counts_only_with_the_receipt_bits() {
    let words = "id:7 sub:001 dlvrd:001 submit date:1 done date:2 stat:DELIVRD err:000 text:";
    assert_eq!(
        Report::read(&deliver(0, words, Tlvs::default())),
        None,
        "anyone can send this text"
    );
    assert!(Report::read(&deliver(4, words, Tlvs::default())).is_some());
}

#[test]
fn a_receipt_is_read_under_any_data_coding() {
    let line = "id:7 sub:001 dlvrd:001 stat:DELIVRD err:000 text:";
    let wide: Vec<u8> = line.encode_utf16().flat_map(u16::to_be_bytes).collect();
    for (octets, data_coding) in [
        (line.as_bytes().to_vec(), 0),
        (line.as_bytes().to_vec(), 1),
        (line.as_bytes().to_vec(), 3),
        (line.as_bytes().to_vec(), 4),
        (line.as_bytes().to_vec(), 8),
        (line.as_bytes().to_vec(), 0xE0),
        (wide.clone(), 8),
        (wide.clone(), 0x18),
        (wide.clone(), 0x48),
        (wide.clone(), 0xE0),
        (wide.clone(), 0),
        ([&wide[..], b"\0"].concat(), 8),
        ([b"\xFE\xFF", &wide[..]].concat(), 8),
        (wide.chunks(2).flat_map(|pair| [pair[1], pair[0]]).collect(), 8),
        (gsm7::pack(&gsm7::encode(line).unwrap()), 0),
    ] {
        let short_message = Bytes::from(octets);
        let receipt =
            ShortMessage { data_coding, short_message, ..deliver(4, "", Tlvs::default()) };
        let report = Report::read(&receipt).unwrap();
        assert_eq!((report.id.as_str(), report.state), ("7", State::Delivered), "{data_coding}");
    }
}

#[test]
fn control_characters_in_a_receipt_count_as_spaces() {
    for words in [
        "id:7 stat:DELIVRD\0",
        "id:7\0stat:DELIVRD",
        "id:7\tsub:001\r\nstat:DELIVRD\r\n",
        "\u{2}id:7 stat:DELIVRD\u{3}err:000",
    ] {
        let report = read(words).unwrap();
        assert_eq!((report.id.as_str(), report.state), ("7", State::Delivered), "{words:?}");
    }
}

#[test]
fn the_message_type_decides_what_may_be_a_receipt() {
    let tlvs = Tlvs::default()
        .with(Tag::RECEIPTED_MESSAGE_ID, b"7\0".to_vec())
        .with(Tag::MESSAGE_STATE, vec![2]);
    for kind in 0..16 {
        let esm_class = kind << 2;
        let is_receipt =
            |words| Report::read(&deliver(esm_class, words, Tlvs::default())).is_some();
        let (delivered, under_way) = ("id:7 stat:DELIVRD", "id:7 stat:ENROUTE");
        let expected = match esm_class {
            0x00 => (false, false, true),
            0x04 => (true, true, true),
            // An intermediate notification.
            0x20 => (true, false, true),
            _ => (false, false, false),
        };
        let with_tlvs = Report::read(&deliver(esm_class, "", tlvs.clone())).is_some();
        let seen = (is_receipt(delivered), is_receipt(under_way), with_tlvs);
        assert_eq!(seen, expected, "{esm_class:#04x}");
    }
}

#[test]
fn each_state_has_its_outcome() {
    use ReceiptStatus::{Delivered, Undelivered};
    let cases = [
        (State::EnRoute, "000", None),
        (State::Accepted, "000", None),
        (State::Delivered, "000", Some(Delivered)),
        (State::Expired, "000", Some(Undelivered(E::Expired))),
        (State::Expired, "027", Some(Undelivered(E::AbsentSubscriber))),
        (State::Expired, "", Some(Undelivered(E::Expired))),
        (State::Rejected, "006", Some(Undelivered(E::RejectedByNetwork))),
        (State::Undeliverable, "001", Some(Undelivered(E::UnknownSubscriber))),
        (State::Undeliverable, "006", Some(Undelivered(E::AbsentSubscriber))),
        (State::Undeliverable, "ABC", Some(Undelivered(E::NetworkError))),
        (State::Deleted, "", Some(Undelivered(E::NetworkError))),
        (State::Unknown, "255", Some(Undelivered(E::NetworkError))),
    ];
    for (state, error, expected) in cases {
        let report = Report { id: "1".into(), state, error: error.into() };
        assert_eq!(report.outcome(), expected, "{state:?} {error}");
    }
}

#[test]
fn ids_of_response_and_receipt_match_in_every_form() {
    let cases = [
        (IdForm::Same, "Ab-1", "AB-1"),
        (IdForm::Same, "007", "007"),
        (IdForm::Same, "7", "07"),
        (IdForm::Same, "04062581461565934000241", "4062581461565934000241"),
        (IdForm::Same, "4062581461565934000241", "04062581461565934000241"),
        (IdForm::Same, "000", "0"),
        (IdForm::HexThenDecimal, "1F", "31"),
        (IdForm::HexThenDecimal, "0000001f", "0031"),
        (IdForm::DecimalThenHex, "31", "1F"),
        (IdForm::DecimalThenHex, "0031", "0x1f"),
        (IdForm::DecimalThenHex, "31", "0X1F"),
        (IdForm::HexThenDecimal, "0X1F", "\"31\""),
        (IdForm::Same, "0x1F", "1f"),
        (IdForm::Same, "0X00A7", "00a7"),
        (IdForm::Same, "0xyz", "0XYZ"),
        (IdForm::Same, "0x0012", "12"),
        (IdForm::Same, "'0X0012'", "0012"),
        (IdForm::Same, "12\u{7}", "\u{1}0x12\0"),
        (IdForm::HexThenDecimal, "1F\0", "\u{2}31\r"),
        (IdForm::HexThenDecimal, "\u{1}0x1f", "\"\u{0}031\u{7}\""),
        (IdForm::DecimalThenHex, "\u{1}31\u{7}", "0x\u{1}001F"),
    ];
    for (form, answer, receipt) in cases {
        assert_eq!(form.of_answer(answer), form.of_receipt(receipt), "{form:?} {answer}");
    }
    assert_ne!(IdForm::Same.of_answer("a7"), IdForm::Same.of_receipt("0a7"));
    assert_ne!(IdForm::Same.of_answer("0"), IdForm::Same.of_receipt(""));
    assert_eq!(IdForm::HexThenDecimal.of_answer("not-hex"), "not-hex");
}

#[test]
fn an_id_is_cut_to_what_every_store_can_keep() {
    let form = IdForm::Same;
    assert_eq!(form.of_receipt(" Ab\0c\u{7} "), "abc");
    assert_eq!(form.of_answer(&"x".repeat(1_000)).len(), 64);
}

#[test]
fn a_receipt_after_a_header_is_read_in_any_alphabet() {
    let line = "id:7 stat:DELIVRD err:000";
    let header = [5, 0, 3, 9, 1, 1];
    let wide: Vec<u8> = line.encode_utf16().flat_map(u16::to_be_bytes).collect();
    for octets in [
        [&header[..], line.as_bytes()].concat(),
        [&header[..], &wide].concat(),
        gsm7::pack_after(&header, &gsm7::encode(line).unwrap()),
    ] {
        let short_message = Bytes::from(octets);
        let receipt = ShortMessage { short_message, ..deliver(0x44, "", Tlvs::default()) };
        assert_eq!(Report::read(&receipt).unwrap().id, "7");
    }
}

/// A receipt's octets in one of the alphabets that SMSCs use.
fn written(words: &str, alphabet: usize) -> Vec<u8> {
    let wide = |bytes: fn(u16) -> [u8; 2]| words.encode_utf16().flat_map(bytes).collect();
    match alphabet {
        0 => words.as_bytes().to_vec(),
        1 => wide(u16::to_be_bytes),
        2 => wide(u16::to_le_bytes),
        _ => gsm7::pack(&gsm7::encode(words).unwrap()),
    }
}

proptest! {
    #[test]
    fn a_receipt_is_read_whatever_its_separators_case_and_alphabet(
        id in "[0-9a-f]{1,32}", state in 0..8_usize, error in 0..1_000_u32,
        apart in prop::sample::select(vec![" ", ",", ";", "  ", ", ", " ; ", "\r\n"]),
        colon in prop::sample::select(vec![":", " :", ": ", " : ", "="]),
        quote in prop::sample::select(vec!["", "\"", "'"]),
        text in "[a-z :,]{0,20}",
        case in 0..2_usize, alphabet in 0..4_usize, data_coding: u8,
    ) {
        let states = [
            ("ENROUTE", State::EnRoute), ("DELIVRD", State::Delivered),
            ("EXPIRED", State::Expired), ("DELETED", State::Deleted),
            ("UNDELIV", State::Undeliverable), ("ACCEPTD", State::Accepted),
            ("UNKNOWN", State::Unknown), ("REJECTD", State::Rejected),
        ];
        let (word, state) = states[state];
        let error = format!("{error:03}");
        let value = |name: &str, value: &str| {
            let name = if case == 0 { name.to_owned() } else { name.to_uppercase() };
            format!("{name}{colon}{quote}{value}{quote}")
        };
        let pairs = [value("id", &id), "sub:001".into(), value("stat", word), value("err", &error)];
        let words = format!("{}{apart}text:{text}", pairs.join(apart));
        let short_message = Bytes::from(written(&words, alphabet));
        let receipt =
            ShortMessage { data_coding, short_message, ..deliver(4, "", Tlvs::default()) };
        prop_assert_eq!(Report::read(&receipt), Some(Report { id, state, error }), "{}", words);
    }

    #[test]
    fn any_octets_are_a_receipt_or_none(
        octets in prop::collection::vec(any::<u8>(), 0..100), data_coding: u8, esm_class: u8,
        start in prop::sample::select(vec!["", "id:", "id:\"", "stat:", "text:", "id:7 stat:"]),
    ) {
        let short_message = Bytes::from([start.as_bytes(), &octets].concat());
        let receipt =
            ShortMessage { data_coding, short_message, ..deliver(esm_class, "", Tlvs::default()) };
        if let Some(report) = Report::read(&receipt) {
            prop_assert!(!report.id.is_empty());
            let _ = report.outcome();
        }
    }
}

#[test]
fn another_reading_of_a_receipts_id_finds_the_id_of_its_response() {
    use IdForm::{DecimalThenHex, HexThenDecimal, Same};
    let forms = [Same, HexThenDecimal, DecimalThenHex];
    // What the SMSC does, its response, and its receipt.
    for (right, answer, receipt) in [
        (HexThenDecimal, "1A2B3C", "1715004"),
        (HexThenDecimal, "001A2B3C", "1715004"),
        (HexThenDecimal, "00001715", "5909"),
        (DecimalThenHex, "1715004", "1a2b3c"),
        (DecimalThenHex, "0001715004", "001A2B3C"),
        (Same, "1a2b3c", "1A2B3C"),
        (Same, "1715004", "1715004"),
    ] {
        for configured in forms.into_iter().filter(|form| *form != right) {
            let recorded = configured.of_answer(answer);
            let received = configured.of_receipt(receipt);
            if recorded == received {
                continue;
            }
            let readings = configured.readings(&received);
            let found = readings.iter().filter(|reading| reading.ids.contains(&recorded));
            let hints: Vec<_> = found.map(|reading| reading.hint).collect();
            assert!(hints.contains(&right.hint()), "{configured:?} {answer} {receipt}: {hints:?}");
        }
    }
    assert!(HexThenDecimal.hint().ends_with(": try IDS=hex-decimal"));
    assert_eq!(Same.readings("not a number"), []);
}
