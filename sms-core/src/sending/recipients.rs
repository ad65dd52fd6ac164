//! Who receives a message: the union of the recipients asked for, in order, each number once.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Serialize, Serializer};

use super::request::SendRequest;
use crate::contact::saved::Contact;
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
    /// The same, of a saved contact.
    Contact(Box<Contact>),
    /// A recipient that receives no message.
    Rejected(Rejection),
}

impl Candidate {
    /// The number that may receive a message; `None` for a rejected recipient.
    pub fn number(&self) -> Option<E164> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Contact(contact) => Some(contact.phone),
            Self::Rejected(_) => None,
        }
    }
}

/// The union of a request's recipients. A long one is planned page by page:
/// [`Recipients::take_page`] takes the entries that were added since the last page.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Recipients {
    /// The entries of this page, in the order of the request.
    page: Vec<Candidate>,
    /// Where the numbers are on the page.
    places: BTreeMap<E164, usize>,
    /// The numbers of all pages.
    seen: BTreeSet<E164>,
    distinct: usize,
}

impl Recipients {
    /// Parses the numbers that a request names.
    pub fn of(request: &SendRequest) -> Self {
        let mut recipients = Self::default();
        for text in request.numbers() {
            let candidate = candidate(text, &mut recipients.seen);
            recipients.push(candidate);
        }
        recipients
    }

    /// Records that this contact has a number of this page.
    pub fn know(&mut self, contact: Contact) {
        let place = self.places.get(&contact.phone).copied();
        if let Some(entry) = place.and_then(|place| self.page.get_mut(place))
            && let Candidate::Number(_) = entry
        {
            *entry = Candidate::Contact(Box::new(contact));
        }
    }

    /// Adds a contact, as a duplicate if its number occurs earlier.
    pub fn add(&mut self, contact: Contact) {
        let number = contact.phone;
        if self.seen.insert(number) {
            self.push(Candidate::Contact(Box::new(contact)));
        } else {
            self.know(contact);
            let rejection = Rejection::of(number, RejectionReason::Duplicate);
            self.push(Candidate::Rejected(rejection));
        }
    }

    /// Rejects those numbers of this page that have opted out.
    pub fn reject_opted_out(&mut self, opted_out: &BTreeSet<E164>) {
        for number in opted_out {
            let place = self.places.remove(number);
            if let Some(entry) = place.and_then(|place| self.page.get_mut(place)) {
                let rejection = Rejection::of(*number, RejectionReason::OptedOut);
                *entry = Candidate::Rejected(rejection);
            }
        }
    }

    /// The valid numbers of this page, in order, each once.
    pub fn numbers(&self) -> impl Iterator<Item = E164> {
        self.page.iter().filter_map(Candidate::number)
    }

    /// How many different numbers were asked for on all pages, including rejected ones.
    pub fn distinct(&self) -> usize {
        self.distinct
    }

    /// Takes this page and begins the next one.
    pub fn take_page(&mut self) -> Vec<Candidate> {
        self.places.clear();
        std::mem::take(&mut self.page)
    }

    fn push(&mut self, candidate: Candidate) {
        let reason = match &candidate {
            Candidate::Rejected(rejection) => Some(rejection.reason),
            Candidate::Number(_) | Candidate::Contact(_) => None,
        };
        let repeats = [RejectionReason::Duplicate, RejectionReason::InvalidNumber];
        if reason.is_none_or(|reason| !repeats.contains(&reason)) {
            self.distinct += 1;
        }
        if let Some(number) = candidate.number() {
            self.places.insert(number, self.page.len());
        }
        self.page.push(candidate);
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
            .page
            .iter()
            .map(|candidate| match candidate {
                Candidate::Number(number) => (number.to_string(), "ok".to_owned()),
                Candidate::Contact(_) => panic!("no contact is known"),
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
            assert_eq!(recipients.page, [Candidate::Rejected(expected)]);
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
        let known = |n| Candidate::Contact(Box::new(numbered(n)));
        assert_eq!(recipients.distinct(), 3);
        let entries = recipients.take_page();
        assert_eq!(entries[0], known(3), "also a number of `to`");
        assert_eq!(entries[2..], [known(5), duplicate(3), known(4), duplicate(5)]);
    }

    #[test]
    fn a_number_of_an_earlier_page_is_a_duplicate_on_the_next() {
        use crate::samples::{contact, mobile};

        let numbered = |n| Contact { phone: mobile(n), ..contact() };
        let mut recipients = Recipients::of(&SendRequest::new("x").to("07700 900003"));
        recipients.add(numbered(4));
        assert_eq!(recipients.take_page().len(), 2);
        recipients.add(numbered(3));
        recipients.add(numbered(5));
        let duplicate = Rejection::of(mobile(3), RejectionReason::Duplicate);
        let known = Candidate::Contact(Box::new(numbered(5)));
        assert_eq!(recipients.take_page(), [Candidate::Rejected(duplicate), known]);
        assert_eq!(recipients.distinct(), 3);
    }

    #[test]
    fn numbers_that_opted_out_are_rejected_where_they_stand() {
        use crate::samples::mobile;

        let mut recipients =
            Recipients::of(&SendRequest::new("x").to("07700 900003, 07700 900004"));
        recipients.reject_opted_out(&BTreeSet::from([mobile(3), mobile(9)]));
        let rejection = Rejection::of(mobile(3), RejectionReason::OptedOut);
        assert_eq!(recipients.distinct(), 2);
        let expected = [Candidate::Rejected(rejection), Candidate::Number(mobile(4))];
        assert_eq!(recipients.take_page(), expected);
    }

    #[test]
    fn every_further_occurrence_of_a_number_is_a_duplicate_however_it_is_written() {
        let request = SendRequest::new("x").to("07700 900123, 447700900123").to("(07700) 900123");
        let recipients = Recipients::of(&request);
        assert_eq!(recipients.numbers().count(), 1);
        assert_eq!((recipients.page.len(), recipients.distinct()), (3, 1));
    }
}
