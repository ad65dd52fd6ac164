//! Who receives a message: the union of the recipients asked for, in order, each number once.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Serialize, Serializer};

use super::request::SendRequest;
use crate::contact::Contact;
use crate::phone::{E164, PhoneRefused, parse_uk_mobile};
use crate::unknown_name::UnknownName;

/// How many characters a rejection shows of a string that is not a number.
pub const MAX_SHOWN: usize = 100;

/// Why a recipient receives no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RejectionReason {
    /// It is not a phone number.
    InvalidNumber,
    /// The number is outside the UK.
    UnsupportedDestination,
    /// It is a UK number, but not a mobile number.
    NotMobile,
    /// The number occurs earlier in the request.
    Duplicate,
    /// The number has opted out.
    OptedOut,
    /// The text is too long after merging.
    TooLong,
    /// The text is empty after merging.
    EmptyBody,
}

impl RejectionReason {
    /// Every reason, in the order of the specification.
    pub const ALL: [Self; 7] = [
        Self::InvalidNumber,
        Self::UnsupportedDestination,
        Self::NotMobile,
        Self::Duplicate,
        Self::OptedOut,
        Self::TooLong,
        Self::EmptyBody,
    ];

    /// The name used in the API and by stores.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidNumber => "invalid_number",
            Self::UnsupportedDestination => "unsupported_destination",
            Self::NotMobile => "not_mobile",
            Self::Duplicate => "duplicate",
            Self::OptedOut => "opted_out",
            Self::TooLong => "too_long",
            Self::EmptyBody => "empty_body",
        }
    }
}

impl fmt::Display for RejectionReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::str::FromStr for RejectionReason {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        Self::ALL
            .into_iter()
            .find(|reason| reason.as_str() == text)
            .ok_or(UnknownName::of("rejection reason"))
    }
}

impl Serialize for RejectionReason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// A recipient that receives no message. `Debug` does not show the number.
#[derive(Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Rejection {
    /// The number in E.164 if it could be parsed, else the string as given, cut to its first
    /// [`MAX_SHOWN`] characters.
    pub to: String,
    /// The reason for the rejection.
    pub reason: RejectionReason,
}

impl fmt::Debug for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rejection({})", self.reason)
    }
}

impl Rejection {
    /// A rejection of a number that could be parsed.
    pub fn of(number: E164, reason: RejectionReason) -> Self {
        Self { to: number.to_string(), reason }
    }

    /// A rejection of a recipient as it was given, cut to its first [`MAX_SHOWN`] characters.
    pub fn as_given(text: &str, reason: RejectionReason) -> Self {
        Self { to: text.chars().take(MAX_SHOWN).collect(), reason }
    }
}

/// One entry of the union, in the order of the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Candidate {
    /// A valid number, at its first occurrence in the request.
    Number(E164),
    /// A recipient that receives no message.
    Rejected(Rejection),
}

/// The union of a request's recipients.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Recipients {
    /// Its entries, in the order of the request.
    pub candidates: Vec<Candidate>,
    /// The contacts among the numbers.
    contacts: BTreeMap<E164, Contact>,
    seen: BTreeSet<E164>,
}

impl Recipients {
    /// Parses the numbers that a request names.
    pub fn of(request: &SendRequest) -> Self {
        let mut seen = BTreeSet::new();
        let candidates = request.numbers().map(|text| candidate(text, &mut seen)).collect();
        Self { candidates, contacts: BTreeMap::new(), seen }
    }

    /// Records that this contact has a number of the request.
    pub fn know(&mut self, contact: Contact) {
        self.contacts.insert(contact.phone, contact);
    }

    /// Adds a contact, as a duplicate if its number occurs earlier.
    pub fn add(&mut self, contact: Contact) {
        let number = contact.phone;
        let candidate = if self.seen.insert(number) {
            Candidate::Number(number)
        } else {
            Candidate::Rejected(Rejection::of(number, RejectionReason::Duplicate))
        };
        self.candidates.push(candidate);
        self.know(contact);
    }

    /// The contact with this number, if it is known.
    pub fn contact(&self, number: E164) -> Option<&Contact> {
        self.contacts.get(&number)
    }

    /// The valid numbers, in order, each once.
    pub fn numbers(&self) -> impl Iterator<Item = E164> {
        self.candidates.iter().filter_map(|candidate| match candidate {
            Candidate::Number(number) => Some(*number),
            Candidate::Rejected(_) => None,
        })
    }

    /// How many different numbers were asked for, including rejected ones.
    pub fn distinct(&self) -> usize {
        let is_number = |candidate: &&Candidate| match candidate {
            Candidate::Number(_) => true,
            Candidate::Rejected(rejection) => !matches!(
                rejection.reason,
                RejectionReason::Duplicate | RejectionReason::InvalidNumber
            ),
        };
        self.candidates.iter().filter(is_number).count()
    }
}

fn candidate(text: &str, seen: &mut BTreeSet<E164>) -> Candidate {
    let parsed = parse_uk_mobile(text);
    let number = match &parsed {
        Ok(number) => Some(*number),
        Err(refused) => refused.number(),
    };
    if let Some(number) = number
        && !seen.insert(number)
    {
        return Candidate::Rejected(Rejection::of(number, RejectionReason::Duplicate));
    }
    let rejection = match parsed {
        Ok(number) => return Candidate::Number(number),
        Err(PhoneRefused::NotMobile(number)) => Rejection::of(number, RejectionReason::NotMobile),
        Err(PhoneRefused::UnsupportedDestination(number)) => {
            Rejection::of(number, RejectionReason::UnsupportedDestination)
        }
        Err(PhoneRefused::Invalid) => Rejection::as_given(text, RejectionReason::InvalidNumber),
    };
    Candidate::Rejected(rejection)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_is_a_recipient_once_and_every_other_entry_says_why_not() {
        let request = SendRequest::new("x")
            .to("07700 900124, 07700 900123\n+44 7700 900123; 020 7946 0000, 02079460000, \
             +33 6 12 34 56 78, 0770090012, 0770090012");
        let recipients = Recipients::of(&request);
        let shown: Vec<(String, String)> = recipients
            .candidates
            .iter()
            .map(|candidate| match candidate {
                Candidate::Number(number) => (number.to_string(), "ok".to_owned()),
                Candidate::Rejected(rejection) => {
                    (rejection.to.clone(), rejection.reason.to_string())
                }
            })
            .collect();
        let shown: Vec<(&str, &str)> = shown.iter().map(|(a, b)| (&**a, &**b)).collect();
        assert_eq!(
            shown,
            [
                ("+447700900124", "ok"),
                ("+447700900123", "ok"),
                ("+447700900123", "duplicate"),
                ("+442079460000", "not_mobile"),
                ("+442079460000", "duplicate"),
                ("+33612345678", "unsupported_destination"),
                ("0770090012", "invalid_number"),
                ("0770090012", "invalid_number"),
            ]
        );
        assert_eq!(recipients.distinct(), 4, "a string that is no number is not counted");
    }

    #[test]
    fn a_string_that_is_no_number_is_shown_up_to_its_first_100_characters() {
        for (given, shown) in [
            ("é".repeat(100), "é".repeat(100)),
            ("é".repeat(101), "é".repeat(100)),
            (format!("{}x", "9".repeat(5_000)), "9".repeat(100)),
        ] {
            let recipients = Recipients::of(&SendRequest::new("x").to(given));
            let expected = Rejection { to: shown, reason: RejectionReason::InvalidNumber };
            assert_eq!(recipients.candidates, [Candidate::Rejected(expected)]);
        }
    }

    #[test]
    fn reasons_are_the_specifications_in_its_order_and_read_back() {
        let names = RejectionReason::ALL.map(RejectionReason::as_str).join(" ");
        assert_eq!(
            names,
            "invalid_number unsupported_destination not_mobile duplicate opted_out too_long \
             empty_body"
        );
        for reason in RejectionReason::ALL {
            assert_eq!(reason.as_str().parse(), Ok(reason));
        }
    }

    #[test]
    fn a_rejection_is_to_and_reason_in_json_and_debug_does_not_show_who() {
        let number = "+447700900123".parse().unwrap();
        let rejection = Rejection::of(number, RejectionReason::OptedOut);
        let json = r#"{"to":"+447700900123","reason":"opted_out"}"#;
        assert_eq!(serde_json::to_string(&rejection).unwrap(), json);
        assert!(!format!("{rejection:?}").contains("7700"));
    }

    #[test]
    fn contacts_come_after_numbers_in_their_order_and_each_number_once() {
        use crate::ids::ContactId;
        use crate::samples::{contact, mobile};

        let numbered =
            |n: u64| Contact { id: ContactId::from_u128(n.into()), phone: mobile(n), ..contact() };
        let mut recipients = Recipients::of(&SendRequest::new("x").to("07700 900003, nobody"));
        for n in [5, 3, 4, 5] {
            recipients.add(numbered(n));
        }
        let duplicate =
            |n| Candidate::Rejected(Rejection::of(mobile(n), RejectionReason::Duplicate));
        let number = |n| Candidate::Number(mobile(n));
        let entries = &recipients.candidates;
        assert_eq!(entries[0], number(3));
        assert_eq!(entries[2..], [number(5), duplicate(3), number(4), duplicate(5)]);
        assert_eq!(recipients.distinct(), 3);
        assert_eq!(recipients.contact(mobile(3)), Some(&numbered(3)), "also a number of `to`");
        assert_eq!(recipients.contact(mobile(6)), None);
    }

    #[test]
    fn every_further_occurrence_of_a_number_is_a_duplicate_however_it_is_written() {
        let request = SendRequest::new("x").to("07700 900123, 447700900123").to("(07700) 900123");
        let recipients = Recipients::of(&request);
        assert_eq!(recipients.numbers().count(), 1);
        assert_eq!((recipients.candidates.len(), recipients.distinct()), (3, 1));
    }
}
