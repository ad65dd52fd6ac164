//! Which contacts a list wants.

use super::Contact;
use crate::ids::ListId;
use crate::phone::{E164, parse_any};

/// The fewest digits that are looked for in numbers.
const FEWEST_DIGITS: usize = 3;

/// Questions that a contact has to answer with yes, all of them. Empty wants every contact.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ContactFilter {
    /// The list it is on.
    pub list_id: Option<ListId>,
    /// A number, or words in names and email.
    pub search: Option<ContactSearch>,
}

/// What `q` looks for.
#[derive(Clone, PartialEq, Eq)]
pub enum ContactSearch {
    /// The number, whole.
    Number(E164),
    /// A part of a number, or words that look like one.
    Digits {
        /// What the digits of E.164 shall hold.
        digits: String,
        /// What else is looked for, in lower case.
        words: String,
    },
    /// Words in names and email, in lower case.
    Words(String),
}

impl std::fmt::Debug for ContactSearch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Number(_) => "Number(…)",
            Self::Digits { .. } => "Digits(…)",
            Self::Words(_) => "Words(…)",
        })
    }
}

impl ContactSearch {
    /// A number in any format, else a part of one, else words; nothing when `q` is blank.
    pub fn parse(q: &str) -> Option<Self> {
        let q = q.trim();
        if q.is_empty() {
            return None;
        }
        if let Ok(number) = parse_any(q) {
            return Some(Self::Number(number));
        }
        let words = q.to_lowercase();
        let like_a_number = q.chars().all(|c| c.is_ascii_digit() || " +-().".contains(c));
        let digits: String = q.chars().filter(char::is_ascii_digit).collect();
        // As typed at home (0…) or abroad (00…): E.164 has neither.
        let digits = digits.trim_start_matches('0');
        if like_a_number && digits.len() >= FEWEST_DIGITS {
            return Some(Self::Digits { digits: digits.to_owned(), words });
        }
        Some(Self::Words(words))
    }

    /// Whether the contact is one of those looked for.
    pub fn finds(&self, contact: &Contact) -> bool {
        match self {
            Self::Number(number) => contact.phone == *number,
            Self::Digits { digits, words } => {
                contact.phone.digits().to_string().contains(digits)
                    || contact.searched().contains(words)
            }
            Self::Words(words) => contact.searched().contains(words),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::Details;
    use crate::samples::contact;

    #[test]
    fn q_finds_numbers_names_and_email() {
        let some = |text: &str| Some(text.to_owned());
        let details = Details {
            first_name: some("Änne"),
            last_name: some("O'Neill 42nd"),
            email: some("Anne@Example.com"),
            notes: some("allergic"),
            ..Details::default()
        };
        let contact = Contact { details, ..contact() };
        for (q, found) in [
            ("07700 900123", true),
            ("+44 7700 900123", true),
            ("07700 900124", false),
            ("07700", true),
            ("0770 09001", true),
            ("900 123", true),
            ("901", false),
            ("42", true),
            ("12", false),
            ("änne o'neill", true),
            ("NEILL", true),
            ("anne@example", true),
            ("e.c", true),
            ("allergic", false),
            ("%", false),
            ("_", false),
        ] {
            let search = ContactSearch::parse(q).unwrap();
            assert_eq!(search.finds(&contact), found, "{q}");
            assert!(!format!("{search:?}").contains(q));
        }
        assert_eq!(ContactSearch::parse("  "), None);
    }
}
