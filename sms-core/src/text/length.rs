//! How long a text may be.

use super::parts::{Measure, measure};

/// The most characters (Unicode scalar values) that a `body` field may hold.
pub const MAX_CHARACTERS: usize = 1_600;

/// A text may hold as much as so many texts of one part.
pub const MAX_SINGLE_PARTS: u32 = 10;

/// The text is longer than ten single parts, or than 1,600 characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("text of {} units is over the limit of {limit} in {}", .measure.units, .measure.encoding)]
pub struct TooLong {
    /// What the text would take.
    pub measure: Measure,
    /// The units that would be allowed: 1,600 septets or 700 code units.
    pub limit: u32,
}

/// Measures a finished text (merged, links shortened, opt-out line added) and refuses it when it
/// holds more than 1,600 septets in GSM-7 or 700 code units in UCS-2.
///
/// The rule of 1,600 characters needs no second look: a character takes one unit at least, so a
/// text within these units is within it too. Joined parts carry a header; the longest texts
/// therefore count 11 parts, and are charged as counted.
///
/// ```
/// use sms_core::text::check_length;
///
/// assert_eq!(check_length(&"a".repeat(1_600)).map(|m| m.segments.get()), Ok(11));
/// assert!(check_length(&"a".repeat(1_601)).is_err());
/// assert!(check_length(&"д".repeat(701)).is_err());
/// ```
pub fn check_length(text: &str) -> Result<Measure, TooLong> {
    let measured = measure(text);
    let limit = MAX_SINGLE_PARTS * measured.encoding.single_units();
    if measured.units > limit {
        return Err(TooLong { measure: measured, limit });
    }
    Ok(measured)
}

/// Whether a `body` field as given is within [`MAX_CHARACTERS`]. What it comes to after merging
/// is the business of [`check_length`].
pub fn is_within_characters(body: &str) -> bool {
    // No text has more characters than bytes, which are known without counting.
    body.len() <= MAX_CHARACTERS || body.chars().nth(MAX_CHARACTERS).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_ten_single_parts_of_either_encoding() {
        let allowed = ["a".repeat(1_600), "€".repeat(800), "д".repeat(700), "👋".repeat(350)];
        for text in &allowed {
            assert!(check_length(text).is_ok(), "{} bytes", text.len());
        }
        let refused = ["a".repeat(1_601), "€".repeat(801), "д".repeat(701), "👋".repeat(351)];
        for text in &refused {
            let error = check_length(text).unwrap_err();
            assert!(error.measure.units > error.limit);
        }
    }

    #[test]
    fn one_foreign_character_brings_the_limit_down() {
        let text = format!("{}д", "a".repeat(700));
        let error = check_length(&text).unwrap_err();
        assert_eq!(error.to_string(), "text of 701 units is over the limit of 700 in ucs2");
    }

    #[test]
    fn a_body_is_counted_in_characters_not_bytes() {
        assert!(is_within_characters(&"👋".repeat(1_600)));
        assert!(!is_within_characters(&"👋".repeat(1_601)));
        assert!(!is_within_characters(&"a".repeat(1_601)));
        assert!(is_within_characters(""));
    }
}
