//! Conversations: one for each number that has sent an account a message.
//!
//! A conversation starts with the first inbound message from a number. From then on every message
//! from or to the number, live or test, moves it to the front: conversations are ordered by the id
//! of their newest message. Reading a page scans nothing, because stores update the order and the
//! unread count in the commits that write messages.

use std::fmt;

use crate::contact::filter::ContactSearch;
use crate::contact::saved::Contact;
use crate::ids::ContactId;
use crate::message::record::Message;
use crate::originator::Originator;
use crate::phone::E164;
use crate::setters::setters;
use crate::text::full_name;

pub mod store;

/// One conversation, as a list shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conversation {
    /// The [number](Originator::number) of the other party.
    pub number: E164,
    /// The saved contact with this number now; `None` if there is none.
    pub contact: Option<KnownAs>,
    /// How many of its inbound messages are unread.
    pub unread: u64,
    /// Its newest message, inbound or outbound.
    pub last_message: Message,
}

impl Conversation {
    /// The other party as it is shown.
    pub fn other_party(&self) -> Originator {
        self.last_message.other_party()
    }
}

/// The contact with a number. `Debug` does not show the name.
#[derive(Clone, PartialEq, Eq)]
pub struct KnownAs {
    /// The id of the contact, to read the rest of it by.
    pub id: ContactId,
    /// First and last name, or the one that is set; `None` if neither is.
    pub name: Option<String>,
}

impl KnownAs {
    /// A contact with these names.
    pub fn new(id: ContactId, first_name: Option<&str>, last_name: Option<&str>) -> Self {
        Self { id, name: full_name(first_name, last_name) }
    }
}

impl From<&Contact> for KnownAs {
    fn from(contact: &Contact) -> Self {
        Self { id: contact.id, name: contact.details.full_name() }
    }
}

impl fmt::Debug for KnownAs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KnownAs").field("id", &self.id).field("name", &self.name.is_some()).finish()
    }
}

/// Whether a conversation has unread messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadState {
    /// It has at least one unread message.
    Unread,
    /// It has no unread message.
    Read,
}

/// The conditions that a conversation has to meet, all of them. An empty filter accepts every one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ConversationFilter {
    /// Read or unread; `None` for both.
    pub state: Option<ReadState>,
    /// The number or a part of it, or words of the contact's name; `None` for any.
    pub search: Option<ContactSearch>,
}

impl ConversationFilter {
    /// Whether conversations are looked for among others. A number is looked up, and unread ones
    /// are a list of their own.
    pub fn looks_through(&self) -> bool {
        let Self { state, search } = self;
        match search {
            Some(search) => search.looks_through(),
            None => *state == Some(ReadState::Read),
        }
    }

    /// Whether the conversation with this number meets every condition.
    pub fn accepts(&self, number: E164, contact: Option<&Contact>, unread: u64) -> bool {
        let Self { state, search } = self;
        let is_in_state = match state {
            Some(ReadState::Unread) => unread > 0,
            Some(ReadState::Read) => unread == 0,
            None => true,
        };
        let named = |words: &str| contact.is_some_and(|contact| name_has(contact, words));
        is_in_state
            && match search {
                Some(ContactSearch::Number(wanted)) => number == *wanted,
                Some(ContactSearch::Digits { digits, words }) => {
                    number.digits().to_string().contains(digits) || named(words)
                }
                Some(ContactSearch::Words(words)) => named(words),
                None => true,
            }
    }
}

setters! { ConversationFilter {
    /// Accepts conversations in this state.
    state(state: ReadState) = Some(state);
    /// Accepts conversations that this query finds.
    search(query: &str) = ContactSearch::parse(query);
} }

/// Whether a contact's name contains these words, which are in lower case. The searched text of a
/// contact is the name, a line break, and the email, which has no line break.
fn name_has(contact: &Contact, words: &str) -> bool {
    contact.searched().rsplit_once('\n').is_some_and(|(name, _)| name.contains(words))
}

/// One conversation with its messages.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Thread {
    /// The [number](Originator::number) of the other party.
    pub number: E164,
    /// The saved contact with this number; `None` if there is none.
    pub contact: Option<Contact>,
    /// Whether the number has opted out.
    pub opted_out: bool,
    /// Its newest messages, at most [`Limit::THREAD`](crate::page::Limit::THREAD), in order from
    /// oldest to newest.
    pub messages: Vec<Message>,
}

impl Thread {
    /// The other party as it is shown.
    pub fn other_party(&self) -> Originator {
        self.messages.last().map_or(self.number.into(), Message::other_party)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::Details;
    use crate::samples::{contact, mobile};

    fn named(first: Option<&str>, last: Option<&str>) -> Contact {
        let details = Details {
            first_name: first.map(str::to_owned),
            last_name: last.map(str::to_owned),
            email: Some("ann@example.com".to_owned()),
            ..Details::default()
        };
        Contact { details, ..contact() }
    }

    #[test]
    fn a_contacts_name_is_made_of_the_names_that_are_set() {
        for (first, last, name) in [
            (Some("Ann"), Some("O'Neill"), Some("Ann O'Neill")),
            (Some("Ann"), None, Some("Ann")),
            (None, Some(" O'Neill "), Some("O'Neill")),
            (None, None, None),
        ] {
            let known = KnownAs::from(&named(first, last));
            assert_eq!(known.name.as_deref(), name);
            assert!(!format!("{known:?}").contains("Ann"));
        }
    }

    #[test]
    fn q_finds_numbers_parts_of_them_and_names_but_no_email() {
        let contact = named(Some("Ann"), Some("Nuñez\nJr 42"));
        let wants = |q: &str, contact: Option<&Contact>| {
            let search = ContactSearch::parse(q);
            ConversationFilter { search, state: None }.accepts(mobile(123), contact, 0)
        };
        for (q, by_number, by_name) in [
            ("07700 900123", true, false),
            ("07700 900124", false, false),
            ("0770 09001", true, false),
            ("900 123", true, false),
            ("ann", false, true),
            ("ANN NUÑEZ", false, true),
            ("jr 42", false, true),
            ("42", false, true),
            ("example", false, false),
            (" ", true, true),
        ] {
            assert_eq!(wants(q, None), by_number, "{q}");
            assert_eq!(wants(q, Some(&contact)), by_number || by_name, "{q}");
        }
    }

    #[test]
    fn a_filter_tells_read_from_unread_conversations() {
        let wants = |state, unread| {
            ConversationFilter { state, search: None }.accepts(mobile(1), None, unread)
        };
        for (state, read, unread) in [
            (None, true, true),
            (Some(ReadState::Unread), false, true),
            (Some(ReadState::Read), true, false),
        ] {
            assert_eq!((wants(state, 0), wants(state, 1)), (read, unread), "{state:?}");
        }
    }
}
