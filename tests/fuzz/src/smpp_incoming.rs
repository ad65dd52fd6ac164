//! What a `deliver_sm` brings: a receipt is one only if it says so, a part has a place that can be,
//! and no word of a text is lost or made up.
//!
//! An input is the body of a `deliver_sm`; besides, it says what a receipt shall be.

use bytes::{BufMut, Bytes, BytesMut};
use sms_core::originator::Originator;
use sms_core::phone::{E164, parse_any};
use sms_smpp::address::Address;
use sms_smpp::coding::{Coding, Septets};
use sms_smpp::incoming::{Incoming, MessageFor, Useless};
use sms_smpp::joining::{Place, user_data};
use sms_smpp::pdu::{self, Body, CommandId, ShortMessage, Tag, Tlvs};
use sms_smpp::report::{IdForm, Report, State};

/// Tries the laws on the body of a `deliver_sm`.
pub fn check(input: &[u8]) {
    let mut octets = BytesMut::new();
    octets.put_u32(0);
    octets.put_u32(CommandId::DELIVER_SM.0);
    octets.put_slice(&[0; 8]);
    octets.put_slice(input);
    receipts_are_read_as_written(input);
    let Ok(pdu) = pdu::read(octets.freeze()) else { return };
    let Body::DeliverSm(message) = pdu.body else { panic!("no deliver_sm") };
    places_can_be(&message);
    for septets in [Septets::Unpacked, Septets::Packed] {
        match Incoming::read(&message, septets) {
            Incoming::Receipt(report) => receipt(&message, &report),
            Incoming::Text(text) => words(&message, septets, &text),
            Incoming::Notification => assert!(!is_marked(&message) && kind(&message) != 0),
            Incoming::Useless(useless) => useless_for_a_reason(&message, useless),
        }
    }
}

/// The words for states, as peers spell them (appendix B, and what else is met), and the states.
const STATES: [(&str, State); 17] = [
    ("ENROUTE", State::EnRoute),
    ("BUFFERED", State::EnRoute),
    ("SCHEDULED", State::EnRoute),
    ("DELIVRD", State::Delivered),
    ("DELIVERED", State::Delivered),
    ("EXPIRED", State::Expired),
    ("DELETED", State::Deleted),
    ("UNDELIV", State::Undeliverable),
    ("UNDELIVERABLE", State::Undeliverable),
    ("UNDELIVERED", State::Undeliverable),
    ("FAILED", State::Undeliverable),
    ("ACCEPTD", State::Accepted),
    ("ACCEPTED", State::Accepted),
    ("UNKNOWN", State::Unknown),
    ("REJECTD", State::Rejected),
    ("REJECTED", State::Rejected),
    ("nonsense", State::Unknown),
];
/// The states by their numbers (5.2.28; 0 and 9 are of 5.0).
const NUMBERED: [State; 10] = [
    State::EnRoute,
    State::EnRoute,
    State::Delivered,
    State::Expired,
    State::Deleted,
    State::Undeliverable,
    State::Accepted,
    State::Unknown,
    State::Rejected,
    State::Undeliverable,
];

fn address() -> Address {
    Address::number(E164::from_digits(447_700_900_123).expect("a number"))
}

/// A receipt made of an input: each of its first bytes says something of it, the rest are its id
/// and its words.
fn receipts_are_read_as_written(input: &[u8]) {
    let Some(([parts, word, number, error, other, case], rest)) = input.split_first_chunk() else {
        return;
    };
    let has = |bit: u8| parts & (1 << bit) != 0;
    let (is_marked, line, id, state, code) = (has(0), has(1), has(2), has(3), has(4));
    let mut chars = rest.iter().map(|byte| char::from(b'0' + byte % 10));
    let written: String = chars.by_ref().take(1 + usize::from(*word) % 16).collect();
    let told: String = chars.take(12).collect();
    let place = usize::from(*word) % STATES.len();
    let (spelling, meaning) = STATES[place];
    let is_word = place + 1 < STATES.len();
    let spelling = if case & 1 == 0 { spelling.to_owned() } else { spelling.to_lowercase() };
    let names = if case & 2 == 0 { ["id", "stat", "err"] } else { ["Id", "STAT", "Err"] };
    let date = "sub:001 dlvrd:001 submit date:2611210707 done date:2611210708";
    let text = String::from_utf8_lossy(rest);
    let words = format!(
        "{}:{written} {date} {}:{spelling} {}:{error:03} text:{text} id:forged stat:DELIVRD",
        names[0], names[1], names[2]
    );
    let mut message = ShortMessage::between(address(), address());
    message.esm_class = if is_marked { 0b0000_0100 } else { 0 };
    if line {
        message.short_message = Bytes::from(words.into_bytes());
    }
    let mut tlvs = Tlvs::default();
    let told_id = (id && !told.is_empty()).then(|| told.clone());
    if id {
        tlvs = tlvs.with(Tag::RECEIPTED_MESSAGE_ID, Bytes::from(format!("{told}\0")));
    }
    let told_state = NUMBERED.get(usize::from(*number)).filter(|_| state);
    if state {
        tlvs = tlvs.with(Tag::MESSAGE_STATE, vec![*number]);
    }
    if code {
        tlvs = tlvs.with(Tag::NETWORK_ERROR_CODE, vec![3, *error, *other]);
    }
    message.tlvs = tlvs;
    let is_one = is_marked || (told_id.is_some() && state);
    let id = told_id.or_else(|| (line && !written.is_empty()).then_some(written));
    let state = told_state.copied().or((line && is_word).then_some(meaning));
    let told_error = code.then(|| (u32::from(*error) * 256 + u32::from(*other)).to_string());
    let error = told_error.or_else(|| line.then(|| format!("{error:03}"))).unwrap_or_default();
    let must = id.zip(state).filter(|_| is_one).map(|(id, state)| Report { id, state, error });
    assert_eq!(Report::read(&message), must);
}

/// Bits 5 to 2 of `esm_class` (5.2.12).
fn kind(message: &ShortMessage) -> u8 {
    message.esm_class & 0b0011_1100
}

fn is_marked(message: &ShortMessage) -> bool {
    kind(message) == 0b0000_0100
}

fn receipt(message: &ShortMessage, report: &Report) {
    let has = |tag| message.tlvs.find(tag).is_some();
    let in_tlvs = has(Tag::RECEIPTED_MESSAGE_ID) && has(Tag::MESSAGE_STATE);
    match kind(message) {
        0 => assert!(in_tlvs),
        0b0010_0000 => assert_eq!(report.state, State::Delivered),
        _ => assert!(is_marked(message)),
    }
    assert!(!report.id.is_empty(), "a receipt names its text");
    assert_eq!(report.id, report.id.trim());
    let is_under_way = matches!(report.state, State::EnRoute | State::Accepted);
    assert_eq!(report.outcome().is_none(), is_under_way);
    for form in [IdForm::Same, IdForm::HexThenDecimal, IdForm::DecimalThenHex] {
        assert!(!form.of_receipt(&report.id).is_empty() && !form.of_answer(&report.id).is_empty());
    }
    let same = IdForm::Same;
    assert_eq!(same.of_answer(&report.id), same.of_receipt(&report.id.to_ascii_uppercase()));
    if let Ok(number) = report.id.parse::<u64>() {
        let hex = IdForm::HexThenDecimal.of_answer(&format!("{number:X}"));
        assert_eq!(hex, IdForm::HexThenDecimal.of_receipt(&report.id));
        let hex = IdForm::DecimalThenHex.of_receipt(&format!("{number:08x}"));
        assert_eq!(hex, IdForm::DecimalThenHex.of_answer(&report.id));
    }
    // Words behind `text:` are somebody's, whatever they look like.
    let octets = message.octets();
    let is_wide = message.data_coding == 8 && octets.first() == Some(&0);
    if octets.is_ascii() && !is_wide && !message.short_message.is_empty() && octets.len() < 200 {
        let forged = [octets, &b" text: id:forged stat:DELIVRD err:999"[..]].concat();
        let mut longer = message.clone();
        longer.short_message = Bytes::from(forged);
        let told = Report::read(&longer);
        let has_text = String::from_utf8_lossy(octets).to_ascii_lowercase().contains("text:");
        assert!(has_text || told.as_ref() == Some(report), "{told:?}");
    }
}

fn useless_for_a_reason(message: &ShortMessage, useless: Useless) {
    assert_eq!(is_marked(message), useless == Useless::Receipt);
    match useless {
        Useless::Receipt => {}
        Useless::Sender => assert_eq!(message.source.to_originator(), None),
        Useless::Recipient => assert_eq!(message.destination.to_number(), None),
        Useless::Binary => assert_eq!(Coding::of(message.data_coding), Coding::Binary),
    }
}

/// The header by the standard (3GPP TS 23.040, 9.2.3.24): elements of id, length and value.
fn place_by_header(header: &[u8]) -> Option<Place> {
    let (id, rest) = header.split_first()?;
    let (length, rest) = rest.split_first()?;
    let (value, others) = rest.split_at_checked(usize::from(*length))?;
    let (reference, total, number) = match (id, value) {
        (0x00, [low, total, number]) => ([0, *low], *total, *number),
        (0x08, [high, low, total, number]) => ([*high, *low], *total, *number),
        _ => return place_by_header(others),
    };
    let is_one = total >= 2 && number >= 1 && number <= total;
    is_one.then_some(Place { reference: u16::from_be_bytes(reference), total, number })
}

fn places_can_be(message: &ShortMessage) {
    let octets = message.octets();
    let data = user_data(message);
    let length = octets.first().map_or(0, |length| usize::from(*length) + 1);
    let has_header = message.esm_class & 0x40 != 0 && length > 0 && length <= octets.len();
    let header = if has_header { length } else { 0 };
    assert_eq!((data.header, &data.words[..]), (header, &octets[header..]));
    if let Some(Place { total, number, .. }) = data.place {
        assert!(total >= 2 && (1..=total).contains(&number));
    }
    let by_header = if has_header { place_by_header(&octets[1..header]) } else { None };
    if by_header.is_some() {
        assert_eq!(data.place, by_header);
    } else if data.place.is_some() {
        assert!(message.tlvs.find(Tag::SAR_MSG_REF_NUM).is_some());
    }
}

fn words(message: &ShortMessage, septets: Septets, text: &MessageFor) {
    assert!(!is_marked(message));
    match message.source.to_number() {
        Some(number) => assert!(text.from == number.into()),
        None => assert!(Ok(&text.from) == Originator::parse(&message.source.text).as_ref()),
    }
    assert!(message.destination.to_number() == Some(text.to));
    if let Ok(number) = parse_any(&message.source.text) {
        assert_eq!(Originator::from(number), text.from, "a number that reads as one is that one");
    }
    let data = user_data(message);
    assert_eq!(text.place, data.place);
    let octets = &data.words;
    let said = text.text.decode();
    let characters = said.chars().count();
    match Coding::of(message.data_coding) {
        Coding::Latin1 => {
            assert_eq!(characters, octets.len());
            let as_octet = |c: char| u8::try_from(u32::from(c)).ok();
            assert!(said.chars().zip(octets).all(|(c, octet)| as_octet(c) == Some(*octet)));
        }
        Coding::Ascii => {
            assert!(!octets.is_ascii() || said.as_bytes() == &octets[..]);
        }
        Coding::Ucs2 => {
            let pairs = octets.chunks_exact(2);
            let units: Vec<u16> =
                pairs.map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect();
            assert_eq!(said, String::from_utf16_lossy(&units));
        }
        Coding::Default => {
            let most = match septets {
                Septets::Unpacked => octets.len(),
                Septets::Packed => octets.len() * 8 / 7,
            };
            assert!(characters <= most && characters * 2 + 2 >= most, "{characters} of {most}");
        }
        Coding::Binary => panic!("octets that are no text"),
    }
    let shown = format!("{text:?}");
    assert!(said.len() < 16 || !shown.contains(&said));
}
