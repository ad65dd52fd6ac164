//! Encodes text as octets and decodes it, by `data_coding` (5.2.19).

use bytes::Bytes;
use sms_core::inbound::segment::{Alphabet, SegmentText};
use sms_core::text::{Encoding, gsm7};

/// How octets encode text, as `data_coding` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coding {
    /// The SMSC's default alphabet (0x00), taken to be GSM-7.
    Default,
    /// ASCII (0x01), which a few SMSCs use as their default.
    Ascii,
    /// ISO 8859-1 (0x03), one octet a character.
    Latin1,
    /// UTF-16, big-endian (0x08), surrogate pairs included.
    Ucs2,
    /// Not text (0x02, 0x04 and others).
    Binary,
}

/// How GSM-7 is laid out in octets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Septets {
    /// One septet per octet, as nearly every SMSC expects.
    #[default]
    Unpacked,
    /// Eight septets in seven octets, as in GSM itself.
    Packed,
}

impl Coding {
    /// `data_coding` of the SMSC's default alphabet.
    pub const DEFAULT: u8 = 0x00;
    /// `data_coding` of UCS-2, two octets a code unit, big-endian.
    pub const UCS2: u8 = 0x08;

    /// The coding that `data_coding` stands for, coding groups of 3GPP TS 23.038 (section 4)
    /// included.
    pub fn of(data_coding: u8) -> Self {
        match data_coding {
            0x01 => Self::Ascii,
            0x03 => Self::Latin1,
            // General data coding, uncompressed; bits 3 and 2 give the alphabet.
            0x10..=0x1F | 0x40..=0x5F => match data_coding & 0x0C {
                0x00 => Self::Default,
                0x08 => Self::Ucs2,
                _ => Self::Binary,
            },
            // Message waiting (0xC0 to 0xEF), and data coding with a message class, where bit 2
            // means 8-bit data.
            0x08 | 0xE0..=0xEF => Self::Ucs2,
            0x00 | 0xC0..=0xDF | 0xF0..=0xF3 | 0xF8..=0xFB => Self::Default,
            _ => Self::Binary,
        }
    }

    /// The `data_coding` of a message to be submitted.
    pub fn octet_for(encoding: Encoding) -> u8 {
        match encoding {
            Encoding::Gsm7 => Self::DEFAULT,
            Encoding::Ucs2 => Self::UCS2,
        }
    }
}

/// The text in these octets, not decoded yet; `None` when they are not text. `header` is the length
/// of the user data header before them, which packed septets are aligned to.
pub fn text(octets: &[u8], coding: Coding, septets: Septets, header: usize) -> Option<SegmentText> {
    Some(match (coding, septets) {
        (Coding::Default, Septets::Unpacked) => SegmentText::new(Alphabet::Gsm7, octets),
        (Coding::Default, Septets::Packed) => {
            SegmentText::new(Alphabet::Gsm7, unpacked(octets, header))
        }
        // Some SMSCs send UTF-8 as ASCII.
        (Coding::Ascii, _) => SegmentText::new(Alphabet::Utf8, octets),
        (Coding::Latin1, _) => {
            let text: String = octets.iter().map(|octet| char::from(*octet)).collect();
            SegmentText::whole(&text)
        }
        (Coding::Ucs2, _) => SegmentText::new(Alphabet::Utf16, octets),
        (Coding::Binary, _) => return None,
    })
}

/// Unpacks septets after a header of `header` octets, without the carriage return that fills seven
/// spare bits.
fn unpacked(octets: &[u8], header: usize) -> Vec<u8> {
    let whole = [vec![0; header].as_slice(), octets].concat();
    let mut septets = gsm7::unpack_after(&whole, header, usize::MAX);
    if spare_bits(header, septets.len()) == 0 && septets.last() == Some(&RETURN) {
        septets.pop();
    }
    septets
}

/// Packs septets behind a header. SMPP does not say how many septets there are, so seven spare bits
/// would be read as an `@`: a carriage return fills them. One that ends the text there is doubled,
/// because a receiver removes it (3GPP TS 23.038, 6.1.2.3.1).
fn packed(header: &[u8], septets: &[u8]) -> Vec<u8> {
    let is_filled = match (spare_bits(header.len(), septets.len()), septets.last()) {
        (7, Some(_)) => true,
        (0, Some(&RETURN)) => gsm7::pack_after(header, septets).len() < FULL,
        _ => false,
    };
    let fill: &[u8] = if is_filled { &[RETURN] } else { &[] };
    gsm7::pack_after(header, &[septets, fill].concat())
}

/// How many bits are left in the last octet behind a header and septets.
fn spare_bits(header: usize, septets: usize) -> usize {
    let bits = (header * 8).next_multiple_of(7) + septets * 7;
    bits.next_multiple_of(8) - bits
}

/// The septet of a carriage return.
const RETURN: u8 = 0x0D;
/// How many octets a short message holds.
const FULL: usize = 140;

/// Encodes the user data of a segment: its header, then its text.
pub fn encode(header: &[u8], payload: &[u8], encoding: Encoding, septets: Septets) -> Bytes {
    match (encoding, septets) {
        (Encoding::Gsm7, Septets::Packed) => packed(header, payload).into(),
        _ => [header, payload].concat().into(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_data_coding_maps_to_its_alphabet() {
        let cases = [
            (0x00, Coding::Default),
            (0x01, Coding::Ascii),
            (0x02, Coding::Binary),
            (0x03, Coding::Latin1),
            (0x04, Coding::Binary),
            (0x08, Coding::Ucs2),
            (0x10, Coding::Default),
            (0x11, Coding::Default),
            (0x14, Coding::Binary),
            (0x18, Coding::Ucs2),
            (0xC8, Coding::Default),
            (0xE0, Coding::Ucs2),
            (0xF0, Coding::Default),
            (0xF1, Coding::Default),
            (0xF4, Coding::Binary),
            (0xF5, Coding::Binary),
        ];
        for (octet, coding) in cases {
            assert_eq!(Coding::of(octet), coding, "{octet:#04x}");
        }
    }

    fn decode(octets: &[u8], coding: Coding, septets: Septets, header: usize) -> Option<String> {
        text(octets, coding, septets, header).map(|text| text.decode())
    }

    #[test]
    fn octets_are_decoded_in_their_alphabet() {
        let read = |octets: &[u8], coding| decode(octets, coding, Septets::Unpacked, 0);
        assert_eq!(read(&[0x00, 0x1B, 0x65, 0x01], Coding::Default).as_deref(), Some("@€£"));
        assert_eq!(read(b"caf\xE9", Coding::Latin1).as_deref(), Some("café"));
        assert_eq!(read(b"plain", Coding::Ascii).as_deref(), Some("plain"));
        let wave = [0x04, 0x34, 0xD8, 0x3D, 0xDC, 0x4B];
        assert_eq!(read(&wave, Coding::Ucs2).as_deref(), Some("д👋"));
        assert_eq!(read(&wave[..5], Coding::Ucs2).as_deref(), Some("д\u{FFFD}"));
        assert_eq!(read(&[1, 2], Coding::Binary), None);
    }

    #[test]
    fn a_carriage_return_fills_seven_spare_bits() {
        let sent = |text: &str| {
            let payload = gsm7::encode(text).unwrap();
            let octets = encode(&[], &payload, Encoding::Gsm7, Septets::Packed);
            let last = octets.len().saturating_sub(1);
            (
                octets.len(),
                octets.get(last).copied(),
                decode(&octets, Coding::Default, Septets::Packed, 0).unwrap(),
            )
        };
        let read = |text: &str| text.to_owned();
        assert_eq!(sent("1234567"), (7, Some(0x1A), read("1234567")));
        assert_eq!(sent("1234567@"), (7, Some(0x00), read("1234567@")));
        assert_eq!(sent("1234567\r"), (8, Some(0x0D), read("1234567\r\r")));
        assert_eq!(sent("123456\r"), (7, Some(0x1A), read("123456\r")));
        assert_eq!(sent("123456"), (6, Some(0x01), read("123456")));
        assert_eq!(sent(""), (0, None, read("")));
        // A full message has room for no more.
        assert_eq!(sent(&("x".repeat(159) + "\r")).0, 140);
    }

    proptest! {
        #[test]
        fn decoding_reverses_encoding(
            text in "[ -~£€ΔÅé\n]{0,150}", header in 0_usize..8,
            septets in prop_oneof![Just(Septets::Unpacked), Just(Septets::Packed)],
        ) {
            let Some(payload) = gsm7::encode(&text) else { return Ok(()) };
            let head = vec![0; header];
            let octets = encode(&head, &payload, Encoding::Gsm7, septets);
            let back = decode(&octets[header..], Coding::Default, septets, header).unwrap();
            prop_assert_eq!(back, text);
        }

        #[test]
        fn any_octets_can_be_decoded(
            octets in prop::collection::vec(any::<u8>(), 0..300),
            data_coding: u8,
            header in 0_usize..20,
        ) {
            for septets in [Septets::Unpacked, Septets::Packed] {
                let _ = decode(&octets, Coding::of(data_coding), septets, header);
            }
        }
    }
}
