//! The words that tests have registered, found in one pass over a line however many there are.

use std::collections::BTreeMap;

/// The shortest words to look for, in bytes. Shorter ones also occur in harmless logs.
pub(crate) const SHORTEST: usize = 8;

type Start = [u8; SHORTEST];

/// Words to look for, by their first bytes.
pub(crate) struct Words {
    by_start: BTreeMap<Start, Vec<String>>,
    /// A bit for each hash of a start. Most places of a line are passed over by it alone.
    starts: [u64; 1 << (HASH_BITS - 6)],
}

/// Bits of the hash of a start.
const HASH_BITS: u32 = 16;

impl Words {
    pub(crate) const fn none() -> Self {
        Self { by_start: BTreeMap::new(), starts: [0; 1 << (HASH_BITS - 6)] }
    }

    /// Adds words. They need [`SHORTEST`] bytes; shorter ones are ignored.
    pub(crate) fn insert(&mut self, words: &str) {
        let Some(start) = words.as_bytes().first_chunk() else { return };
        if !self.contains(words) {
            let (place, bit) = place(*start);
            self.starts[place] |= bit;
            self.by_start.entry(*start).or_default().push(words.to_owned());
        }
    }

    pub(crate) fn contains(&self, words: &str) -> bool {
        let alike = words.as_bytes().first_chunk().and_then(|start| self.by_start.get(start));
        alike.is_some_and(|alike| alike.iter().any(|known| known == words))
    }

    /// The first words that a text contains.
    pub(crate) fn found_in(&self, text: &str) -> Option<&str> {
        let bytes = text.as_bytes();
        let mut rest = bytes;
        while let Some(start) = rest.first_chunk() {
            let (place, bit) = place(*start);
            if self.starts[place] & bit != 0 {
                let alike = self.by_start.get(start).into_iter().flatten();
                let found = alike.into_iter().find(|words| rest.starts_with(words.as_bytes()));
                if found.is_some() {
                    return found.map(String::as_str);
                }
            }
            rest = &rest[1..];
        }
        None
    }
}

/// The word and the bit of [`Words::starts`] for a start.
fn place(start: Start) -> (usize, u64) {
    // The high bits of a product by an odd number depend on all bits of the start.
    let hash = u64::from_le_bytes(start).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - HASH_BITS);
    ((hash >> 6) as usize, 1 << (hash & 63))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_wherever_they_stand() {
        let mut words = Words::none();
        for known in ["07700 900123 rang", "07700 900456", "a table is ready"] {
            words.insert(known);
        }
        for (text, found) in [
            ("07700 900123 rang", Some("07700 900123 rang")),
            ("at 07700 900123 rang twice", Some("07700 900123 rang")),
            ("it says: a table is ready", Some("a table is ready")),
            ("07700 900456", Some("07700 900456")),
            ("07700 900123 ran", None),
            ("07700 9", None),
            ("", None),
        ] {
            assert_eq!(words.found_in(text), found, "{text}");
        }
    }

    #[test]
    fn every_word_is_found_among_thousands() {
        let mut words = Words::none();
        let all: Vec<String> = (0..5000).map(|n| format!("word number {n} of a test")).collect();
        for known in &all {
            words.insert(known);
            words.insert(known);
        }
        for known in &all {
            assert!(words.contains(known));
            assert_eq!(words.found_in(&format!("line: {known}.")), Some(&**known));
        }
        assert!(!words.contains("word number 5000 of a test"));
        assert_eq!(words.found_in("line: word number 5000 of a test."), None);
    }
}
