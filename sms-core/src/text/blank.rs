//! Characters that do not show: white space and invisible characters.

use crate::invisible::is_invisible;

/// Whether a text shows nothing: it is empty, or none of its characters [has ink](has_ink).
///
/// A text of zero-width spaces alone is blank, because it would arrive as an empty message that
/// still costs credits.
///
/// ```
/// use sms_core::text::is_blank;
///
/// assert!(is_blank(" \r\n\u{a0}\u{200b}\u{2800}"));
/// assert!(!is_blank(" . "));
/// ```
pub fn is_blank(text: &str) -> bool {
    !text.chars().any(has_ink)
}

/// Whether a character leaves a mark on the screen. White space (Unicode's `White_Space`), control
/// characters and [invisible](is_invisible) characters leave none. Neither do fillers, which take
/// room but show nothing: the blank Braille pattern, the fillers of Hangul, variation selectors and
/// everything else that Unicode calls `Default_Ignorable_Code_Point`.
pub fn has_ink(c: char) -> bool {
    !(c.is_whitespace() || c.is_control() || is_invisible(c) || is_filler(c))
}

/// The characters without ink that are neither white space, nor control characters, nor found in
/// copied text.
const fn is_filler(c: char) -> bool {
    matches!(
        c,
        '\u{34F}'
            | '\u{115F}'..='\u{1160}'
            | '\u{17B4}'..='\u{17B5}'
            | '\u{180B}'..='\u{180F}'
            | '\u{2065}'
            | '\u{2800}'
            | '\u{3164}'
            | '\u{FE00}'..='\u{FE0F}'
            | '\u{FFA0}'
            | '\u{FFF0}'..='\u{FFFB}'
            | '\u{13430}'..='\u{1343F}'
            | '\u{1BCA0}'..='\u{1BCA3}'
            | '\u{1D173}'..='\u{1D17A}'
            | '\u{E0000}'..='\u{E0FFF}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_nothing_but_characters_without_ink_is_blank() {
        for (what, characters) in [
            ("nothing", ""),
            ("white space", " \t\r\n\u{b}\u{c}\u{85}\u{a0}\u{1680}\u{2003}\u{2028}\u{3000}"),
            ("control characters", "\u{1}\u{7}\u{8}\u{1b}\u{1f}\u{7f}\u{80}\u{9f}"),
            ("format characters", "\u{ad}\u{61c}\u{180e}\u{200b}\u{200f}\u{202e}\u{2060}\u{2064}"),
            ("more format characters", "\u{2066}\u{206f}\u{feff}\u{fff9}\u{fffb}\u{1bca0}"),
            ("rare format characters", "\u{13430}\u{1d173}\u{1d17a}\u{e0001}\u{e0020}\u{e007f}"),
            ("the blank Braille pattern", "\u{2800}"),
            ("fillers of Hangul", "\u{3164}\u{115f}\u{1160}\u{ffa0}"),
            ("vowels of Khmer that are not shown", "\u{17b4}\u{17b5}"),
            ("places kept for more of them", "\u{2065}\u{fff0}\u{fff8}\u{e0002}\u{e0fff}"),
            ("the grapheme joiner", "\u{34f}"),
            ("variation selectors", "\u{180b}\u{180f}\u{fe00}\u{fe0f}\u{e0100}\u{e01ef}"),
        ] {
            for c in characters.chars() {
                assert!(is_blank(&c.to_string()), "{what}: {c:?}");
            }
            assert!(is_blank(characters), "{what}");
        }
    }

    #[test]
    fn anything_that_shows_is_not_blank() {
        for text in [
            "a",
            " .",
            "\u{200b}0",
            "👋",
            "{}",
            "\u{301}",
            "\u{2801}",
            "\u{3163}",
            "\u{1100}",
            "☺\u{fe0f}",
            "\u{600}",
            "\u{fffc}",
            "\u{fffd}",
        ] {
            assert!(!is_blank(text), "{text:?}");
        }
    }
}
