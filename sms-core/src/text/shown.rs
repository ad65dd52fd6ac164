//! Untrusted text, made safe to show to a person on a terminal or in a log.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::invisible::is_invisible;

/// What joins letters and pictures to one, as in the emoji of a family.
const JOINERS: [char; 2] = ['\u{200C}', '\u{200D}'];
/// A black flag, which tags that follow turn into that of England, Scotland or Wales.
const FLAG: char = '\u{1F3F4}';

/// The text with a visible escape, such as `\u{202e}`, for each character that would change how the
/// text around it is shown: control characters, marks that reorder what follows, and characters
/// that hide in it. Line breaks, tabs, and what emoji need stay.
///
/// ```
/// use sms_core::text::shown;
///
/// assert_eq!(shown("invoice\u{202e}fdp.exe\u{1b}[8m"), r"invoice\u{202e}fdp.exe\u{1b}[8m");
/// assert_eq!(shown("Grüße 👨‍👩‍👧"), "Grüße 👨‍👩‍👧");
/// ```
pub fn shown(text: &str) -> Cow<'_, str> {
    escaped(text, is_unfit, |c, escaped| escaped.extend(c.escape_default()))
}

/// JSON, or a line of a log, with the escapes of JSON for such characters. It says the same as
/// before. Of control characters it escapes only those that JSON may hold as they are.
///
/// ```
/// use sms_core::text::shown_json;
///
/// assert_eq!(shown_json("{\"name\":\"a\u{202e}b\"}"), r#"{"name":"a\u202eb"}"#);
/// ```
pub fn shown_json(json: &str) -> Cow<'_, str> {
    escaped(
        json,
        |c| is_unfit(c) && c >= '\u{7F}',
        |c, escaped| {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(escaped, "\\u{unit:04x}");
            }
        },
    )
}

fn escaped(
    text: &str,
    is_unfit: impl Fn(char) -> bool,
    escape: impl Fn(char, &mut String),
) -> Cow<'_, str> {
    if !text.chars().any(&is_unfit) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    let mut is_in_flag = false;
    for c in text.chars() {
        is_in_flag = c == FLAG || (is_in_flag && is_tag(c));
        if is_unfit(c) && !is_in_flag {
            escape(c, &mut escaped);
        } else {
            escaped.push(c);
        }
    }
    Cow::Owned(escaped)
}

/// Whether a character changes how the text around it is shown, or shows nothing.
fn is_unfit(c: char) -> bool {
    let is_separator = matches!(c, '\u{2028}' | '\u{2029}' | '\u{FFF9}'..='\u{FFFB}');
    let is_hidden = matches!(c, '\u{2065}' | '\u{1BCA0}'..='\u{1BCA3}' | '\u{1D173}'..='\u{1D17A}');
    (c.is_control() && !matches!(c, '\n' | '\t'))
        || (is_invisible(c) && !JOINERS.contains(&c))
        || is_separator
        || is_hidden
        || is_tag(c)
}

fn is_tag(c: char) -> bool {
    ('\u{E0000}'..='\u{E007F}').contains(&c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_changes_how_text_is_shown_stays_as_it_is() {
        let unfit = [
            '\0',
            '\r',
            '\u{7}',
            '\u{8}',
            '\u{1B}',
            '\u{7F}',
            '\u{85}',
            '\u{9B}',
            '\u{9F}',
            '\u{AD}',
            '\u{61C}',
            '\u{180E}',
            '\u{200B}',
            '\u{200E}',
            '\u{200F}',
            '\u{2028}',
            '\u{2029}',
            '\u{202A}',
            '\u{202B}',
            '\u{202C}',
            '\u{202D}',
            '\u{202E}',
            '\u{2060}',
            '\u{2064}',
            '\u{2065}',
            '\u{2066}',
            '\u{2067}',
            '\u{2068}',
            '\u{2069}',
            '\u{206A}',
            '\u{206F}',
            '\u{FEFF}',
            '\u{FFF9}',
            '\u{FFFB}',
            '\u{1BCA0}',
            '\u{1D173}',
            '\u{E0001}',
            '\u{E0041}',
        ];
        for c in unfit {
            let text = format!("a{c}b");
            let told = shown(&text);
            assert!(told.is_ascii() && told.starts_with("a\\") && told.ends_with('b'), "{told}");
            let json = serde_json::to_string(&text).unwrap();
            let told = shown_json(&json);
            assert!(told.is_ascii(), "{told}");
            assert_eq!(serde_json::from_str::<String>(&told).unwrap(), text, "it says the same");
        }
    }

    #[test]
    fn text_in_any_script_and_emoji_stay_as_they_are() {
        let flag = "\u{1F3F4}\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}";
        for text in
            ["Grüße\n\tan 07700 900123", "שלום", "می\u{200C}روم", "👩\u{200D}🍳 ☕\u{FE0F}", flag]
        {
            assert_eq!(shown(text), text);
            assert_eq!(shown_json(text), text);
        }
    }
}
