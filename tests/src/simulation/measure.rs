//! The encoding and number of segments of a body, computed separately from the code under test, for
//! the bodies that the simulation uses.

use sms_core::text::{Encoding, Segments};

/// The encoding and number of segments of a body. No body in the simulation has a character of two
/// units at the end of a segment.
pub fn measure(words: &str) -> (Encoding, Segments) {
    let is_plain = |c: char| (c.is_ascii() && c != '`') || c == '\u{e9}';
    let (encoding, units, alone, joined) = if words.chars().all(is_plain) {
        let units = words.chars().map(|c| if "^{}\\[~]|".contains(c) { 2 } else { 1 }).sum();
        (Encoding::Gsm7, units, 160, 153)
    } else {
        (Encoding::Ucs2, words.encode_utf16().count(), 70, 67)
    };
    let parts: usize = if units <= alone { 1 } else { units.div_ceil(joined) };
    (encoding, Segments::new(u32::try_from(parts).unwrap_or(u32::MAX)))
}
