//! What is written follows the standard, checked against octets written by hand and against
//! `rusmpp`. PDUs that deviate from the standard are parsed all the same.

use bytes::BytesMut;
use proptest::prelude::*;
use rusmpp::tokio_codec::CommandCodec;
use tokio_util::codec::{Decoder, Encoder};

use super::*;
use crate::address::{Npi, Ton};

fn octets(pdu: &Pdu) -> Bytes {
    let mut octets = BytesMut::new();
    write(pdu, &mut octets);
    octets.freeze()
}

/// The PDU as `rusmpp` parses it.
fn theirs(octets: &Bytes) -> rusmpp::Command {
    let mut octets = BytesMut::from(&octets[..]);
    CommandCodec::new().decode(&mut octets).expect("it can be read").expect("it is whole")
}

fn number(digits: &str) -> Address {
    Address { ton: Ton::INTERNATIONAL, npi: Npi::TELEPHONE, text: digits.into() }
}

fn text() -> ShortMessage {
    ShortMessage {
        registered_delivery: 1,
        data_coding: 8,
        esm_class: 0x40,
        validity_period: "000001000000000R".to_owned(),
        short_message: Bytes::from_static(&[5, 0, 3, 1, 2, 1, 0x04, 0x34]),
        ..ShortMessage::between(Address::name("Bistro"), number("447700900123"))
    }
}

/// What a `data_sm` can hold.
fn data() -> ShortMessage {
    ShortMessage {
        esm_class: 4,
        data_coding: 8,
        tlvs: Tlvs::default().with(Tag::MESSAGE_PAYLOAD, vec![0x04, 0x34]),
        ..ShortMessage::between(Address::name("Bistro"), number("447700900123"))
    }
}

fn every_body() -> Vec<Body> {
    let modes = [BindMode::Transmitter, BindMode::Receiver, BindMode::Transceiver];
    let bind = Bind {
        system_id: "example".to_owned(),
        password: "secret".to_owned(),
        system_type: String::new(),
        version: 0x34,
    };
    let answer = BindResp { system_id: "smsc".to_owned(), version: Some(0x34) };
    let mut bodies = vec![
        Body::Unbind,
        Body::UnbindResp,
        Body::SubmitSm(Box::new(text())),
        Body::SubmitSmResp { message_id: "5f2a".to_owned() },
        Body::DeliverSm(Box::new(text())),
        Body::DeliverSmResp,
        Body::DataSm(Box::new(data())),
        Body::DataSmResp,
        Body::EnquireLink,
        Body::EnquireLinkResp,
        Body::GenericNack,
    ];
    for mode in modes {
        bodies.push(Body::Bind(mode, Box::new(bind.clone())));
        bodies.push(Body::BindResp(mode, answer.clone()));
    }
    bodies
}

#[test]
fn every_pdu_is_parsed_as_it_was_written() {
    for body in every_body() {
        let pdu = Pdu { status: Status::OK, sequence: 7, body };
        let written = octets(&pdu);
        assert_eq!(length(&written), Ok(Some(written.len())));
        assert_eq!(read(written), Ok(pdu));
    }
}

#[test]
fn rusmpp_parses_every_pdu_and_writes_the_same_octets() {
    for body in every_body() {
        let pdu = Pdu { status: Status::OK, sequence: 0x7FFF_FFFF, body };
        let ours = octets(&pdu);
        let command = theirs(&ours);
        assert_eq!(u32::from(command.id()), pdu.body.command().0);
        assert_eq!(command.sequence_number(), 0x7FFF_FFFF);
        let mut back = BytesMut::new();
        CommandCodec::new().encode(command, &mut back).unwrap();
        assert_eq!(back, ours, "{pdu:?}");
    }
}

#[test]
fn a_submit_sm_has_the_octets_that_the_standard_says() {
    let pdu = Pdu::request(1, Body::SubmitSm(Box::new(text())));
    let mut expected = vec![0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 1];
    expected.extend(b"\0");
    expected.extend(b"\x05\x00Bistro\0");
    expected.extend(b"\x01\x01447700900123\0");
    expected.extend([0x40, 0, 0, 0]);
    expected.extend(b"000001000000000R\0");
    expected.extend([1, 0, 8, 0, 8]);
    expected.extend([5, 0, 3, 1, 2, 1, 0x04, 0x34]);
    expected[3] = u8::try_from(expected.len()).unwrap();
    assert_eq!(octets(&pdu)[..], expected[..]);
}

#[test]
fn a_refusing_submit_sm_resp_has_no_body() {
    let body = Body::SubmitSmResp { message_id: "x".to_owned() };
    let refusal = Pdu::refusal(Status::THROTTLED, 9, body);
    assert_eq!(octets(&refusal)[..], [0, 0, 0, 16, 0x80, 0, 0, 4, 0, 0, 0, 0x58, 0, 0, 0, 9]);
}

#[test]
fn responses_that_deviate_from_the_standard_are_parsed() {
    let head = |length: u8, command: u8| {
        vec![0, 0, 0, length, 0x80, 0, 0, command, 0, 0, 0, 0, 0, 0, 0, 3]
    };
    let id_of = |mut octets: Vec<u8>, id: &[u8]| {
        octets.extend(id);
        octets[3] = u8::try_from(octets.len()).unwrap();
        match read(octets.into()).unwrap().body {
            Body::SubmitSmResp { message_id } => message_id,
            other => panic!("{other:?}"),
        }
    };
    let long = "7".repeat(70);
    assert_eq!(id_of(head(0, 4), format!("{long}\0").as_bytes()), long);
    assert_eq!(id_of(head(0, 4), b"no-end"), "no-end");
    assert_eq!(id_of(head(0, 4), b""), "");
    assert_eq!(id_of(head(0, 4), b"id\0\x14\x03\0\x01\0"), "id", "a TLV follows it");
    let bare = read(head(16, 9).into()).unwrap();
    assert_eq!(bare.body, Body::BindResp(BindMode::Transceiver, BindResp::default()));
}

/// Why this reader exists: SMSCs send such PDUs, and a strict reader loses their message ids.
#[test]
fn what_rusmpp_refuses_is_parsed_here() {
    let response = |id: &[u8]| {
        let mut octets = vec![0, 0, 0, 0, 0x80, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 3];
        octets.extend(id);
        octets[3] = u8::try_from(octets.len()).unwrap();
        Bytes::from(octets)
    };
    let receipted = |id: &'static [u8]| {
        let tlvs = Tlvs::default().with(Tag::RECEIPTED_MESSAGE_ID, id);
        octets(&Pdu::request(3, Body::DeliverSm(Box::new(ShortMessage { tlvs, ..text() }))))
    };
    let refuses = |octets: &Bytes| {
        let mut octets = BytesMut::from(&octets[..]);
        !matches!(CommandCodec::new().decode(&mut octets), Ok(Some(_)))
    };
    let long = [&[b'7'; 70][..], b"\0"].concat();
    for unit in [response(&long), response(b"no-end"), receipted(b"5f2a")] {
        assert!(refuses(&unit), "{unit:?}");
        assert!(read(unit.clone()).is_ok(), "{unit:?}");
    }
    for unit in [response(b"an-end\0"), receipted(b"5f2a\0")] {
        assert!(!refuses(&unit), "{unit:?}");
    }
}

#[test]
fn a_deliver_sm_may_have_overlong_strings_and_truncated_tlvs() {
    let long = Address { text: "4".repeat(40).into(), ..number("") };
    let message = ShortMessage { source: long.clone(), ..text() };
    let mut whole = octets(&Pdu::request(1, Body::DeliverSm(Box::new(message)))).to_vec();
    // The writer truncates addresses, so insert a longer one by hand.
    let at = whole.windows(20).position(|window| window == [b'4'; 20]).unwrap();
    whole.splice(at..at, [b'4'; 20]);
    whole.extend([0x04, 0x24, 0x00, 0x09, b'a']);
    let Body::DeliverSm(read) = read(whole.into()).unwrap().body else { panic!("no deliver_sm") };
    assert_eq!(read.source, long);
    assert_eq!(read.tlvs.find(Tag::MESSAGE_PAYLOAD).unwrap()[..], b"a"[..]);
    assert_eq!(read.octets()[..], text().short_message[..], "short_message takes precedence");
}

#[test]
fn overlong_strings_are_cut_between_characters() {
    for (name, kept) in [("аааааааааааа", "аааааааааа"), ("7аааааааааааа", "7ааааааааа")]
    {
        let message = ShortMessage { source: Address::name(name), ..text() };
        let written = octets(&Pdu::request(1, Body::DeliverSm(Box::new(message))));
        let Body::DeliverSm(read) = read(written).unwrap().body else { panic!("no deliver_sm") };
        assert_eq!(&*read.source.text, kept);
    }
}

#[test]
fn a_name_that_is_not_utf_8_is_read_as_latin_1() {
    let message = ShortMessage { source: Address::name("Caf@"), ..text() };
    let mut written = octets(&Pdu::request(1, Body::DeliverSm(Box::new(message)))).to_vec();
    let at = written.iter().position(|octet| *octet == b'@').unwrap();
    written[at] = 0xE9;
    let Body::DeliverSm(read) = read(written.into()).unwrap().body else { panic!("no deliver_sm") };
    assert_eq!(&*read.source.text, "Café");
}

#[test]
fn a_truncated_pdu_is_reported_with_its_command_and_sequence_number() {
    let whole = octets(&Pdu::request(5, Body::DeliverSm(Box::new(text()))));
    let cut = whole.slice(..whole.len() - 3);
    assert_eq!(read(cut), Err(Malformed { command: CommandId::DELIVER_SM, sequence: 5 }));
}

#[test]
fn every_command_of_the_standard_is_known_by_name() {
    for (command, name) in CommandId::REQUESTS {
        assert_eq!(format!("{command:?}"), name);
        assert_eq!(format!("{:?}", command.answer()), format!("{name}_resp"));
    }
    assert_eq!(format!("{:?}", CommandId::GENERIC_NACK), "generic_nack");
    assert_eq!(format!("{:?}", CommandId(0x7777)), "0x00007777");
}

#[test]
fn a_length_that_no_pdu_can_have_is_reported() {
    assert_eq!(length(&[0, 0, 0]), Ok(None));
    assert_eq!(length(&[0, 0, 0, 16]), Ok(Some(16)));
    assert_eq!(length(&[0, 0, 0, 15]), Err(BadLength(15)));
    assert_eq!(length(b"HTTP"), Err(BadLength(0x4854_5450)));
}

#[test]
fn debug_output_shows_no_password_number_or_message() {
    for body in every_body() {
        let shown = format!("{:?}", Pdu::request(1, body));
        for secret in ["secret", "900123", "Bistro", "1076"] {
            assert!(!shown.contains(secret), "{shown}");
        }
    }
}

proptest! {
    #[test]
    fn any_octets_are_parsed_or_refused(octets in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = length(&octets);
        let _ = read(octets.into());
    }

    #[test]
    fn a_corrupted_pdu_is_parsed_or_refused(at in 16_usize..80, octet: u8, cut in 0_usize..60) {
        for body in every_body() {
            let mut whole = octets(&Pdu::request(1, body)).to_vec();
            if let Some(place) = whole.get_mut(at) {
                *place = octet;
            }
            whole.truncate(whole.len().saturating_sub(cut).max(HEAD));
            let _ = read(whole.into());
        }
    }
}
