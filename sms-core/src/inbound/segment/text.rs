//! The text of a segment as it arrived, and the text of the message that segments make.
//!
//! A network may cut a message anywhere: between the halves of a surrogate pair, or between an
//! escape of GSM-7 and the character that it announces. So octets are joined first, and decoded
//! once.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::text::gsm7;
use crate::unknown_name::UnknownName;

/// What stands in a message where segments are missing.
pub const MISSING: &str = "[...]";

/// How the octets of a segment are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Alphabet {
    /// Septets of GSM-7, one in each octet.
    Gsm7,
    /// UTF-16, big end first.
    Utf16,
    /// UTF-8: for text that the route has converted already, and for ASCII.
    Utf8,
}

impl Alphabet {
    /// Every value, in the order of declaration.
    pub const ALL: [Self; 3] = [Self::Gsm7, Self::Utf16, Self::Utf8];

    /// The name used by stores.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Gsm7 => "gsm7",
            Self::Utf16 => "utf16",
            Self::Utf8 => "utf8",
        }
    }

    /// The text of these octets. What is no character becomes U+FFFD.
    fn decode(self, octets: &[u8]) -> String {
        match self {
            Self::Gsm7 => gsm7::decode(octets),
            Self::Utf16 => {
                let units = octets.chunks_exact(2).map(|it| u16::from_be_bytes([it[0], it[1]]));
                let read = |unit: Result<char, _>| unit.unwrap_or(char::REPLACEMENT_CHARACTER);
                char::decode_utf16(units).map(read).collect()
            }
            Self::Utf8 => String::from_utf8_lossy(octets).into_owned(),
        }
    }
}

impl FromStr for Alphabet {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        let found = Self::ALL.into_iter().find(|alphabet| alphabet.as_str() == text);
        found.ok_or(UnknownName::of("alphabet"))
    }
}

/// The text of a segment, not decoded yet. `Debug` shows only its length.
#[derive(Clone, PartialEq, Eq)]
pub struct SegmentText {
    alphabet: Alphabet,
    octets: Arc<[u8]>,
}

impl SegmentText {
    /// The text that these octets are part of. A lone last octet of UTF-16 is dropped.
    pub fn new(alphabet: Alphabet, octets: impl Into<Arc<[u8]>>) -> Self {
        let octets = octets.into();
        match alphabet {
            Alphabet::Utf16 if !octets.len().is_multiple_of(2) => {
                Self { alphabet, octets: octets[..octets.len() - 1].into() }
            }
            _ => Self { alphabet, octets },
        }
    }

    /// A text of which no character is cut.
    pub fn whole(text: &str) -> Self {
        Self::new(Alphabet::Utf8, text.as_bytes())
    }

    /// How its octets are read.
    pub fn alphabet(&self) -> Alphabet {
        self.alphabet
    }

    /// Its octets as they arrived.
    pub fn octets(&self) -> &[u8] {
        &self.octets
    }

    /// The text on its own.
    pub fn decode(&self) -> String {
        self.alphabet.decode(&self.octets)
    }
}

impl fmt::Debug for SegmentText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SegmentText({}, {} bytes)", self.alphabet.as_str(), self.octets.len())
    }
}

/// The text of a message of `total` segments, of which these have arrived, by their position.
/// [`MISSING`] stands wherever segments are missing.
pub(super) fn join(parts: &BTreeMap<u8, SegmentText>, total: u8) -> String {
    let mut text = String::new();
    let mut run: Option<(Alphabet, Vec<u8>)> = None;
    for number in 1..=total {
        match (parts.get(&number), &mut run) {
            (Some(part), Some((alphabet, octets))) if *alphabet == part.alphabet => {
                octets.extend_from_slice(&part.octets);
            }
            (Some(part), _) => {
                close(&mut text, run.replace((part.alphabet, part.octets.to_vec())));
            }
            (None, _) => {
                close(&mut text, run.take());
                let is_in_gap = number > 1 && !parts.contains_key(&(number - 1));
                if !is_in_gap {
                    text.push_str(MISSING);
                }
            }
        }
    }
    close(&mut text, run);
    text
}

/// Decodes octets that stand together.
fn close(text: &mut String, run: Option<(Alphabet, Vec<u8>)>) {
    if let Some((alphabet, octets)) = run {
        text.push_str(&alphabet.decode(&octets));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn joined(total: u8, parts: &[(u8, Alphabet, &[u8])]) -> String {
        let part = |(number, alphabet, octets): &(u8, Alphabet, &[u8])| {
            (*number, SegmentText::new(*alphabet, *octets))
        };
        join(&parts.iter().map(part).collect(), total)
    }

    #[test]
    fn a_character_that_is_cut_in_two_is_read_once_it_is_joined() {
        use Alphabet::{Gsm7, Utf8, Utf16};
        type Case<'a> = (&'a [(u8, Alphabet, &'a [u8])], &'a str);
        let cases: [Case<'_>; 7] = [
            (&[(1, Utf16, b"\0a\xD8\x3D"), (2, Utf16, b"\xDE\x31\0b")], "a😱b"),
            (&[(1, Gsm7, b"5\x1B"), (2, Gsm7, b"\x65!")], "5€!"),
            (&[(1, Utf8, b"caf\xC3"), (2, Utf8, b"\xA9")], "café"),
            // Each alphabet is read by itself.
            (&[(1, Gsm7, b"\x00\x1B"), (2, Utf16, b"\x04\x34")], "@ д"),
            (&[(1, Utf16, b"\xD8\x3D"), (2, Gsm7, b"a")], "\u{FFFD}a"),
            // A lone octet moves no other.
            (&[(1, Utf16, b"\0a\0"), (2, Utf16, b"\0b")], "ab"),
            (&[(1, Gsm7, b""), (2, Gsm7, b"a")], "a"),
        ];
        for (parts, text) in cases {
            assert_eq!(joined(2, parts), text);
        }
    }

    #[test]
    fn missing_segments_are_marked_and_join_nothing() {
        let all: [(u8, Alphabet, &[u8]); 4] = [
            (1, Alphabet::Gsm7, b"a\x1B"),
            (2, Alphabet::Gsm7, b"b"),
            (3, Alphabet::Gsm7, b"\x65c"),
            (4, Alphabet::Gsm7, b"d"),
        ];
        for (there, text) in [
            (&[1, 3, 4][..], "a [...]ecd"),
            (&[2, 3], "[...]bec[...]"),
            (&[4], "[...]d"),
            (&[1], "a [...]"),
            (&[], "[...]"),
        ] {
            let parts: Vec<_> = all.into_iter().filter(|(it, ..)| there.contains(it)).collect();
            assert_eq!(joined(4, &parts), text, "{there:?}");
        }
    }

    #[test]
    fn debug_output_shows_no_text() {
        let shown = format!("{:?}", SegmentText::whole("secret"));
        assert_eq!(shown, "SegmentText(utf8, 6 bytes)");
    }

    proptest! {
        #[test]
        fn a_text_cut_anywhere_is_read_as_it_was_sent(
            text in "[ -~£€ΔÅé🐦👋\n]{0,60}",
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        ) {
            let wide: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
            let mut sent = vec![
                (Alphabet::Utf8, 1, text.as_bytes().to_vec()),
                (Alphabet::Utf16, 2, wide),
            ];
            sent.extend(gsm7::encode(&text).map(|septets| (Alphabet::Gsm7, 1, septets)));
            for (alphabet, unit, octets) in sent {
                let units = octets.len() / unit;
                let mut ends: Vec<usize> =
                    cuts.iter().map(|cut| cut.index(units + 1) * unit).collect();
                ends.push(octets.len());
                ends.sort_unstable();
                let mut start = 0;
                let mut parts = BTreeMap::new();
                for (number, end) in (1..).zip(ends) {
                    parts.insert(number, SegmentText::new(alphabet, &octets[start..end]));
                    start = end;
                }
                let total = u8::try_from(parts.len()).unwrap();
                prop_assert_eq!(join(&parts, total), text.as_str());
            }
        }

        #[test]
        fn any_octets_can_be_joined(
            parts in prop::collection::btree_map(
                1..9_u8, (0..3_usize, prop::collection::vec(any::<u8>(), 0..9)), 0..8),
        ) {
            let part = |(number, (place, octets)): (u8, (usize, Vec<u8>))| {
                (number, SegmentText::new(Alphabet::ALL[place], octets))
            };
            let _ = join(&parts.into_iter().map(part).collect(), 9);
        }
    }
}
