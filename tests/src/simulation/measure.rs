//! How words are coded, and how many parts they take: by the simulation's own knowledge of what is
//! texted in it.

use sms_core::text::{Encoding, Segments};

/// How these words are coded and how many parts they take. No text here has a character of two
/// units where one part ends and the next begins.
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
