//! Finds the place of an inbound segment in its message, from the user data header (UDH) or the
//! `sar_*` TLVs.

use bytes::Bytes;

use crate::pdu::{ShortMessage, Tag};

/// The place of a segment in its message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// Distinguishes the messages of one sender.
    pub reference: u16,
    /// How many segments the message has; at least two.
    pub total: u8,
    /// Which segment this is, from 1.
    pub number: u8,
}

impl Place {
    /// `None` when the numbers are not those of one segment among several.
    fn new(reference: u16, total: u8, number: u8) -> Option<Self> {
        (total > 1 && (1..=total).contains(&number)).then_some(Self { reference, total, number })
    }
}

/// User data, split into header and text.
#[derive(Clone, PartialEq, Eq)]
pub struct UserData {
    /// The segment's place; `None` for a message that is complete.
    pub place: Option<Place>,
    /// How many octets the header has, its length octet included.
    pub header: usize,
    /// The octets of the text.
    pub words: Bytes,
}

impl std::fmt::Debug for UserData {
    /// Leaves out the text.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UserData").field("place", &self.place).finish_non_exhaustive()
    }
}

/// Splits the user data, and finds the place. A truncated header counts as text.
pub fn user_data(message: &ShortMessage) -> UserData {
    let octets = message.octets();
    let header = header_of(message, octets);
    let place = header.and_then(|header| place_in(&octets[1..header])).or_else(|| sar(message));
    let header = header.unwrap_or(0);
    UserData { place, header, words: octets.slice(header..) }
}

/// The length of the header, its length octet included (3GPP TS 23.040, 9.2.3.24).
fn header_of(message: &ShortMessage, octets: &[u8]) -> Option<usize> {
    let length = usize::from(*octets.first()?) + 1;
    (message.has_header() && length <= octets.len()).then_some(length)
}

/// The place, from the concatenation element of the header: 0x00 has a reference of one octet, 0x08
/// one of two.
fn place_in(mut elements: &[u8]) -> Option<Place> {
    while let [id, length, rest @ ..] = elements {
        let (value, others) = rest.split_at_checked(usize::from(*length))?;
        match (id, value) {
            (0x00, [reference, total, number]) => {
                return Place::new(u16::from(*reference), *total, *number);
            }
            (0x08, [high, low, total, number]) => {
                return Place::new(u16::from_be_bytes([*high, *low]), *total, *number);
            }
            _ => elements = others,
        }
    }
    None
}

/// The place, from the `sar_*` TLVs (5.3.2.22 to 5.3.2.24).
fn sar(message: &ShortMessage) -> Option<Place> {
    let number = |tag| message.tlvs.number(tag);
    let reference = u16::try_from(number(Tag::SAR_MSG_REF_NUM)?).ok()?;
    let total = u8::try_from(number(Tag::SAR_TOTAL_SEGMENTS)?).ok()?;
    let part = u8::try_from(number(Tag::SAR_SEGMENT_SEQNUM)?).ok()?;
    Place::new(reference, total, part)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::address::Address;

    fn message(esm_class: u8, octets: &[u8]) -> ShortMessage {
        let nobody = Address::name("x");
        let short_message = Bytes::copy_from_slice(octets);
        let message = ShortMessage::between(nobody.clone(), nobody);
        ShortMessage { esm_class, short_message, ..message }
    }

    fn place(reference: u16, total: u8, number: u8) -> Place {
        Place { reference, total, number }
    }

    #[test]
    fn a_header_gives_the_place_with_a_reference_of_one_or_two_octets() {
        let cases: [(&[u8], Option<Place>, &[u8]); 5] = [
            (&[5, 0, 3, 0x2A, 3, 2, b'a'], Some(place(0x2A, 3, 2)), b"a"),
            (&[6, 8, 4, 1, 2, 3, 1, b'a', b'b'], Some(place(0x0102, 3, 1)), b"ab"),
            // A port number first.
            (&[11, 5, 4, 1, 2, 3, 4, 0, 3, 7, 2, 2, b'a'], Some(place(7, 2, 2)), b"a"),
            // No concatenation element.
            (&[6, 5, 4, 1, 2, 3, 4, b'a'], None, b"a"),
            // A message of one segment needs no place.
            (&[5, 0, 3, 0x2A, 1, 1, b'a'], None, b"a"),
        ];
        for (octets, place, words) in cases {
            let data = user_data(&message(0x40, octets));
            assert_eq!((data.place, &data.words[..]), (place, words), "{octets:?}");
        }
    }

    #[test]
    fn impossible_numbers_give_no_place() {
        for octets in [[5, 0, 3, 1, 2, 0], [5, 0, 3, 1, 2, 3], [5, 0, 3, 1, 0, 0]] {
            assert_eq!(user_data(&message(0x40, &octets)).place, None, "{octets:?}");
        }
    }

    #[test]
    fn without_the_udh_bit_or_a_complete_header_everything_is_text() {
        for (class, octets) in [(0, &[5, 0, 3, 1, 2, 1][..]), (0x40, &[5, 0, 3]), (0x40, &[])] {
            let data = user_data(&message(class, octets));
            assert_eq!((data.place, &data.words[..]), (None, octets));
        }
    }

    #[test]
    fn sar_tlvs_give_the_place_too() {
        let mut text = message(0, b"a");
        text.tlvs = crate::pdu::Tlvs::default()
            .with(Tag::SAR_MSG_REF_NUM, vec![1, 2])
            .with(Tag::SAR_TOTAL_SEGMENTS, vec![3])
            .with(Tag::SAR_SEGMENT_SEQNUM, vec![3]);
        assert_eq!(user_data(&text).place, Some(place(0x0102, 3, 3)));
    }

    proptest! {
        #[test]
        fn any_octets_can_be_split(
            octets in prop::collection::vec(any::<u8>(), 0..200),
            class: u8,
        ) {
            let data = user_data(&message(class, &octets));
            prop_assert_eq!(data.header + data.words.len(), octets.len());
        }
    }
}
