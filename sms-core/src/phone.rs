//! Phone numbers: reading what people type, and the one form in which numbers are kept.
//!
//! Behind the edge of the platform every number is an [`E164`]. [`parse_uk_mobile`] reads a
//! recipient as typed, [`parse_any`] reads any number, such as one of the operator's, and
//! [`split_recipients`] splits a string that holds several numbers. Underneath, `scan` reads
//! characters, `uk_plan` knows the ranges of +44 (Ofcom's National Telephone Numbering Plan), and
//! `country_codes` knows the calling codes of other countries (ITU-T E.164).
//!
//! This module does not know which blocks Ofcom has allocated to whom, carriers, ported numbers or
//! prices. It accepts any number that fits the numbering plan, in service or not.

mod country_codes;
mod scan;
mod uk_plan;

#[cfg(test)]
mod forms_tests;
#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer, Visitor};
use serde::ser::{Serialize, Serializer};

use scan::{Typed, trimmed};

/// A phone number in the form of ITU-T E.164: 7 to 15 digits, country code first.
///
/// The type guarantees well-formed digits, not that the country exists or the number is in service.
/// It holds an integer, so that copies are free and numbers sort by value. `Display` and JSON show
/// the number in full; `Debug`, which ends up in logs, hides the middle.
///
/// ```
/// use sms_core::phone::E164;
///
/// let number: E164 = "+447700900123".parse()?;
/// assert_eq!(number.to_string(), "+447700900123");
/// assert_eq!(number.digits(), 447_700_900_123);
/// assert_eq!(format!("{number:?}"), "E164(+4477…23)");
/// assert!("07700 900123".parse::<E164>().is_err(), "only the canonical form");
/// # Ok::<(), sms_core::phone::ParseE164Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct E164(u64);

impl E164 {
    /// The number with these digits, given without the plus; `None` unless there are 7 to 15
    /// digits.
    ///
    /// ```
    /// use sms_core::phone::E164;
    ///
    /// assert!(E164::from_digits(447_700_900_123).is_some());
    /// assert!(E164::from_digits(999).is_none());
    /// ```
    pub const fn from_digits(digits: u64) -> Option<Self> {
        if digits >= SMALLEST && digits <= LARGEST { Some(Self(digits)) } else { None }
    }

    /// The number that stands in for a sender without one: the country code 999, which no country
    /// has, and the last twelve digits of a hash.
    pub(crate) const fn stand_in(hash: u64) -> Self {
        Self(999_000_000_000_000 + hash % 1_000_000_000_000)
    }

    /// The digits without the plus, as one integer.
    pub const fn digits(self) -> u64 {
        self.0
    }

    /// Whether the UK numbering plan reserves the number for mobiles, including those of the
    /// Channel Islands and the Isle of Man.
    ///
    /// ```
    /// # use sms_core::phone::E164;
    /// assert!("+447700900123".parse::<E164>()?.is_uk_mobile());
    /// assert!(!"+442079460123".parse::<E164>()?.is_uk_mobile());
    /// # Ok::<(), sms_core::phone::ParseE164Error>(())
    /// ```
    pub const fn is_uk_mobile(self) -> bool {
        uk_plan::is_mobile(self.0)
    }

    /// Whether the country code is 44. No code is a prefix of another, so two digits decide.
    fn is_uk(self) -> bool {
        let mut leading = self.0;
        while leading >= 100 {
            leading /= 10;
        }
        leading == 44
    }
}

/// Why [`parse_uk_mobile`] or [`parse_any`] refuses a text.
///
/// The caller keeps the text. The messages contain no number, so they may be logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PhoneRefused {
    /// The text is not a number in any accepted form.
    #[error("not a valid phone number")]
    Invalid,
    /// A well-formed number of another country.
    #[error("the number is outside the United Kingdom; use a UK mobile number")]
    UnsupportedDestination(E164),
    /// A well-formed UK number that is a landline, a service, a pager or a personal number.
    #[error("the number is not a mobile number; use a UK mobile number")]
    NotMobile(E164),
}

impl PhoneRefused {
    /// The number, if the text held a well-formed one.
    pub const fn number(self) -> Option<E164> {
        match self {
            Self::Invalid => None,
            Self::UnsupportedDestination(number) | Self::NotMobile(number) => Some(number),
        }
    }
}

/// Reads a UK mobile number in any form that people write.
///
/// Accepted are the national form (`07700 900123`), the international form (`+44`, `0044` or a bare
/// `44`, each with or without the trunk zero, in brackets or not) and the ten digits alone
/// (`7700900123`). Spaces and tabs of any kind and a single dash or dot may separate digits;
/// brackets must pair around digits; a plus may only come first. Invisible characters are skipped,
/// and full-width digits are read. Everything else, above all letters and a trailing `...`, is
/// [`PhoneRefused::Invalid`], because a message to a guessed number reaches a stranger.
///
/// ```
/// use sms_core::phone::{PhoneRefused, parse_uk_mobile};
///
/// let number = parse_uk_mobile("+44 (0)7700 900123")?;
/// assert_eq!(number.to_string(), "+447700900123");
/// assert_eq!(parse_uk_mobile("07700 900123..."), Err(PhoneRefused::Invalid));
/// assert!(matches!(parse_uk_mobile("020 7946 0123"), Err(PhoneRefused::NotMobile(_))));
/// assert!(matches!(
///     parse_uk_mobile("+1 202 555 0123"),
///     Err(PhoneRefused::UnsupportedDestination(_))
/// ));
/// # Ok::<(), PhoneRefused>(())
/// ```
pub fn parse_uk_mobile(text: &str) -> Result<E164, PhoneRefused> {
    let number = parse_any(text)?;
    if number.is_uk_mobile() {
        Ok(number)
    } else if number.is_uk() {
        Err(PhoneRefused::NotMobile(number))
    } else {
        Err(PhoneRefused::UnsupportedDestination(number))
    }
}

/// Reads any well-formed number, of any kind and country, by the rules of [`parse_uk_mobile`]. The
/// only error is [`PhoneRefused::Invalid`].
///
/// Use it for the operator's numbers. A number of another country needs its `+` or `00`. Short
/// codes and names are not E.164 numbers and are refused;
/// [`Originator`](crate::originator::Originator) reads them too, as an inbound message may come
/// from one.
///
/// ```
/// use sms_core::phone::parse_any;
///
/// assert_eq!(parse_any("020 7946 0123")?.to_string(), "+442079460123");
/// assert_eq!(parse_any("001 202 555 0123")?.to_string(), "+12025550123");
/// # Ok::<(), sms_core::phone::PhoneRefused>(())
/// ```
pub fn parse_any(text: &str) -> Result<E164, PhoneRefused> {
    scan::scan(text).and_then(|typed| interpret(&typed)).ok_or(PhoneRefused::Invalid)
}

/// Splits a text that holds several numbers at commas, semicolons and line breaks. Pieces are
/// trimmed of white space and invisible characters; empty pieces are omitted.
///
/// ```
/// use sms_core::phone::split_recipients;
///
/// let typed = "07700 900123, 07700 900124;\r\n\r\n07700 900125";
/// let pieces: Vec<&str> = split_recipients(typed).collect();
/// assert_eq!(pieces, ["07700 900123", "07700 900124", "07700 900125"]);
/// ```
pub fn split_recipients(text: &str) -> impl Iterator<Item = &str> {
    text.split([',', ';', '\n', '\r']).map(trimmed).filter(|piece| !piece.is_empty())
}

/// For inputs that take numbers as text.
///
/// ```
/// use sms_core::phone::parse_uk_mobile;
/// use sms_core::sending::SendRequest;
///
/// let number = parse_uk_mobile("07700 900123")?;
/// assert_eq!(SendRequest::new("Hello").to(number).to, ["+447700900123"]);
/// # Ok::<(), sms_core::phone::PhoneRefused>(())
/// ```
impl From<E164> for String {
    fn from(number: E164) -> Self {
        number.to_string()
    }
}

impl fmt::Display for E164 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "+{}", self.0)
    }
}

impl fmt::Debug for E164 {
    /// Shows the country code, at most two digits after it, and the last two. It hides at least
    /// five digits, so that a short number cannot be guessed from its ends.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.to_string();
        let values: Vec<u8> = digits.bytes().map(|digit| digit - b'0').collect();
        let code_length = country_codes::find(&values).map_or(1, |code| code.length);
        let front = (code_length + 2).min(digits.len() - HIDDEN - 2);
        write!(f, "E164(+{}…{})", &digits[..front], &digits[digits.len() - 2..])
    }
}

/// The text is not a plus and 7 to 15 digits, the first of them not zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a phone number in E.164 form: a plus and 7 to 15 digits")]
pub struct ParseE164Error;

impl FromStr for E164 {
    type Err = ParseE164Error;

    /// Reads the canonical form only, as `Display` writes it. To read what people type, use
    /// [`parse_uk_mobile`].
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.strip_prefix('+').ok_or(ParseE164Error)?;
        // The integer parser would accept a second plus and leading zeros.
        let canonical = digits.len() <= 15
            && digits.bytes().all(|byte| byte.is_ascii_digit())
            && !digits.starts_with('0');
        if !canonical {
            return Err(ParseE164Error);
        }
        digits.parse().ok().and_then(Self::from_digits).ok_or(ParseE164Error)
    }
}

impl Serialize for E164 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&["+", &self.0.to_string()].concat())
    }
}

impl<'de> Deserialize<'de> for E164 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Canonical;

        impl Visitor<'_> for Canonical {
            type Value = E164;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a phone number in E.164 form")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<E164, E> {
                text.parse().map_err(E::custom)
            }
        }

        deserializer.deserialize_str(Canonical)
    }
}

/// The smallest number of seven digits.
const SMALLEST: u64 = 1_000_000;

/// The largest number of fifteen digits, the maximum of E.164.
const LARGEST: u64 = 999_999_999_999_999;

/// The minimum number of digits that `Debug` hides.
const HIDDEN: usize = 5;

/// Decides which plan the digits follow, and whether they fit it.
fn interpret(typed: &Typed) -> Option<E164> {
    let digits = typed.digits();
    if typed.has_plus() {
        return international(typed, 0);
    }
    match (digits, digits.len()) {
        ([0, 0, ..], _) => international(typed, 2),
        ([0, ..], _) => national(typed, 1),
        // A bare 44 could start anything, so a number of full length must follow it.
        ([4, 4, 0, ..], 13) | ([4, 4, 1..=9, ..], 12) => international(typed, 0),
        // Spreadsheets drop the leading zero of 07700 900123.
        ([7, ..], 10) => national(typed, 0),
        _ => None,
    }
}

/// Reads a number whose country code starts at `start`.
fn international(typed: &Typed, start: usize) -> Option<E164> {
    let number = typed.digits().get(start..)?;
    if let [4, 4, rest @ ..] = number {
        let trunk_zero = start + 2;
        return match rest {
            [0, subscriber @ ..] if typed.bracketed_zero_only_at(trunk_zero) => uk(subscriber),
            subscriber if typed.bracketed_zero().is_none() => uk(subscriber),
            _ => None,
        };
    }
    let code = country_codes::find(number)?;
    let (country, subscriber) = number.split_at_checked(code.length)?;
    // A zero that belongs to a foreign number (Italy) is written without brackets. A zero in
    // brackets is one that callers from abroad omit.
    let subscriber = match typed.bracketed_zero() {
        None => subscriber,
        Some(at) if at == start + code.length => subscriber.get(1..)?,
        Some(_) => return None,
    };
    if !code.fits(subscriber.len()) {
        return None;
    }
    joined(country, subscriber)
}

/// Reads a UK number in national form, whose significant digits start at `start`.
fn national(typed: &Typed, start: usize) -> Option<E164> {
    let subscriber = typed.digits().get(start..)?;
    // `(0)7700 900123` is fine; a bracketed zero further on is not.
    if start == 1 && typed.bracketed_zero_only_at(0) || typed.bracketed_zero().is_none() {
        uk(subscriber)
    } else {
        None
    }
}

/// The number with these significant digits, if the UK plan has room for it.
fn uk(subscriber: &[u8]) -> Option<E164> {
    if uk_plan::has_room_for(subscriber) { joined(&[4, 4], subscriber) } else { None }
}

fn joined(country: &[u8], subscriber: &[u8]) -> Option<E164> {
    let mut value = 0_u64;
    for &digit in country.iter().chain(subscriber) {
        value = value.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    E164::from_digits(value)
}
