//! Which contacts a list query returns.

use super::saved::Contact;
use crate::ids::ListId;
use crate::phone::{E164, parse_any};
use crate::setters::setters;

/// The minimum number of digits for a search in numbers.
const FEWEST_DIGITS: usize = 3;

/// Conditions that a contact must meet, all of them. The default accepts every contact.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ContactFilter {
    /// The list that the contact must be on; `None` for any.
    pub list_id: Option<ListId>,
    /// What to search for; `None` for no search.
    pub search: Option<ContactSearch>,
}

setters! { ContactFilter {
    /// Accepts contacts on this list.
    list_id(list: ListId) = Some(list);
    /// Accepts contacts that this query finds.
    search(query: &str) = ContactSearch::parse(query);
} }

/// What the query parameter `q` searches for.
#[derive(Clone, PartialEq, Eq)]
pub enum ContactSearch {
    /// A complete number in any common format: finds only the contact that has it.
    Number(E164),
    /// Part of a number, or words that look like one.
    Digits {
        /// Digits that the number in E.164 must contain.
        digits: String,
        /// The query in lower case, to search for in names and email as well.
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

impl ContactFilter {
    /// Whether its search, if it has one, finds this contact.
    pub fn finds(&self, contact: &Contact) -> bool {
        self.search.as_ref().is_none_or(|search| search.finds(contact))
    }

    /// Whether contacts are looked for among others.
    pub fn looks_through(&self) -> bool {
        self.search.as_ref().is_some_and(ContactSearch::looks_through)
    }
}

impl ContactSearch {
    /// Whether it has to look through all contacts. A number is looked up.
    pub fn looks_through(&self) -> bool {
        match self {
            Self::Number(_) => false,
            Self::Digits { .. } | Self::Words(_) => true,
        }
    }

    /// Reads `q` as a number in any format, otherwise as part of a number, otherwise as words;
    /// `None` if it is blank.
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
        // National (0…) and international (00…) prefixes do not occur in E.164.
        let digits = digits.trim_start_matches('0');
        if like_a_number && digits.len() >= FEWEST_DIGITS {
            return Some(Self::Digits { digits: digits.to_owned(), words });
        }
        Some(Self::Words(words))
    }

    /// Whether the search finds this contact.
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
