//! Untrusted text, made safe for a cell of a file that people open in a spreadsheet.

/// The bytes by which spreadsheets know a file as UTF-8. They come first in it.
pub const MARK: &str = "\u{feff}";

/// The text as a cell that no spreadsheet takes for a formula: with an apostrophe before it if it
/// begins like one.
///
/// ```
/// use sms_core::text::cell::harmless;
///
/// assert_eq!(harmless("=1+1"), "'=1+1");
/// assert_eq!(harmless("1+1"), "1+1");
/// ```
pub fn harmless(cell: &str) -> String {
    if cell.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        format!("'{cell}")
    } else {
        cell.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_that_a_spreadsheet_would_run_is_quoted_away() {
        for (cell, written) in [
            ("=1+1", "'=1+1"),
            ("+44", "'+44"),
            ("-1", "'-1"),
            ("@a", "'@a"),
            ("\ta", "'\ta"),
            ("\ra", "'\ra"),
            ("a=1", "a=1"),
            ("", ""),
        ] {
            assert_eq!(harmless(cell), written);
        }
    }
}
