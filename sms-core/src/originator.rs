//! Who a message came from: a phone number, or a short code or a name, which cannot be answered.

use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};
use sha2::{Digest, Sha256};

use crate::invisible::is_invisible;
use crate::phone::{E164, parse_any};

/// The longest name, in characters. A `source_addr` of SMPP 3.4 has room for 20 (5.2.8).
pub const MAX_NAME: usize = 20;

/// Who sent an inbound message. `Display` and JSON show it as it came; `Debug` hides it.
///
/// ```
/// use sms_core::originator::Originator;
///
/// let number = Originator::parse("07700 900123")?;
/// assert_eq!(number.to_string(), "+447700900123");
/// let name = Originator::parse("ACME")?;
/// assert_eq!((name.to_string().as_str(), name.name()), ("ACME", Some("ACME")));
/// assert!(Originator::parse("").is_err());
/// # Ok::<(), sms_core::originator::NotAnOriginator>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Originator {
    /// A phone number in E.164, which can be answered.
    Number(E164),
    /// A short code or a name.
    Name(OriginatorName),
}

/// A short code or a name, 1 to [`MAX_NAME`] characters that are visible or spaces between them.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct OriginatorName(Arc<str>);

/// The text is neither a number nor a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("neither a phone number, nor a short code or a name of at most 20 characters")]
pub struct NotAnOriginator;

impl Originator {
    /// Reads a number in any form that [`parse_any`] reads, else a short code or a name. White
    /// space at the ends is left out.
    pub fn parse(text: &str) -> Result<Self, NotAnOriginator> {
        if let Ok(number) = parse_any(text) {
            return Ok(Self::Number(number));
        }
        let name = text.trim();
        let is_hidden = |c: char| c.is_control() || is_invisible(c);
        if name.is_empty() || name.chars().count() > MAX_NAME || name.contains(is_hidden) {
            return Err(NotAnOriginator);
        }
        Ok(Self::Name(OriginatorName(name.into())))
    }

    /// What a store has kept: the [number](Self::number), and the [name](Self::name) if there is
    /// one.
    pub fn kept(number: E164, name: Option<String>) -> Self {
        match name {
            Some(name) => Self::Name(OriginatorName(name.into())),
            None => Self::Number(number),
        }
    }

    /// The number. A name has a stand-in, under which stores keep its messages and conversation:
    /// the country code 999, which no country has, and twelve digits of a hash of the name as it
    /// came.
    /// Nothing can be sent to it, and [`parse_any`] does not read it.
    pub fn number(&self) -> E164 {
        match self {
            Self::Number(number) => *number,
            Self::Name(name) => name.stand_in(),
        }
    }

    /// The short code or the name; `None` for a number.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Number(_) => None,
            Self::Name(name) => Some(name.as_str()),
        }
    }
}

impl OriginatorName {
    /// The name as it came.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Stores keep it, so it never changes: of the first eight octets of the SHA-256 hash, as a
    /// big-endian integer.
    fn stand_in(&self) -> E164 {
        let hash = Sha256::digest(self.0.as_bytes());
        E164::stand_in(hash.iter().take(8).fold(0, |value, octet| value << 8 | u64::from(*octet)))
    }
}

impl From<E164> for Originator {
    fn from(number: E164) -> Self {
        Self::Number(number)
    }
}

impl fmt::Display for Originator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Name(name) => f.write_str(name.as_str()),
        }
    }
}

impl Serialize for Originator {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(number) => number.serialize(serializer),
            Self::Name(name) => serializer.serialize_str(name.as_str()),
        }
    }
}

impl fmt::Debug for OriginatorName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OriginatorName({} bytes)", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::phone::parse_uk_mobile;
    use crate::samples::person;

    #[test]
    fn a_text_is_a_number_else_a_short_code_or_a_name() {
        for (text, number, shown) in [
            ("07700 900123", Some(person()), "+447700900123"),
            ("+447700900123", Some(person()), "+447700900123"),
            ("ACME", None, "ACME"),
            ("Acme", None, "Acme"),
            ("60123", None, "60123"),
            ("  ACME & Co\t", None, "ACME & Co"),
            ("Café/24", None, "Café/24"),
            ("1", None, "1"),
            ("12345678901234567890", None, "12345678901234567890"),
            // The stand-in of a name is not the number of anybody.
            ("+999123456789012", None, "+999123456789012"),
        ] {
            let parsed = Originator::parse(text).unwrap();
            assert_eq!(parsed.to_string(), shown, "{text}");
            assert_eq!(parsed.name(), number.is_none().then_some(shown), "{text}");
            assert_eq!(number.unwrap_or_else(|| parsed.number()), parsed.number(), "{text}");
            assert_eq!(serde_json::to_value(&parsed).unwrap(), shown, "{text}");
            let name = parsed.name().map(str::to_owned);
            assert_eq!(Originator::kept(parsed.number(), name), parsed, "{text}");
        }
    }

    #[test]
    fn what_is_empty_too_long_or_not_visible_is_no_name() {
        for text in ["", "  ", "123456789012345678901", "AC\nME", "AC\0ME", "AC\u{200b}ME"] {
            assert_eq!(Originator::parse(text), Err(NotAnOriginator), "{text:?}");
        }
    }

    #[test]
    fn the_stand_in_of_a_name_stays_the_same_because_it_is_stored() {
        for (name, digits) in [
            ("ACME", 999_338_567_201_584),
            ("Acme", 999_776_170_061_107),
            ("60123", 999_355_377_544_553),
        ] {
            assert_eq!(Originator::parse(name).unwrap().number().digits(), digits, "{name}");
        }
    }

    #[test]
    fn debug_hides_who_it_was() {
        for text in ["07700 900123", "ACME"] {
            let shown = format!("{:?}", Originator::parse(text).unwrap());
            assert!(!shown.contains("900123") && !shown.contains("ACME"), "{shown}");
        }
    }

    proptest! {
        #[test]
        fn nothing_can_be_sent_to_a_name(text in "\\PC{1,20}") {
            if let Ok(originator) = Originator::parse(&text) && originator.name().is_some() {
                let stand_in = originator.number().to_string();
                prop_assert!(stand_in.starts_with("+999") && stand_in.len() == 16);
                prop_assert!(parse_uk_mobile(&stand_in).is_err());
                prop_assert!(parse_any(&stand_in).is_err());
                prop_assert!(parse_uk_mobile(&text).is_err());
            }
        }
    }
}
