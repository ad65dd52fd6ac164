//! The GSM 7-bit alphabet: its characters, and how they become septets and octets.
//!
//! The tables are those of GSM 03.38 (3GPP TS 23.038, 6.2.1): the default alphabet and its
//! extension table. A character of the extension table follows an escape and so takes two septets.
//! National language tables are not supported. Nothing replaces a character outside these tables by
//! a look-alike: one such character makes the whole text UCS-2.

mod alphabet;
mod counting;

use alphabet::{ABSENT, EXTENDED, basic, extension, lookup};

pub use alphabet::ESCAPE;
pub(super) use counting::{beginning, count};

/// Encodes a text as septets, one per byte. `None` if a character is not in the alphabet.
///
/// ```
/// use sms_core::text::gsm7;
///
/// assert_eq!(gsm7::encode("@ £5"), Some(vec![0x00, 0x20, 0x01, 0x35]));
/// assert_eq!(gsm7::encode("€"), Some(vec![0x1B, 0x65]));
/// assert_eq!(gsm7::encode("ç"), None, "the alphabet has the capital only");
/// ```
pub fn encode(text: &str) -> Option<Vec<u8>> {
    let mut septets = Vec::with_capacity(text.len());
    for c in text.chars() {
        match lookup(c) {
            ABSENT => return None,
            code if code & EXTENDED == 0 => septets.push(code),
            code => septets.extend([ESCAPE, code & !EXTENDED]),
        }
    }
    Some(septets)
}

/// Decodes septets, one per byte, into text.
///
/// As 3GPP TS 23.038 asks of a receiver, an escape before a septet that the extension table lacks
/// is dropped, and the septet is read from the default alphabet. An escape before another escape or
/// at the end is a space. A byte over 0x7F is not a septet and becomes U+FFFD.
///
/// ```
/// use sms_core::text::gsm7;
///
/// assert_eq!(gsm7::decode(&[0x00, 0x1B, 0x65, 0x1B, 0x41]), "@€A");
/// ```
pub fn decode(septets: &[u8]) -> String {
    let mut text = String::with_capacity(septets.len());
    let mut rest = septets.iter().copied();
    while let Some(septet) = rest.next() {
        let c = if septet == ESCAPE {
            match rest.next() {
                None | Some(ESCAPE) => ' ',
                Some(code) => extension(code).unwrap_or_else(|| basic(code)),
            }
        } else {
            basic(septet)
        };
        text.push(c);
    }
    text
}

/// Packs septets, given one per byte, into octets (3GPP TS 23.038, 6.1.2.1): eight septets take
/// seven octets.
///
/// ```
/// use sms_core::text::gsm7;
///
/// let packed = gsm7::pack(&[0x68, 0x65, 0x6C, 0x6C, 0x6F]);
/// assert_eq!(packed, [0xE8, 0x32, 0x9B, 0xFD, 0x06]);
/// assert_eq!(gsm7::unpack(&packed, 5), [0x68, 0x65, 0x6C, 0x6C, 0x6F]);
/// ```
pub fn pack(septets: &[u8]) -> Vec<u8> {
    pack_after(&[], septets)
}

/// Packs septets behind a user data header. They start at the next septet boundary, counted from
/// the header's first bit (3GPP TS 23.040, 9.2.3.24), so that up to six fill bits precede them.
pub fn pack_after(header: &[u8], septets: &[u8]) -> Vec<u8> {
    let mut octets = Vec::with_capacity(header.len() + septets.len());
    octets.extend_from_slice(header);
    if septets.is_empty() {
        return octets;
    }
    let mut pending = 0_u16;
    let mut pending_bits = fill_bits(header.len());
    for septet in septets {
        pending |= u16::from(septet & 0x7F) << pending_bits;
        pending_bits += 7;
        if pending_bits >= 8 {
            octets.push(low_octet(pending));
            pending >>= 8;
            pending_bits -= 8;
        }
    }
    if pending_bits > 0 {
        octets.push(low_octet(pending));
    }
    octets
}

/// Unpacks at most `count` septets. The caller gives the count because seven spare bits at the end
/// look like an `@`.
pub fn unpack(octets: &[u8], count: usize) -> Vec<u8> {
    unpack_after(octets, 0, count)
}

/// Unpacks at most `count` septets from octets that start with a header of `header_length` octets.
pub fn unpack_after(octets: &[u8], header_length: usize, count: usize) -> Vec<u8> {
    let first_bit = header_length * 8 + fill_bits(header_length);
    let held = (octets.len() * 8).saturating_sub(first_bit) / 7;
    (0..count.min(held))
        .map(|index| {
            let bit = first_bit + index * 7;
            let low = octets[bit / 8];
            let high = octets.get(bit / 8 + 1).copied().unwrap_or(0);
            low_octet(u16::from_le_bytes([low, high]) >> (bit % 8)) & 0x7F
        })
        .collect()
}

/// The number of septets that a character takes, 1 or 2; `None` if it is not in the alphabet.
pub(super) fn width(c: char) -> Option<usize> {
    match lookup(c) {
        ABSENT => None,
        code => Some(1 + usize::from(code & EXTENDED != 0)),
    }
}

/// The number of bits between a header of `header_length` octets and the next septet boundary.
fn fill_bits(header_length: usize) -> usize {
    // Each octet reaches one bit further into a septet.
    (7 - header_length % 7) % 7
}

fn low_octet(bits: u16) -> u8 {
    bits.to_le_bytes()[0]
}

#[cfg(test)]
mod tests {
    use super::alphabet::{BASIC, EXTENSION};
    use super::*;
    use proptest::prelude::*;

    fn alphabet() -> Vec<char> {
        let mut characters: Vec<char> = BASIC.to_vec();
        characters.retain(|&c| c != '\u{1B}');
        characters.extend(EXTENSION.map(|row| row.1));
        characters
    }

    #[test]
    fn every_character_survives_encoding_and_decoding() {
        let characters = alphabet();
        assert_eq!(characters.len(), 127 + 10);
        for c in characters {
            let text = c.to_string();
            let septets = encode(&text).unwrap();
            assert_eq!(decode(&septets), text, "{c:?}");
            assert_eq!(Some(septets.len()), width(c), "{c:?}");
            let length = septets.len();
            assert_eq!(unpack(&pack(&septets), length), septets, "{c:?}");
        }
    }

    #[test]
    fn no_other_character_is_taken() {
        let characters = alphabet();
        let taken = (char::MIN..=char::MAX).filter(|&c| width(c).is_some());
        assert_eq!(taken.count(), characters.len());
        for c in "`çáíóúêâŵŷ\t\u{a0}\u{1b}\u{7f}‘’“”–—…\u{200b}\u{2126}ΑΒΕ".chars()
        {
            assert_eq!(width(c), None, "{c:?}");
        }
    }

    #[test]
    fn odd_escapes_decode_as_the_standard_asks() {
        assert_eq!(decode(&[ESCAPE]), " ");
        assert_eq!(decode(&[ESCAPE, ESCAPE, 0x41]), " A");
        assert_eq!(decode(&[ESCAPE, 0x00]), "@");
        assert_eq!(decode(&[0x80]), "\u{FFFD}");
        assert_eq!(decode(&[ESCAPE, 0x9B]), "\u{FFFD}");
    }

    #[test]
    fn a_full_segment_packs_into_140_octets() {
        assert_eq!(pack(&[0x61; 160]).len(), 140);
        let header = [5, 0, 3, 1, 2, 1];
        let packed = pack_after(&header, &[0x61; 153]);
        assert_eq!(packed.len(), 140);
        // One fill bit lies between the header and the first septet.
        assert_eq!(packed[6], 0x61 << 1);
        assert_eq!(unpack_after(&packed, 6, 153), [0x61; 153]);
        assert_eq!(pack_after(&header, &[]), header);
    }

    #[test]
    fn septets_start_at_a_septet_boundary_whatever_the_header() {
        for length in 0..=140 {
            let fill = fill_bits(length);
            assert!(fill < 7 && (length * 8 + fill).is_multiple_of(7), "{length}");
        }
    }

    #[test]
    fn unpacking_stops_at_the_end_of_the_octets() {
        assert!(unpack(&[], 5).is_empty());
        assert_eq!(unpack(&[0x61], 5), [0x61]);
        assert!(unpack_after(&[1, 2], 6, 5).is_empty());
    }

    proptest! {
        #[test]
        fn packing_is_undone_by_unpacking(
            header in prop::collection::vec(any::<u8>(), 0..16),
            septets in prop::collection::vec(0..0x80_u8, 0..200),
        ) {
            let packed = pack_after(&header, &septets);
            prop_assert_eq!(unpack_after(&packed, header.len(), septets.len()), septets);
        }

        #[test]
        fn decoding_accepts_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode(&bytes);
        }
    }
}
