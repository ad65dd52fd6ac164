//! Which part of which text: user data headers and `sar` values, of texts that come in.

use bytes::Bytes;

use crate::pdu::{ShortMessage, Tag};

/// A part's place in its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// Tells texts of one sender apart.
    pub reference: u16,
    /// How many parts there are; at least two.
    pub total: u8,
    /// Which part this is, from 1.
    pub number: u8,
}

impl Place {
    /// `None` for what is no part of several.
    fn new(reference: u16, total: u8, number: u8) -> Option<Self> {
        (total > 1 && (1..=total).contains(&number)).then_some(Self { reference, total, number })
    }
}

/// What came, cut into header and words.
#[derive(Clone, PartialEq, Eq)]
pub struct UserData {
    /// The part's place; `None` for a text that came whole.
    pub place: Option<Place>,
    /// Octets of the header, its own length included.
    pub header: usize,
    /// The words' octets.
    pub words: Bytes,
}

impl std::fmt::Debug for UserData {
    /// Leaves the words out.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UserData").field("place", &self.place).finish_non_exhaustive()
    }
}

/// Finds header and place. A header that is cut short is taken for words.
pub fn user_data(message: &ShortMessage) -> UserData {
    let octets = message.octets();
    let header = header_of(message, octets);
    let place = header.and_then(|header| place_in(&octets[1..header])).or_else(|| sar(message));
    let header = header.unwrap_or(0);
    UserData { place, header, words: octets.slice(header..) }
}

/// How long the header is, its own length included (3GPP TS 23.040, 9.2.3.24).
fn header_of(message: &ShortMessage, octets: &[u8]) -> Option<usize> {
    let length = usize::from(*octets.first()?) + 1;
    (message.has_header() && length <= octets.len()).then_some(length)
}

/// The place that one of the header's elements tells: 0x00 with a reference of one octet, 0x08 of
/// two.
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
    fn a_header_tells_the_place_with_a_reference_of_one_octet_or_two() {
        let cases: [(&[u8], Option<Place>, &[u8]); 5] = [
            (&[5, 0, 3, 0x2A, 3, 2, b'a'], Some(place(0x2A, 3, 2)), b"a"),
            (&[6, 8, 4, 1, 2, 3, 1, b'a', b'b'], Some(place(0x0102, 3, 1)), b"ab"),
            // A port number first.
            (&[11, 5, 4, 1, 2, 3, 4, 0, 3, 7, 2, 2, b'a'], Some(place(7, 2, 2)), b"a"),
            // No element of joining.
            (&[6, 5, 4, 1, 2, 3, 4, b'a'], None, b"a"),
            // A text of one part needs no place.
            (&[5, 0, 3, 0x2A, 1, 1, b'a'], None, b"a"),
        ];
        for (octets, place, words) in cases {
            let data = user_data(&message(0x40, octets));
            assert_eq!((data.place, &data.words[..]), (place, words), "{octets:?}");
        }
    }

    #[test]
    fn numbers_that_cannot_be_are_no_place() {
        for octets in [[5, 0, 3, 1, 2, 0], [5, 0, 3, 1, 2, 3], [5, 0, 3, 1, 0, 0]] {
            assert_eq!(user_data(&message(0x40, &octets)).place, None, "{octets:?}");
        }
    }

    #[test]
    fn without_the_bit_or_whole_header_all_is_words() {
        for (class, octets) in [(0, &[5, 0, 3, 1, 2, 1][..]), (0x40, &[5, 0, 3]), (0x40, &[])] {
            let data = user_data(&message(class, octets));
            assert_eq!((data.place, &data.words[..]), (None, octets));
        }
    }

    #[test]
    fn sar_values_tell_the_place_too() {
        let mut text = message(0, b"a");
        text.tlvs = crate::pdu::Tlvs::default()
            .with(Tag::SAR_MSG_REF_NUM, vec![1, 2])
            .with(Tag::SAR_TOTAL_SEGMENTS, vec![3])
            .with(Tag::SAR_SEGMENT_SEQNUM, vec![3]);
        assert_eq!(user_data(&text).place, Some(place(0x0102, 3, 3)));
    }

    proptest! {
        #[test]
        fn any_octets_have_words(octets in prop::collection::vec(any::<u8>(), 0..200), class: u8) {
            let data = user_data(&message(class, &octets));
            prop_assert_eq!(data.header + data.words.len(), octets.len());
        }
    }
}
