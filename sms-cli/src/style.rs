//! How text looks on a terminal, and for whom it is.

use anstyle::{AnsiColor, Style};

/// For whom a command prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// For people: text, with colours on a terminal.
    Text,
    /// For programs: JSON, one document or one line each.
    Json,
}

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const GREEN: Style = AnsiColor::Green.on_default();
pub(crate) const RED: Style = AnsiColor::Red.on_default();
pub(crate) const YELLOW: Style = AnsiColor::Yellow.on_default();
pub(crate) const PLAIN: Style = Style::new();

/// The text in a style. What prints it leaves styles out where there is no terminal.
pub(crate) fn paint(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// Text from elsewhere as a value on a line: a message may hold characters that would change what
/// the terminal shows.
pub(crate) fn shown(text: &str) -> String {
    sms_core::text::shown(&text.replace('\n', "⏎").replace('\t', " ")).into_owned()
}

/// The styles above, as they are printed after the character that begins them, and their end.
const STYLES: [&str; 6] = ["[1m", "[2m", "[31m", "[32m", "[33m", "[0m"];
const ESCAPE: char = '\u{1B}';

/// Lines fit for a terminal, whatever they hold: only the styles above stay.
pub(crate) fn fit(text: &str) -> String {
    let mut parts = text.split(ESCAPE);
    let mut fit = sms_core::text::shown(parts.next().unwrap_or_default()).into_owned();
    for part in parts {
        let style = STYLES.iter().find(|style| part.starts_with(**style));
        let (begun, rest) = part.split_at(style.map_or(0, |style| style.len()));
        match style {
            Some(_) => fit.push(ESCAPE),
            None => fit.push_str("\\u{1b}"),
        }
        fit.push_str(begun);
        fit.push_str(&sms_core::text::shown(rest));
    }
    fit
}

/// Prints text for people on standard error.
pub(crate) fn tell(text: &str) {
    anstream::eprintln!("{}", fit(text));
}

/// Prints JSON for programs on standard error.
pub(crate) fn tell_json(json: &serde_json::Value) {
    anstream::eprintln!("{}", sms_core::text::shown_json(&json.to_string()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_cannot_control_the_terminal() {
        let told = r"a\u{1b}[2Jb\r⏎c\u{202e}d e";
        assert_eq!(shown("a\x1b[2Jb\r\nc\u{202E}d\te"), told);
        assert_eq!(shown("Grüße 👋"), "Grüße 👋");
    }

    #[test]
    fn lines_keep_our_styles_and_no_others() {
        for style in [BOLD, DIM, GREEN, RED, YELLOW, PLAIN] {
            let line = paint(style, "text");
            assert_eq!(fit(&line), line);
        }
        assert_eq!(
            fit("a\x1b[8mb\x1b[31mc\u{202E}\n\x1b"),
            "a\\u{1b}[8mb\x1b[31mc\\u{202e}\n\\u{1b}"
        );
    }
}
