//! The two encodings of a message, and the number of its segments as a type.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How the characters of a message are encoded (3GPP TS 23.038, which continues GSM 03.38).
///
/// ```
/// use sms_core::text::Encoding;
///
/// assert_eq!(Encoding::Gsm7.as_str(), "gsm7");
/// assert_eq!("ucs2".parse(), Ok(Encoding::Ucs2));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Encoding {
    /// The GSM 03.38 default alphabet with its extension table, counted in septets.
    Gsm7,
    /// Code units of 16 bits. Phones read them as UTF-16, so that an emoji takes two units.
    Ucs2,
}

impl Encoding {
    /// Every value. Stores may keep one as its index here: a new value goes to the end.
    pub const ALL: [Self; 2] = [Self::Gsm7, Self::Ucs2];

    /// The name in the API: `gsm7` or `ucs2`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Gsm7 => "gsm7",
            Self::Ucs2 => "ucs2",
        }
    }

    /// Units that fit in a message of one segment: 160 septets or 70 code units. Both are 140
    /// octets.
    pub const fn single_units(self) -> u32 {
        match self {
            Self::Gsm7 => 160,
            Self::Ucs2 => 70,
        }
    }

    /// Units that fit in each segment of a longer message: 153 septets or 67 code units. Six octets
    /// go to the header that joins the segments (3GPP TS 23.040, 9.2.3.24.1).
    pub const fn joined_units(self) -> u32 {
        match self {
            Self::Gsm7 => 153,
            Self::Ucs2 => 67,
        }
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The text names no [`Encoding`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("unknown encoding; use gsm7 or ucs2")]
pub struct UnknownEncoding;

impl FromStr for Encoding {
    type Err = UnknownEncoding;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        [Self::Gsm7, Self::Ucs2]
            .into_iter()
            .find(|encoding| encoding.as_str() == text)
            .ok_or(UnknownEncoding)
    }
}

/// A number of segments.
///
/// ```
/// use sms_core::text::Segments;
///
/// let total = Segments::new(2).checked_add(Segments::new(3));
/// assert_eq!(total, Some(Segments::new(5)));
/// assert_eq!(Segments::new(u32::MAX).checked_add(Segments::new(1)), None);
/// ```
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Segments(u32);

impl Segments {
    /// The number of segments given.
    pub const fn new(parts: u32) -> Self {
        Self(parts)
    }

    /// The number of segments as an integer.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The sum, or `None` if it exceeds 32 bits.
    pub const fn checked_add(self, other: Self) -> Option<Self> {
        match self.0.checked_add(other.0) {
            Some(sum) => Some(Self(sum)),
            None => None,
        }
    }
}

impl fmt::Display for Segments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_same_in_json_text_and_parsing() {
        for encoding in [Encoding::Gsm7, Encoding::Ucs2] {
            let json = serde_json::to_string(&encoding).unwrap();
            assert_eq!(json, format!("\"{encoding}\""));
            assert_eq!(serde_json::from_str::<Encoding>(&json).unwrap(), encoding);
            assert_eq!(encoding.as_str().parse(), Ok(encoding));
        }
        assert_eq!("GSM7".parse::<Encoding>(), Err(UnknownEncoding));
    }

    #[test]
    fn segments_are_a_bare_number_in_json() {
        assert_eq!(serde_json::to_string(&Segments::new(3)).unwrap(), "3");
        assert_eq!(serde_json::from_str::<Segments>("3").unwrap(), Segments::new(3));
        assert_eq!(Segments::default().get(), 0);
        assert_eq!(Segments::new(11).to_string(), "11");
    }
}
