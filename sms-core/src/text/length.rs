//! The length limit of a message.

use super::segments::{Measure, measure};

/// The maximum number of characters (Unicode scalar values) in a `body` field: 1,600.
pub const MAX_CHARACTERS: usize = 1_600;

/// The maximum number of characters of a merged text whose links are about to be shortened: 16,000.
/// Such a text may become short enough to send. The limit keeps the work for a recipient small.
pub const MAX_CHARACTERS_WITH_URLS: usize = 10 * MAX_CHARACTERS;

/// A message may hold as many units as this number of single-segment messages: 10, which is 1,600
/// septets in GSM-7 or 700 code units in UCS-2.
pub const MAX_SINGLE_PARTS: u32 = 10;

/// The message exceeds the length limit: 1,600 septets in GSM-7 or 700 code units in UCS-2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the message takes {} units in {}, but the limit is {limit}: shorten it",
    .measure.units,
    .measure.encoding
)]
pub struct TooLong {
    /// The encoding, units and segments that the message would take.
    pub measure: Measure,
    /// The maximum number of units in this encoding: 1,600 septets or 700 code units.
    pub limit: u32,
}

/// Measures a finished text, in which merge fields are filled, links shortened and the opt-out line
/// added. Fails if it holds more than 1,600 septets in GSM-7 or 700 code units in UCS-2.
///
/// The limit of 1,600 characters needs no check here: a character takes at least one unit. The
/// segments of a long message carry a header, so that the longest messages take 11 segments, and
/// are charged for 11.
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

/// Whether a `body` field as given holds at most [`MAX_CHARACTERS`]. [`check_length`] checks the
/// text after merging.
pub fn is_within_characters(body: &str) -> bool {
    // A text never has more characters than bytes, and its bytes need no counting.
    body.len() <= MAX_CHARACTERS || body.chars().nth(MAX_CHARACTERS).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_ten_single_segments_in_either_encoding() {
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
    fn one_character_outside_the_gsm_alphabet_lowers_the_limit() {
        let text = format!("{}д", "a".repeat(700));
        let error = check_length(&text).unwrap_err();
        let message = "the message takes 701 units in ucs2, but the limit is 700: shorten it";
        assert_eq!(error.to_string(), message);
    }

    #[test]
    fn a_body_is_counted_in_characters_not_bytes() {
        assert!(is_within_characters(&"👋".repeat(1_600)));
        assert!(!is_within_characters(&"👋".repeat(1_601)));
        assert!(!is_within_characters(&"a".repeat(1_601)));
        assert!(is_within_characters(""));
    }
}
