//! Characters that programs leave behind where text is copied.

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
