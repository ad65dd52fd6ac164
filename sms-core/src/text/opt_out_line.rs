//! The line at the end of a marketing message that says how to opt out.
//!
//! Each account has settings for these lines. This module has their defaults and inserts them.

use std::borrow::Cow;

use crate::phone::E164;

/// The default line for messages from a number, to which a recipient can reply.
pub const DEFAULT_OPT_OUT_LINE: &str = "Reply STOP to opt out";

/// The default line for messages from a sender name, to which a recipient cannot reply. `{number}`
/// stands for a number of the account.
pub const DEFAULT_OPT_OUT_LINE_SENDER: &str = "Text STOP to {number} to opt out";

/// An account's line with every `{number}` replaced by the number in E.164.
///
/// ```
/// use sms_core::text::{DEFAULT_OPT_OUT_LINE_SENDER, opt_out_line_for};
///
/// let number = "+447700900123".parse()?;
/// assert_eq!(
///     opt_out_line_for(DEFAULT_OPT_OUT_LINE_SENDER, number),
///     "Text STOP to +447700900123 to opt out"
/// );
/// # Ok::<(), sms_core::phone::ParseE164Error>(())
/// ```
pub fn opt_out_line_for(line: &str, number: E164) -> Cow<'_, str> {
    if line.contains(NUMBER) {
        Cow::Owned(line.replace(NUMBER, &number.to_string()))
    } else {
        Cow::Borrowed(line)
    }
}

/// The text, followed by a line break and the opt-out line.
///
/// The line is added even if the text ends with the same words, so that the price does not depend
/// on how similar two sentences are. An empty line adds nothing, not even the line break.
///
/// ```
/// use sms_core::text::{DEFAULT_OPT_OUT_LINE, append_opt_out_line};
///
/// let text = append_opt_out_line("Sale today", DEFAULT_OPT_OUT_LINE);
/// assert_eq!(text, "Sale today\nReply STOP to opt out");
/// ```
pub fn append_opt_out_line(text: &str, line: &str) -> String {
    if line.is_empty() {
        return text.to_owned();
    }
    format!("{text}\n{line}")
}

const NUMBER: &str = "{number}";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_appended_whatever_the_text_ends_with() {
        let line = DEFAULT_OPT_OUT_LINE;
        assert_eq!(append_opt_out_line("a\n", line), format!("a\n\n{line}"));
        assert_eq!(append_opt_out_line(line, line), format!("{line}\n{line}"));
        assert_eq!(append_opt_out_line("a", ""), "a");
    }

    #[test]
    fn only_the_placeholder_is_replaced() {
        let number = "+447700900123".parse().unwrap();
        let line = opt_out_line_for("{number} or {number}, {first_name}", number);
        assert_eq!(line, "+447700900123 or +447700900123, {first_name}");
        let plain = opt_out_line_for(DEFAULT_OPT_OUT_LINE, number);
        assert!(matches!(plain, Cow::Borrowed(_)));
    }
}
