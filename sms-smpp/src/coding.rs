//! Encodes text as octets and decodes it, by `data_coding` (5.2.19).

use bytes::Bytes;
use sms_core::text::{Encoding, gsm7};

/// How octets encode text, as `data_coding` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coding {
    /// The SMSC's default alphabet (0x00), taken to be GSM-7.
    Default,
    /// ASCII (0x01), which a few SMSCs use as their default.
    Ascii,
    /// ISO 8859-1 (0x03).
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
    /// `data_coding` of UCS-2.
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

/// Decodes octets; `None` when they are not text. `header` is the length of the user data header
/// before them, which packed septets are aligned to.
///
/// Invalid characters become U+FFFD. A lone last octet of UCS-2 is dropped.
pub fn decode(octets: &[u8], coding: Coding, septets: Septets, header: usize) -> Option<String> {
    Some(match (coding, septets) {
        (Coding::Default, Septets::Unpacked) => gsm7::decode(octets),
        (Coding::Default, Septets::Packed) => gsm7::decode(&unpacked(octets, header)),
        (Coding::Ascii, _) => String::from_utf8_lossy(octets).into_owned(),
        (Coding::Latin1, _) => octets.iter().map(|octet| char::from(*octet)).collect(),
        (Coding::Ucs2, _) => {
            let units = octets.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]));
            let read = |unit: Result<char, _>| unit.unwrap_or(char::REPLACEMENT_CHARACTER);
            char::decode_utf16(units).map(read).collect()
        }
        (Coding::Binary, _) => return None,
    })
}

/// Unpacks septets after a header of `header` octets. SMPP does not say how many septets there are:
/// if the last seven bits are zero and may be padding, they are not read as an `@`.
fn unpacked(octets: &[u8], header: usize) -> Vec<u8> {
    let whole = [vec![0; header].as_slice(), octets].concat();
    let mut septets = gsm7::unpack_after(&whole, header, usize::MAX);
    let first_bit = (header * 8).next_multiple_of(7);
    let spare = (whole.len() * 8).saturating_sub(first_bit) % 7;
    if spare == 0 && septets.last() == Some(&0) {
        septets.pop();
    }
    septets
}

/// Encodes the user data of a segment: its header, then its text.
pub fn encode(header: &[u8], payload: &[u8], encoding: Encoding, septets: Septets) -> Bytes {
    match (encoding, septets) {
        (Encoding::Gsm7, Septets::Packed) => gsm7::pack_after(header, payload).into(),
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
            // When packed, an `@` at the end looks the same as padding.
            let told = |text: &str| text.strip_suffix('@').unwrap_or(text).to_owned();
            match septets {
                Septets::Unpacked => prop_assert_eq!(back, text),
                Septets::Packed => prop_assert_eq!(told(&back), told(&text)),
            }
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
