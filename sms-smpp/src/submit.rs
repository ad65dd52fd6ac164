//! Turns a message into its `submit_sm`s, one for each segment.

use std::time::Duration;

use bytes::Bytes;
use sms_core::route::OutboundMessage;
use sms_core::text::{Encoding, Part, gsm7, split};
use sms_core::time::Timestamp;

use crate::address::Address;
use crate::coding::{Coding, Septets, encode};
use crate::pdu::{ShortMessage, Tag, Tlvs};

/// How a message of several segments is submitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LongMessages {
    /// One `submit_sm` per segment, with a user data header and a reference of one octet.
    #[default]
    Udh8,
    /// The same with a reference of two octets, which leaves room for 152 septets or 66 code units
    /// in a segment. A message that would then take more segments than were charged gets a
    /// reference of one octet.
    Udh16,
    /// One `submit_sm` per segment, with its place in the `sar_*` TLVs.
    Sar,
    /// One `submit_sm` with the whole text in `message_payload`; the SMSC splits it.
    Payload,
}

/// How an SMSC expects messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Style {
    /// How long messages are submitted.
    pub long_messages: LongMessages,
    /// How GSM-7 is laid out in octets.
    pub septets: Septets,
}

/// Requests a receipt for the final outcome, success or failure (5.2.17).
const FINAL_RECEIPT: u8 = 0x01;

/// The `submit_sm`s of a message, in order. `reference` joins its segments.
pub fn submits(
    text: &OutboundMessage,
    style: Style,
    reference: u16,
    now: Timestamp,
) -> Vec<ShortMessage> {
    let source = match &text.sender {
        Some(name) => Address::name(name),
        None => Address::number(text.from),
    };
    let blank = ShortMessage {
        registered_delivery: FINAL_RECEIPT,
        data_coding: Coding::octet_for(text.encoding),
        validity_period: validity(text.expires_at, now),
        ..ShortMessage::between(source, Address::number(text.to))
    };
    let parts = split(text.body.as_str());
    if let [part] = &parts[..] {
        return vec![ShortMessage { short_message: words(part, style.septets), ..blank }];
    }
    match style.long_messages {
        LongMessages::Payload => {
            let whole: Vec<u8> = parts.iter().flat_map(payload).collect();
            let whole = encode(&[], &whole, text.encoding, style.septets);
            let tlvs = Tlvs::default().with(Tag::MESSAGE_PAYLOAD, whole);
            vec![ShortMessage { tlvs, ..blank }]
        }
        LongMessages::Sar => {
            let with_place = |part| {
                let short_message = words(part, style.septets);
                ShortMessage { short_message, tlvs: sar(part, reference), ..blank.clone() }
            };
            parts.iter().map(with_place).collect()
        }
        LongMessages::Udh8 | LongMessages::Udh16 => {
            let narrow: Vec<Vec<u8>> = parts.iter().map(payload).collect();
            let wide = match style.long_messages {
                LongMessages::Udh16 => cut_for_wide_headers(&narrow.concat(), text.encoding),
                _ => Vec::new(),
            };
            let (payloads, width) =
                if wide.len() == narrow.len() { (wide, Width::Two) } else { (narrow, Width::One) };
            let total = octet(payloads.len());
            let with_header = |(index, payload): (usize, &Vec<u8>)| ShortMessage {
                short_message: encode(
                    &header(width, reference, total, octet(index + 1)),
                    payload,
                    text.encoding,
                    style.septets,
                ),
                esm_class: blank.esm_class | ShortMessage::HAS_HEADER,
                ..blank.clone()
            };
            payloads.iter().enumerate().map(with_header).collect()
        }
    }
}

/// How many octets a reference has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Width {
    One,
    Two,
}

/// The concatenation header (3GPP TS 23.040, 9.2.3.24.1 and 9.2.3.24.8).
fn header(width: Width, reference: u16, total: u8, number: u8) -> Vec<u8> {
    let [high, low] = reference.to_be_bytes();
    match width {
        Width::One => vec![0x05, 0x00, 0x03, low, total, number],
        Width::Two => vec![0x06, 0x08, 0x04, high, low, total, number],
    }
}

/// A count as an octet. A message has at most 1,600 characters, so far fewer than 255 segments.
fn octet(count: usize) -> u8 {
    u8::try_from(count).unwrap_or(u8::MAX)
}

/// Splits septets or UTF-16 octets into segments of 152 septets or 66 code units, which is what a
/// header of seven octets leaves room for. Escape sequences and surrogate pairs are not split.
fn cut_for_wide_headers(payload: &[u8], encoding: Encoding) -> Vec<Vec<u8>> {
    let mut parts = Vec::new();
    let mut rest = payload;
    while !rest.is_empty() {
        let longest = match encoding {
            Encoding::Gsm7 => 152,
            Encoding::Ucs2 => 132,
        };
        let mut end = rest.len().min(longest);
        if end < rest.len() {
            match encoding {
                Encoding::Gsm7 if rest[end - 1] == gsm7::ESCAPE => end -= 1,
                Encoding::Ucs2 if matches!(rest[end - 2], 0xD8..=0xDB) => end -= 2,
                _ => {}
            }
        }
        let (part, after) = rest.split_at(end);
        parts.push(part.to_vec());
        rest = after;
    }
    parts
}

/// The `sar_*` TLVs of a segment (5.3.2.22 to 5.3.2.24).
fn sar(part: &Part<'_>, reference: u16) -> Tlvs {
    let count = |count: u32| vec![u8::try_from(count).unwrap_or(u8::MAX)];
    Tlvs::default()
        .with(Tag::SAR_MSG_REF_NUM, reference.to_be_bytes().to_vec())
        .with(Tag::SAR_TOTAL_SEGMENTS, count(part.total().get()))
        .with(Tag::SAR_SEGMENT_SEQNUM, count(part.number()))
}

/// The text of a segment: septets, one per octet, or UTF-16 octets.
fn payload(part: &Part<'_>) -> Vec<u8> {
    part.user_data(0).map(|data| data.payload).unwrap_or_default()
}

fn words(part: &Part<'_>, septets: Septets) -> Bytes {
    encode(&[], &payload(part), part.encoding(), septets)
}

/// The validity period as a relative time, `YYMMDDhhmmss000R` (7.1.1). Empty, which means the
/// SMSC's default, for more than 30 days.
fn validity(expires_at: Timestamp, now: Timestamp) -> String {
    let left = expires_at.since(now).max(Duration::from_mins(1)).as_secs();
    let (days, seconds) = (left / 86_400, left % 86_400);
    if days > 30 {
        return String::new();
    }
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    format!("0000{days:02}{hours:02}{minutes:02}{seconds:02}000R")
}

#[cfg(test)]
mod tests;
