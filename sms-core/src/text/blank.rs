//! Characters that do not show: white space and invisible characters.

/// Whether a text shows nothing: it is empty, or consists of white space (Unicode's `White_Space`)
/// and [invisible](is_invisible) characters.
///
/// A text of zero-width spaces alone is blank, because it would arrive as an empty message that
/// still costs credits.
///
/// ```
/// use sms_core::text::is_blank;
///
/// assert!(is_blank(" \r\n\u{a0}\u{200b}"));
/// assert!(!is_blank(" . "));
/// ```
pub fn is_blank(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || is_invisible(c))
}

/// Whether a character takes no room on the screen: zero-width spaces and joiners, direction marks,
/// the byte order mark and the soft hyphen. These are the characters of Unicode's category Cf that
/// programs leave behind when text is copied.
pub const fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{AD}'
            | '\u{61C}'
            | '\u{180E}'
            | '\u{200B}'..='\u{200F}'
            | '\u{202A}'..='\u{202E}'
            | '\u{2060}'..='\u{2064}'
            | '\u{2066}'..='\u{206F}'
            | '\u{FEFF}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_and_invisible_characters_are_blank() {
        for text in ["", " ", "\t\r\n", "\u{a0}\u{3000}", "\u{200b}\u{feff}\u{2060}", "\u{ad}"] {
            assert!(is_blank(text), "{text:?}");
        }
    }

    #[test]
    fn anything_that_shows_is_not_blank() {
        for text in ["a", " .", "\u{200b}0", "👋", "{}", "\u{301}"] {
            assert!(!is_blank(text), "{text:?}");
        }
    }
}
