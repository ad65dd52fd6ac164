//! The character between the cells of a row.

use std::fmt;
use std::str::FromStr;

use crate::delimited::{Delimited, Width};
use crate::encoding::Encoding;
use crate::letters::Letters;

/// How many rows are looked at.
const SAMPLE_ROWS: usize = 20;

/// The character between the cells of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Delimiter(u8);

/// Not a character that can stand between cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a delimiter is a single ASCII character that is no letter, digit, quote or line end")]
pub struct NotADelimiter;

impl Delimiter {
    /// A comma, as the name CSV says.
    pub const COMMA: Self = Self(b',');

    /// Those that are found out. Of two that fit equally the first one is taken: a comma may well
    /// stand in the name of a column, such as "Last, first".
    const CANDIDATES: [Self; 4] = [Self(b'\t'), Self(b';'), Self(b'|'), Self::COMMA];

    /// The delimiter as a byte of ASCII.
    pub fn byte(self) -> u8 {
        self.0
    }

    /// The name for people.
    pub fn words(self) -> String {
        match self.0 {
            b',' => "comma".to_owned(),
            b';' => "semicolon".to_owned(),
            b'\t' => "tab".to_owned(),
            b' ' => "space".to_owned(),
            other => char::from(other).to_string(),
        }
    }

    /// The delimiter that splits the first rows of a text most evenly, and into most cells.
    pub(crate) fn found(text: &str) -> Self {
        let mut best = (Self::COMMA, (0, 0));
        for delimiter in Self::CANDIDATES {
            let merit = delimiter.merit(text);
            if merit > best.1 {
                best = (delimiter, merit);
            }
        }
        best.0
    }

    /// How many of the first rows have as many cells as the first one, and how many it has. Nothing
    /// if that is one.
    fn merit(self, text: &str) -> (usize, usize) {
        let letters = Letters::new(text.as_bytes(), Encoding::Utf8);
        let mut rows = Delimited::new(letters, self.0);
        let mut counts = Vec::new();
        while counts.len() < SAMPLE_ROWS
            && let Some(row) = rows.next_row(Width::AtMost(0)).ok().flatten()
        {
            counts.push(row.separated);
        }
        let first = counts.first().copied().unwrap_or_default();
        let alike = counts.iter().filter(|count| **count == first).count();
        if first > 1 { (alike, first) } else { (0, 0) }
    }

    /// The delimiter that the first line of a file names, as in `sep=;`, which Excel reads.
    pub(crate) fn named_by(text: &str) -> Option<Self> {
        let line = text.split(['\r', '\n']).next()?.trim_matches('"');
        let (word, delimiter) = line.split_at_checked(4)?;
        if !word.eq_ignore_ascii_case("sep=") {
            return None;
        }
        // A tab stands there as it is.
        delimiter.parse().ok()
    }
}

impl fmt::Display for Delimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", char::from(self.0))
    }
}

impl FromStr for Delimiter {
    type Err = NotADelimiter;

    fn from_str(text: &str) -> Result<Self, NotADelimiter> {
        match text.as_bytes() {
            _ if text == "\\t" => Ok(Self(b'\t')),
            [byte] if byte.is_ascii() && !byte.is_ascii_alphanumeric() => match byte {
                b'"' | b'\r' | b'\n' | 0 => Err(NotADelimiter),
                _ => Ok(Self(*byte)),
            },
            _ => Err(NotADelimiter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delimiter_is_found_by_the_first_rows() {
        for (text, expected) in [
            ("phone,name\n1,2\n", ","),
            ("phone;name\n1;2\n", ";"),
            ("phone\tname\n1\t2\n", "\t"),
            ("phone|name\n1|2\n", "|"),
            ("phone\n07700 900123\n", ","),
            ("", ","),
            ("\"Name, full, and more\";Mobile\nA;1\n", ";"),
            ("Last, first;Mobile\nLee, Ann;1\n", ";"),
            ("Name;Mobile;Notes, if any\nA;1;x, y, z\nB;2;\n", ";"),
            ("name,mobile,notes\nA,1,\"x;y;z;w\"\nB,2,c;d\n", ","),
            ("a,b,c\n1\n1,2\n", ","),
            ("a;b;c\r1;2,5;3\r", ";"),
        ] {
            assert_eq!(Delimiter::found(text).to_string(), expected, "{text:?}");
        }
    }

    #[test]
    fn a_file_may_name_its_delimiter() {
        for (text, named) in [
            ("sep=;\nphone", Some(";")),
            ("SEP=|\r\nphone", Some("|")),
            ("\"sep=,\"\nphone", Some(",")),
            ("sep=\t\nphone", Some("\t")),
            ("sep=\nphone", None),
            ("separator\nphone", None),
            ("sep", None),
            ("sép=;", None),
        ] {
            let found = Delimiter::named_by(text).map(|found| found.to_string());
            assert_eq!(found.as_deref(), named, "{text:?}");
        }
    }

    #[test]
    fn what_can_stand_in_a_cell_is_no_delimiter() {
        for text in ["", "\"", "\n", "a", "7", "ab", "é", "\0"] {
            assert_eq!(text.parse::<Delimiter>(), Err(NotADelimiter), "{text:?}");
        }
        assert_eq!("\\t".parse(), Ok(Delimiter(b'\t')));
    }
}
