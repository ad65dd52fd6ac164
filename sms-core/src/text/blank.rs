//! What does not show: white space and invisible characters.

/// Whether nothing of the text would show: it is empty, or all white space (Unicode's
/// `White_Space`) and [invisible](is_invisible) characters.
///
/// A text of zero-width spaces alone counts as blank. It would arrive as an empty bubble, and
/// nobody means to pay for one.
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

/// Whether the character takes up no room on the screen: zero-width spaces and joiners, marks of
/// writing direction, the byte order mark, the soft hyphen (the characters of Unicode's category
/// Cf that programs leave behind when text is copied).
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
