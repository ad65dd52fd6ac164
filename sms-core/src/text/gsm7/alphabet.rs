//! The tables of GSM 03.38, and the lookup of a character in them.

/// The septet (0x1B) that introduces a character of the extension table.
pub const ESCAPE: u8 = 0x1B;

/// The default alphabet, indexed by septet. A control character holds the place of the escape.
#[rustfmt::skip] // Rows of sixteen, as the standard prints its columns.
pub(super) const BASIC: [char; 128] = [
    '@', '£', '$', '¥', 'è', 'é', 'ù', 'ì', 'ò', 'Ç', '\n', 'Ø', 'ø', '\r', 'Å', 'å',
    'Δ', '_', 'Φ', 'Γ', 'Λ', 'Ω', 'Π', 'Ψ', 'Σ', 'Θ', 'Ξ', '\u{1B}', 'Æ', 'æ', 'ß', 'É',
    ' ', '!', '"', '#', '¤', '%', '&', '\'', '(', ')', '*', '+', ',', '-', '.', '/',
    '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', ':', ';', '<', '=', '>', '?',
    '¡', 'A', 'B', 'C', 'D', 'E', 'F', 'G', 'H', 'I', 'J', 'K', 'L', 'M', 'N', 'O',
    'P', 'Q', 'R', 'S', 'T', 'U', 'V', 'W', 'X', 'Y', 'Z', 'Ä', 'Ö', 'Ñ', 'Ü', '§',
    '¿', 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o',
    'p', 'q', 'r', 's', 't', 'u', 'v', 'w', 'x', 'y', 'z', 'ä', 'ö', 'ñ', 'ü', 'à',
];

/// The extension table: the septet after the escape, and the character it stands for.
pub(super) const EXTENSION: [(u8, char); 10] = [
    (0x0A, '\u{C}'),
    (0x14, '^'),
    (0x28, '{'),
    (0x29, '}'),
    (0x2F, '\\'),
    (0x3C, '['),
    (0x3D, '~'),
    (0x3E, ']'),
    (0x40, '|'),
    (0x65, EURO),
];

const EURO: char = '€';

/// The range of [`BASIC`] that holds the Greek capitals, its only characters beyond Latin-1.
const GREEK: std::ops::RangeInclusive<u8> = 0x10..=0x1A;

/// Bit that [`lookup`] sets when the character is in the extension table.
pub(super) const EXTENDED: u8 = 0x80;

/// What [`lookup`] returns for a character that is in neither table.
pub(super) const ABSENT: u8 = 0xFF;

/// The tables inverted, for the first 256 code points.
const LATIN: [u8; 256] = latin();

const fn latin() -> [u8; 256] {
    let mut codes = [ABSENT; 256];
    let mut septet = 0_u8;
    while septet < 128 {
        let c = BASIC[septet as usize] as usize;
        if c < 256 && septet != ESCAPE {
            codes[c] = septet;
        }
        septet += 1;
    }
    let mut row = 0;
    while row < EXTENSION.len() {
        let (septet, c) = EXTENSION[row];
        if (c as usize) < 256 {
            codes[c as usize] = septet | EXTENDED;
        }
        row += 1;
    }
    codes
}

/// The septet of a character, with [`EXTENDED`] set if an escape precedes it; [`ABSENT`] if it has
/// none.
pub(super) fn lookup(c: char) -> u8 {
    if let Some(&code) = LATIN.get(c as usize) {
        return code;
    }
    if c == EURO {
        return 0x65 | EXTENDED;
    }
    GREEK.into_iter().find(|&septet| BASIC[usize::from(septet)] == c).unwrap_or(ABSENT)
}

pub(super) fn basic(septet: u8) -> char {
    let c = BASIC.get(usize::from(septet)).copied();
    c.unwrap_or(char::REPLACEMENT_CHARACTER)
}

pub(super) fn extension(code: u8) -> Option<char> {
    let row = EXTENSION.iter().find(|row| row.0 == code)?;
    Some(row.1)
}
