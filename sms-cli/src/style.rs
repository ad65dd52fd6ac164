//! How text looks on a terminal, and for whom it is.

use anstyle::{AnsiColor, Style};

/// For whom a command prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// For people.
    Text,
    /// For programs.
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

/// Text from elsewhere, fit for a terminal: a message may hold control characters that would change
/// what the terminal shows.
pub(crate) fn shown(text: &str) -> String {
    let character = |c: char| match c {
        '\n' => '⏎',
        c if c.is_control() => '\u{FFFD}',
        // Marks that reorder what follows.
        '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' => '\u{FFFD}',
        c => c,
    };
    text.chars().map(character).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_cannot_control_the_terminal() {
        assert_eq!(shown("a\x1b[2Jb\r\nc\u{202E}d"), "a\u{FFFD}[2Jb\u{FFFD}⏎c\u{FFFD}d");
        assert_eq!(shown("Grüße 👋"), "Grüße 👋");
    }
}
