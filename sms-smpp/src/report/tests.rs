use bytes::Bytes;
use sms_core::message::ErrorCode as E;

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
        (IdForm::HexThenDecimal, "1F", "31"),
        (IdForm::HexThenDecimal, "0000001f", "0031"),
        (IdForm::DecimalThenHex, "31", "1F"),
        (IdForm::DecimalThenHex, "0031", "0x1f"),
    ];
    for (form, answer, receipt) in cases {
        assert_eq!(form.of_answer(answer), form.of_receipt(receipt), "{form:?} {answer}");
    }
    assert_ne!(IdForm::Same.of_answer("7"), IdForm::Same.of_receipt("07"));
    assert_eq!(IdForm::HexThenDecimal.of_answer("not-hex"), "not-hex");
}

#[test]
fn an_id_is_cut_to_what_every_store_can_keep() {
    let form = IdForm::Same;
    assert_eq!(form.of_receipt(" Ab\0c\u{7} "), "abc");
    assert_eq!(form.of_answer(&"x".repeat(1_000)).len(), 64);
}
