//! Source and destination addresses, with their type of number (TON) and numbering plan (NPI).

use std::fmt;
use std::sync::Arc;

use sms_core::originator::Originator;
use sms_core::phone::{E164, parse_any};

/// Digits that may be a short code or, with a country code, a number are the former up to this
/// length, unless they are marked as international.
const LONGEST_SHORT_CODE: usize = 7;

/// The type of number, TON (5.2.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ton(pub u8);

impl Ton {
    /// Unknown: the SMSC decides what the text is.
    pub const UNKNOWN: Self = Self(0);
    /// An international number: country code first, no `+`.
    pub const INTERNATIONAL: Self = Self(1);
    /// A national number: no country code.
    pub const NATIONAL: Self = Self(2);
    /// A sender name: characters instead of the digits of a number.
    pub const ALPHANUMERIC: Self = Self(5);
}

/// The numbering plan indicator, NPI (5.2.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Npi(pub u8);

impl Npi {
    /// Unknown: the plan of a sender name.
    pub const UNKNOWN: Self = Self(0);
    /// Telephone numbers (ISDN, E.163 and E.164).
    pub const TELEPHONE: Self = Self(1);
}

/// An address as it stands in a PDU.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Address {
    /// Its type of number.
    pub ton: Ton,
    /// Its numbering plan; [`Npi::UNKNOWN`] for a sender name.
    pub npi: Npi,
    /// Its digits or characters.
    pub text: Arc<str>,
}

impl Address {
    /// The address of a phone number: international, digits without the `+`.
    pub fn number(number: E164) -> Self {
        let text = number.digits().to_string().into();
        Self { ton: Ton::INTERNATIONAL, npi: Npi::TELEPHONE, text }
    }

    /// The address of a sender name: alphanumeric.
    pub fn name(name: &str) -> Self {
        Self { ton: Ton::ALPHANUMERIC, npi: Npi::UNKNOWN, text: name.into() }
    }

    /// The address as a phone number, or `None` for a name or a short code.
    ///
    /// SMSCs use the types loosely: an international number may start with `+` or `00`, and a
    /// national one may have its country code. Up to seven digits alone are a short code, unless
    /// their type is international.
    pub fn to_number(&self) -> Option<E164> {
        let is_digits = self.text.bytes().all(|octet| octet.is_ascii_digit());
        if self.ton == Ton::ALPHANUMERIC && !is_digits {
            return None;
        }
        let with_plus = || parse_any(&format!("+{}", self.text)).ok();
        let may_be_international = match self.ton {
            Ton::INTERNATIONAL => true,
            Ton::NATIONAL => false,
            _ => self.text.len() > LONGEST_SHORT_CODE,
        };
        let as_international = if is_digits && may_be_international { with_plus() } else { None };
        as_international.or_else(|| parse_any(&self.text).ok())
    }

    /// Who a message with this source came from: a number, else a short code or a name; `None` for
    /// what cannot be a name either.
    pub fn to_originator(&self) -> Option<Originator> {
        self.to_number().map_or_else(|| Originator::parse(&self.text).ok(), |it| Some(it.into()))
    }
}

impl fmt::Debug for Address {
    /// Leaves out the digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({}, {}, ..)", self.ton.0, self.npi.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_have_their_type_and_plan() {
        let number = Address::number(parse_any("07700 900123").unwrap());
        assert_eq!((number.ton.0, number.npi.0, &*number.text), (1, 1, "447700900123"));
        let name = Address::name("Bistro");
        assert_eq!((name.ton.0, name.npi.0, &*name.text), (5, 0, "Bistro"));
    }

    #[test]
    fn a_number_is_parsed_in_every_form_that_smscs_use() {
        for (ton, text) in [
            (1, "447700900123"),
            (1, "+447700900123"),
            (1, "00447700900123"),
            (0, "447700900123"),
            (0, "07700900123"),
            (2, "07700900123"),
            (2, "7700900123"),
            (2, "447700900123"),
            (5, "447700900123"),
        ] {
            let address = Address { ton: Ton(ton), npi: Npi::TELEPHONE, text: text.into() };
            let found = address.to_number().map(|number| number.to_string());
            assert_eq!(found.as_deref(), Some("+447700900123"), "{ton} {text}");
        }
        let foreign = Address { ton: Ton(1), npi: Npi(1), text: "33612345678".into() };
        assert_eq!(foreign.to_number().map(|n| n.to_string()).as_deref(), Some("+33612345678"));
    }

    #[test]
    fn names_and_short_codes_are_not_phone_numbers() {
        for (ton, text) in [
            (5, "Bistro"),
            (5, "44a"),
            (3, "60300"),
            (0, "60300"),
            // Niue, if it were marked as international.
            (6, "6834000"),
            (0, "6834000"),
            (2, "33612345678"),
            (1, "0"),
        ] {
            let address = Address { ton: Ton(ton), npi: Npi::UNKNOWN, text: text.into() };
            assert_eq!(address.to_number(), None, "{text}");
            let originator = address.to_originator().unwrap();
            assert_eq!(originator.name(), Some(text), "{text}");
        }
        let niue = Address { ton: Ton(1), npi: Npi(1), text: "6834000".into() };
        assert_eq!(niue.to_originator().map(|it| it.to_string()).as_deref(), Some("+6834000"));
    }

    #[test]
    fn an_address_that_shows_nothing_or_is_too_long_is_nobodys() {
        for text in ["", " ", "AC\u{7}ME", "123456789012345678901"] {
            let address = Address { text: text.into(), ..Address::name("") };
            assert_eq!(address.to_originator(), None, "{text:?}");
        }
    }

    #[test]
    fn debug_output_of_an_address_shows_no_digits() {
        let number = Address::number(parse_any("07700 900123").unwrap());
        assert!(!format!("{number:?}").contains("900123"));
    }
}
