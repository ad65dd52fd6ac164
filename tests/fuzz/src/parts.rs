//! Parts: as many as are counted, joined they are the text, each within its limits and as full as
//! it can be; what goes over SMPP in any style is read as the same words.
//!
//! An input is a text, or a number, `*` and a text, which then stands there so many times.

use std::thread_local;

use bytes::{Bytes, BytesMut};
use futures_executor::block_on;
use sms_core::Error;
use sms_core::account::Mode;
use sms_core::ids::MessageId;
use sms_core::message::Body;
use sms_core::phone::E164;
use sms_core::route::{Look, OutboundMessage, RouteName};
use sms_core::sending::SendRequest;
use sms_core::sending::recipients::RejectionReason;
use sms_core::service::AccountHandle;
use sms_core::text::{self, Encoding, ShortText, check_length, gsm7, is_blank, measure, split};
use sms_core::time::Timestamp;
use sms_smpp::coding::Septets;
use sms_smpp::incoming::{Incoming, MessageFor};
use sms_smpp::pdu::{self, Pdu, ShortMessage};
use sms_smpp::submit::{LongMessages, Style, submits};

use crate::merge::filled;
use crate::width::widths;
use crate::{refusal, service, text_of};

/// Tries the laws on a text.
pub fn check(input: &[u8]) {
    let repeated = repeated(text_of(input));
    let text = repeated.as_deref().unwrap_or(text_of(input));
    counted_as_cut(text);
    parts_fit_the_air(text);
    limits_hold(text);
    if check_length(text).is_ok() {
        carried_whole(text);
    }
    if !text.is_empty() && text::is_within_characters(text) {
        quoted_as_cut(text);
    }
}

/// More than 255 parts hold, and no more than can be tried.
const MOST_CHARACTERS: usize = 60_000;

/// The text that an input says in short, if it does.
fn repeated(input: &str) -> Option<String> {
    let (times, text) = input.split_once('*')?;
    let times: usize = times.parse().ok()?;
    let most = MOST_CHARACTERS / text.len().max(1);
    Some(text.repeat(times.min(most)))
}

fn counted_as_cut(text: &str) {
    let (encoding, widths, alone, joined) = widths(text);
    let measured = measure(text);
    assert_eq!(measured.encoding, encoding, "{text:?}");
    assert_eq!(measured.units as usize, widths.iter().sum::<usize>(), "{text:?}");
    let parts = split(text);
    assert_eq!(parts.len(), measured.segments.get() as usize, "{text:?}");
    let whole: String = parts.iter().map(sms_core::text::Part::text).collect();
    assert_eq!(whole, text);
    let room = if widths.iter().sum::<usize>() <= alone { alone } else { joined };
    assert_eq!(parts.len() == 1, room == alone, "{text:?}");
    let mut next = widths.iter();
    let mut rest = widths.len();
    for part in &parts {
        let characters = part.text().chars().count();
        let used: usize = next.by_ref().take(characters).sum();
        rest -= characters;
        assert!(used <= room, "{text:?}");
        let first_after = widths.get(widths.len() - rest);
        assert!(first_after.is_none_or(|width| used + width > room), "a part with room left");
        assert!(characters > 0 || text.is_empty());
        assert_eq!((part.encoding(), part.total()), (encoding, measured.segments));
    }
    let numbers: Vec<u32> = parts.iter().map(sms_core::text::Part::number).collect();
    assert_eq!(numbers, (1..=measured.segments.get()).collect::<Vec<u32>>());
}

fn parts_fit_the_air(text: &str) {
    let parts = split(text);
    for part in &parts {
        let Some(data) = part.user_data(0x2A) else {
            assert!(parts.len() > 255);
            continue;
        };
        assert!(parts.len() <= 255);
        let total = u8::try_from(parts.len()).unwrap_or_default();
        let number = u8::try_from(part.number()).unwrap_or_default();
        let header = (total > 1).then_some([5, 0, 3, 0x2A, total, number]);
        assert_eq!((data.header, data.encoding), (header, part.encoding()));
        let octets = data.octets();
        assert!(octets.len() <= 140);
        let start = header.map_or(0, |header| header.len());
        let words = match data.encoding {
            Encoding::Gsm7 => {
                assert!(data.payload.iter().all(|septet| *septet < 0x80));
                gsm7::decode(&gsm7::unpack_after(&octets, start, data.payload.len()))
            }
            Encoding::Ucs2 => of_utf16(&octets[start..]),
        };
        assert_eq!(words, part.text());
    }
}

fn of_utf16(octets: &[u8]) -> String {
    let units = octets.chunks(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]));
    String::from_utf16(&units.collect::<Vec<u16>>()).expect("no pair is cut")
}

fn limits_hold(text: &str) {
    let (_, widths, alone, _) = widths(text);
    assert_eq!(check_length(text).is_ok(), widths.iter().sum::<usize>() <= 10 * alone);
    assert_eq!(text::is_within_characters(text), widths.len() <= 1_600);
    assert_eq!(is_blank(text), !text.chars().any(text::has_ink));
}

fn number(digits: u64) -> E164 {
    E164::from_digits(digits).expect("a number")
}

/// Whatever the style, the peer's units are within its limits, and say the same words.
fn carried_whole(text: &str) {
    let now = Timestamp::from_millis(0);
    let measured = measure(text);
    let outbound = OutboundMessage {
        message: MessageId::from_u128(1),
        to: number(447_700_900_123),
        from: number(447_700_900_000),
        sender: None,
        body: Body::new(text),
        encoding: measured.encoding,
        segments: measured.segments,
        route: RouteName::new("main"),
        mode: Mode::Live,
        lane: sms_core::dispatch::Lane::Normal,
        attempt: 0,
        expires_at: now,
        look: Look::at(now),
    };
    for septets in [Septets::Unpacked, Septets::Packed] {
        let styles =
            [LongMessages::Udh8, LongMessages::Udh16, LongMessages::Sar, LongMessages::Payload];
        for long_messages in styles {
            let units = submits(&outbound, Style { long_messages, septets }, 0xBEEF, now);
            let is_cut = measured.segments.get() > 1 && long_messages != LongMessages::Payload;
            let count = if is_cut { measured.segments.get() as usize } else { 1 };
            assert_eq!(units.len(), count, "as many as were charged");
            let mut whole = String::new();
            for (index, unit) in units.into_iter().enumerate() {
                let part = delivered(&unit, septets);
                let told = part.place.map(|place| (usize::from(place.total), place.number));
                let place = is_cut.then(|| (count, u8::try_from(index + 1).unwrap_or_default()));
                assert_eq!(told, place, "{long_messages:?}");
                whole.push_str(&part.text.decode());
            }
            if septets == Septets::Unpacked {
                assert_eq!(whole, text, "{long_messages:?}");
            } else {
                // Packed, a carriage return at the very end of a part may be padding, or doubled.
                assert_eq!(whole.replace('\r', ""), text.replace('\r', ""), "{long_messages:?}");
            }
        }
    }
}

/// The unit written, read again, and taken in as though it had come to us.
fn delivered(unit: &ShortMessage, septets: Septets) -> MessageFor {
    assert!(unit.short_message.len() <= 254);
    let mut octets = BytesMut::new();
    pdu::write(&Pdu::request(1, pdu::Body::DeliverSm(Box::new(unit.clone()))), &mut octets);
    let read = pdu::read(Bytes::from(octets)).expect("what is written can be read");
    assert_eq!(read.body, pdu::Body::DeliverSm(Box::new(unit.clone())));
    match Incoming::read(unit, septets) {
        Incoming::Text(text) => text,
        other => panic!("{other:?}"),
    }
}

thread_local! {
    static ACCOUNT: AccountHandle =
        block_on(async { service::account(&service::empty().await, 0).await });
}

/// A quote shows the text that would be sent, if it could be, and takes a credit for each part.
fn quoted_as_cut(text: &str) {
    let rendered = filled(text, |name| match name {
        "phone" => Some("+447700900123".to_owned()),
        "first_name" | "last_name" | "full_name" | "email" => Some(String::new()),
        _ => None,
    });
    let short = ShortText::of(&rendered, &format!("{}/l/", service::PUBLIC_URL));
    let short = short.map(|short| short.text);
    let with_line = format!("{}\nReply STOP to opt out", short.as_ref().unwrap_or(&rendered));
    let plain = SendRequest::new(text).to("07700 900123");
    let tracked = plain.clone().track_links().append_opt_out();
    for (request, whole) in [(plain, &rendered), (tracked, &with_line)] {
        let quote = ACCOUNT.with(|account| block_on(account.quote(request)));
        if text.contains('\0') {
            assert!(matches!(quote, Err(Error::Invalid(_))), "no store keeps U+0000");
            continue;
        }
        let quote = quote.expect("a well-formed request");
        let parts = quote.preview.as_deref().map_or(0, |shown| split(shown).len());
        assert_eq!(quote.credits.get(), parts as u64, "{text:?}");
        let reasons: Vec<RejectionReason> = quote.rejected.iter().map(|one| one.reason).collect();
        let refused = refusal::of(&rendered, whole);
        assert_eq!(reasons, refused.into_iter().collect::<Vec<_>>(), "{text:?}");
        assert_eq!(quote.recipients + reasons.len(), 1);
        assert_eq!(quote.preview.as_ref(), refused.is_none().then_some(whole), "{text:?}");
        if let Some(shown) = &quote.preview {
            assert_eq!(quote.encoding, measure(shown).encoding);
        }
    }
}
