//! Characters that make a message cost more, because the GSM alphabet does not have them: what
//! people call them, and what can stand for them.

use sms_core::text::{Encoding, measure};

/// The characters of a text that the GSM alphabet does not have, each once, in their order.
pub fn dear_characters(text: &str) -> Vec<char> {
    let mut found = Vec::new();
    for character in text.chars() {
        if is_dear(character) && !found.contains(&character) {
            found.push(character);
        }
    }
    found
}

/// A character's name for people.
pub fn named(character: char) -> String {
    match character {
        '\u{a0}' => "a non-breaking space".to_owned(),
        '\u{200b}' => "a zero-width space".to_owned(),
        '\t' => "a tab".to_owned(),
        '\u{2009}' => "a thin space".to_owned(),
        '\u{202f}' => "a narrow space".to_owned(),
        '\u{feff}' => "a byte order mark".to_owned(),
        _ => format!("“{character}”"),
    }
}

/// Whether every one of these characters has a plain one that can stand for it.
pub fn are_replaceable(dear: &[char]) -> bool {
    !dear.is_empty() && dear.iter().all(|character| plain_one(*character).is_some())
}

/// The same text with plain characters, wherever one can stand for a character outside the GSM
/// alphabet.
pub fn plain(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for character in text.chars() {
        match plain_one(character).filter(|_| is_dear(character)) {
            Some(one) => written.push_str(one),
            None => written.push(character),
        }
    }
    written
}

fn is_dear(character: char) -> bool {
    measure(character.encode_utf8(&mut [0; 4])).encoding == Encoding::Ucs2
}

fn plain_one(character: char) -> Option<&'static str> {
    Some(match character {
        '‘' | '’' | '‚' | '′' | '`' | '´' => "'",
        '“' | '”' | '„' => "\"",
        '–' | '—' | '‐' | '‑' | '−' | '•' => "-",
        '…' => "...",
        '·' => ".",
        '\u{a0}' | '\u{2009}' | '\u{202f}' | '\t' => " ",
        '\u{200b}' | '\u{feff}' => "",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dear_characters_are_named_once_each_in_their_order() {
        assert_eq!(dear_characters("дом, дом"), ['д', 'о', 'м']);
        assert_eq!(dear_characters("£20 für 2 @ 19:30 [€]"), []);
    }

    #[test]
    fn a_text_is_mended_where_a_plain_character_can_stand_for_a_dear_one() {
        for (text, mended, replaceable) in [
            ("It’s “on” – 19:30…", "It's \"on\" - 19:30...", true),
            ("a\u{a0}b\tc\u{200b}", "a b c", true),
            ("It’s дом", "It's дом", false),
            ("plain", "plain", false),
        ] {
            assert_eq!(plain(text), mended, "{text}");
            assert_eq!(are_replaceable(&dear_characters(text)), replaceable, "{text}");
        }
    }

    #[test]
    fn invisible_characters_have_a_name() {
        assert_eq!(named('\t'), "a tab");
        assert_eq!(named('’'), "“’”");
    }
}
