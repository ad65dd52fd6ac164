//! The encoding of a text file.

use std::fmt;
use std::io::{self, Read};
use std::str::FromStr;

/// How much of a file is read at once.
const PORTION: usize = 64 * 1_024;
/// The longest character of UTF-8, in bytes.
const LONGEST_CHARACTER: usize = 4;

/// How the characters of a text file are written as bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Encoding {
    /// UTF-8, with or without its mark.
    Utf8,
    /// Windows-1252: what Excel in Western Europe saves as plain "CSV".
    Windows1252,
    /// Windows-1250: what Excel in Central Europe saves as plain "CSV".
    Windows1250,
    /// What Excel saves as "CSV (Macintosh)".
    Macintosh,
    /// UTF-16 with the low byte first: what Excel saves as "Unicode Text".
    Utf16Le,
    /// UTF-16 with the high byte first.
    Utf16Be,
}

/// Not the name of an encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "not an encoding: use one of utf-8, windows-1252, windows-1250, macintosh, utf-16le, utf-16be"
)]
pub struct NotAnEncoding;

impl Encoding {
    /// Every value, in the order in which forms list them.
    pub const ALL: [Self; 6] = [
        Self::Utf8,
        Self::Windows1252,
        Self::Windows1250,
        Self::Macintosh,
        Self::Utf16Le,
        Self::Utf16Be,
    ];

    /// The name, as web standards have it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Utf8 => "utf-8",
            Self::Windows1252 => "windows-1252",
            Self::Windows1250 => "windows-1250",
            Self::Macintosh => "macintosh",
            Self::Utf16Le => "utf-16le",
            Self::Utf16Be => "utf-16be",
        }
    }

    /// The name for people.
    pub fn words(self) -> &'static str {
        match self {
            Self::Utf8 => "UTF-8",
            Self::Windows1252 => "Windows-1252 (Western European)",
            Self::Windows1250 => "Windows-1250 (Central European)",
            Self::Macintosh => "Macintosh",
            Self::Utf16Le => "UTF-16",
            Self::Utf16Be => "UTF-16, high byte first",
        }
    }

    /// The encoding of a file: that of its mark; UTF-16 if every second byte is zero; UTF-8 if the
    /// characters beyond ASCII are, but for a few; otherwise Windows-1252. Reads the file to its
    /// end, unless the first bytes decide it.
    pub fn found(mut file: impl Read) -> io::Result<Self> {
        let mut portion = Vec::with_capacity(PORTION);
        let mut beyond = Beyond::default();
        let mut is_first = true;
        loop {
            let kept = portion.len();
            (&mut file).take((PORTION - kept) as u64).read_to_end(&mut portion)?;
            if is_first && let Some(found) = of_first_bytes(&portion) {
                return Ok(found);
            }
            is_first = false;
            let is_last = portion.len() < PORTION;
            let cut = beyond.count(&portion);
            if is_last {
                beyond.bad += u64::from(cut > 0);
                return Ok(if beyond.is_utf_8() { Self::Utf8 } else { Self::Windows1252 });
            }
            portion.drain(..portion.len() - cut);
            debug_assert!(portion.len() < LONGEST_CHARACTER, "a character is cut");
        }
    }

    pub(crate) fn coder(self) -> &'static encoding_rs::Encoding {
        match self {
            Self::Utf8 => encoding_rs::UTF_8,
            Self::Windows1252 => encoding_rs::WINDOWS_1252,
            Self::Windows1250 => encoding_rs::WINDOWS_1250,
            Self::Macintosh => encoding_rs::MACINTOSH,
            Self::Utf16Le => encoding_rs::UTF_16LE,
            Self::Utf16Be => encoding_rs::UTF_16BE,
        }
    }
}

/// What a text has beyond ASCII, read as UTF-8.
#[derive(Debug, Default)]
struct Beyond {
    characters: u64,
    /// Bytes that are no characters, each run once.
    bad: u64,
}

impl Beyond {
    /// Counts what is in these bytes, but for a character that is cut at their end: says how long
    /// that is.
    fn count(&mut self, mut bytes: &[u8]) -> usize {
        loop {
            let read = std::str::from_utf8(bytes);
            let valid = read.map_or_else(|error| error.valid_up_to(), str::len);
            let (text, rest) = bytes.split_at(valid);
            // The first byte of each character beyond ASCII.
            self.characters += text.iter().filter(|byte| **byte >= 0xC0).count() as u64;
            match read {
                Ok(_) => return 0,
                Err(error) => match error.error_len() {
                    None => return rest.len(),
                    Some(length) => {
                        self.bad += 1;
                        bytes = &rest[length..];
                    }
                },
            }
        }
    }

    /// In Windows-1252 such bytes hardly ever make a character of UTF-8. If most do, the others
    /// were put in by a program with another encoding: those cells are reported, and not all
    /// others garbled.
    fn is_utf_8(&self) -> bool {
        self.bad == 0 || self.characters > self.bad
    }
}

fn of_first_bytes(bytes: &[u8]) -> Option<Encoding> {
    match bytes {
        [0xEF, 0xBB, 0xBF, ..] => return Some(Encoding::Utf8),
        [0xFF, 0xFE, ..] => return Some(Encoding::Utf16Le),
        [0xFE, 0xFF, ..] => return Some(Encoding::Utf16Be),
        _ => {}
    }
    let pairs = bytes.as_chunks::<2>().0;
    let zeros = |place: usize| pairs.iter().filter(|pair| pair[place] == 0).count();
    // Line ends, delimiters and digits have a zero byte, whatever the letters of the names are.
    let is_much = |count: usize| count > 0 && count * 10 >= pairs.len();
    match (zeros(0), zeros(1)) {
        (0, low_first) if is_much(low_first) => Some(Encoding::Utf16Le),
        (high_first, 0) if is_much(high_first) => Some(Encoding::Utf16Be),
        _ => None,
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Encoding {
    type Err = NotAnEncoding;

    fn from_str(text: &str) -> Result<Self, NotAnEncoding> {
        let text = text.trim().to_ascii_lowercase();
        Self::ALL.into_iter().find(|one| one.as_str() == text).ok_or(NotAnEncoding)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of which each read gives at most 7 bytes.
    struct Trickle<'a>(&'a [u8]);

    impl Read for Trickle<'_> {
        fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
            let most = room.len().min(7);
            self.0.read(&mut room[..most])
        }
    }

    fn found(bytes: &[u8]) -> Encoding {
        let whole = Encoding::found(bytes).unwrap();
        assert_eq!(Encoding::found(Trickle(bytes)).unwrap(), whole);
        whole
    }

    fn utf16(text: &str, mark: bool, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
        let mark = if mark { "\u{feff}" } else { "" };
        mark.encode_utf16().chain(text.encode_utf16()).flat_map(bytes).collect()
    }

    #[test]
    fn an_encoding_is_found_by_its_mark_or_by_what_is_valid() {
        use Encoding::{Utf8, Utf16Be, Utf16Le, Windows1252};
        assert_eq!(found(b""), Utf8);
        assert_eq!(found(b"phone\n07700900123\n"), Utf8);
        assert_eq!(found("name\nZoë\n".as_bytes()), Utf8);
        assert_eq!(found("\u{feff}name\n".as_bytes()), Utf8);
        assert_eq!(found(b"name\nZo\xEB\n"), Windows1252);
        assert_eq!(found(b"name\nZo\xC3"), Windows1252, "half a character at the end");
        for text in ["phone,name\n07700900123,Zoë\n", "номер;имя\n07700900123;Зоя\n"] {
            for mark in [true, false] {
                assert_eq!(found(&utf16(text, mark, u16::to_le_bytes)), Utf16Le, "{text}");
                assert_eq!(found(&utf16(text, mark, u16::to_be_bytes)), Utf16Be, "{text}");
            }
        }
    }

    #[test]
    fn a_few_bad_bytes_do_not_garble_a_file_of_utf_8() {
        use Encoding::{Utf8, Windows1252};
        let names = "Zoë,Müller,Łukasz,😀\n";
        let far = "x\n".repeat(PORTION);
        for (case, bytes, expected) in [
            ("one byte at the end", [names.as_bytes(), b"Zo\xEB\n"].concat(), Utf8),
            ("one byte at the beginning", [b"Zo\xEB\n", names.as_bytes()].concat(), Utf8),
            ("far from each other", [b"Zo\xEB\n", far.as_bytes(), names.as_bytes()].concat(), Utf8),
            ("cut at the end", [names.as_bytes(), b"Zo\xC3"].concat(), Utf8),
            ("two and one", "Zoë Zoë Zo\n".bytes().chain([0xEB]).collect(), Utf8),
            ("one and one", "Zoë Zo\n".bytes().chain([0xEB]).collect(), Windows1252),
            (
                "Windows-1252 with what looks like one",
                b"Zo\xEB M\xFCller \xC3\xBC".into(),
                Windows1252,
            ),
            ("Windows-1252", b"Zo\xEB;M\xFCller;\x80 5\n".repeat(9), Windows1252),
        ] {
            assert_eq!(found(&bytes), expected, "{case}");
        }
    }

    #[test]
    fn a_character_may_stand_across_two_portions() {
        for before in PORTION - 4..=PORTION {
            let valid = format!("{}😀{}", "x".repeat(before), "y".repeat(PORTION));
            assert_eq!(found(valid.as_bytes()), Encoding::Utf8, "{before}");
            let mut bad = valid.into_bytes();
            bad[before + 1] = b'x';
            assert_eq!(found(&bad), Encoding::Windows1252, "{before}");
        }
    }

    #[test]
    fn a_zero_byte_does_not_make_a_text_utf_16() {
        assert_eq!(found(b"phone,name\n07700900123,a\0b, and more\n"), Encoding::Utf8);
    }

    #[test]
    fn an_encoding_is_read_by_its_name() {
        for encoding in Encoding::ALL {
            assert_eq!(encoding.to_string().to_uppercase().parse(), Ok(encoding));
        }
        assert_eq!("latin".parse::<Encoding>(), Err(NotAnEncoding));
    }
}
