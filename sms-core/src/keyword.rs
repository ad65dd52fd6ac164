//! Keywords: words that people text to an account to get a reply and to join a list.
//!
//! [`reply`] has what a match triggers and the guard against loops; [`reply_limit`] has how many
//! replies an account sends; [`save`] has how keywords are created and changed.

use std::fmt;
use std::str::FromStr;

use crate::field_error::FieldError;
use crate::ids::{AccountId, KeywordId, ListId};
use crate::message::record::Body;
use crate::text::blank::is_blank;
use crate::text::length::MAX_CHARACTERS;
use crate::text::stop_words::{StopWord, first_word, stop_word};
use crate::time::Timestamp;
use crate::version::{Version, Versioned};

pub mod reply;
pub mod reply_limit;
pub mod save;
pub mod store;

/// The maximum length of a keyword, in characters.
pub const MAX_WORD: usize = 20;
/// The maximum length of a reply, in characters.
pub const MAX_REPLY: usize = MAX_CHARACTERS;

/// A keyword's word: 1 to 20 of `A-Z` and `0-9`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Word(String);

/// The text cannot be a keyword.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a keyword has 1 to 20 characters, each a letter from A to Z or a digit")]
pub struct NotAWord;

impl Word {
    /// The word in upper case, as it is kept and shown.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The word of an inbound message that may be a keyword: its first word, unless that opts the
    /// sender out or in regardless of keywords.
    pub fn of_text(body: &str) -> Option<Self> {
        match stop_word(body, |_| true) {
            Some(StopWord::OptOut | StopWord::OptIn) => None,
            None => first_word(body).parse().ok(),
        }
    }
}

impl FromStr for Word {
    type Err = NotAWord;

    fn from_str(text: &str) -> Result<Self, NotAWord> {
        let is_word = (1..=MAX_WORD).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if is_word { Ok(Self(text.to_ascii_uppercase())) } else { Err(NotAWord) }
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Word({} characters)", self.0.len())
    }
}

/// Whether a keyword matches messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listening {
    /// Messages that start with the word match.
    On,
    /// The keyword is kept but matches no message.
    Off,
}

/// A word that people text to an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keyword {
    /// The id of the keyword.
    pub id: KeywordId,
    /// The account that the keyword belongs to.
    pub account: AccountId,
    /// The word. No other keyword of the account has it.
    pub word: Word,
    /// The reply with its merge fields; `None` to send no reply.
    pub reply: Option<Body>,
    /// The list to put the sender on; `None` for no list.
    pub add_to_list_id: Option<ListId>,
    /// Whether the keyword matches messages.
    pub listening: Listening,
    /// The exact number of messages that have matched.
    pub match_count: u64,
    /// When a message last matched; `None` if never.
    pub last_matched_at: Option<Timestamp>,
    /// When the keyword was created.
    pub created_at: Timestamp,
    /// When the account last changed the keyword. A match does not count as a change.
    pub updated_at: Timestamp,
}

/// Word, reply, list and whether it listens, but no matches.
impl Versioned for Keyword {
    const KIND: &'static str = "keyword";

    fn version(&self) -> Version {
        let Self { id, account: _, word, reply, add_to_list_id, listening, .. } = self;
        Version::of(Self::KIND, id, |fields| {
            fields.add("word", [word.as_str()]);
            fields.add("reply", reply.as_ref().map(Body::as_str));
            fields.add("list", add_to_list_id.map(|id| id.to_string()));
            fields.add("off", (*listening == Listening::Off).then_some(""));
        })
    }
}

impl Keyword {
    /// The keyword after another match at `at`.
    #[must_use]
    pub fn matched(mut self, at: Timestamp) -> Self {
        self.match_count += 1;
        self.last_matched_at = self.last_matched_at.max(Some(at));
        self
    }
}

/// The rule that a reply breaks, if any.
fn check_reply(reply: &str) -> Option<FieldError> {
    FieldError::of_text("reply", reply, 0..=MAX_REPLY)
}

/// A reply as it is stored; a blank reply becomes `None`.
fn kept_reply(reply: Option<String>) -> Option<Body> {
    reply.filter(|reply| !is_blank(reply)).map(Body::new)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::RESERVED_WORDS;

    #[test]
    fn a_word_has_1_to_20_letters_and_digits_in_upper_case() {
        for text in ["a", "Pizza", "2for1", &"x".repeat(20)] {
            let word: Word = text.parse().unwrap();
            assert_eq!(word.as_str(), text.to_uppercase());
            assert_eq!(word.to_string(), word.as_str());
            assert!(!format!("{word:?}").contains(word.as_str()) || text == "a");
        }
        for text in ["", " ", "a b", "a-b", "café", "ß", "a\0", &"x".repeat(21)] {
            assert_eq!(text.parse::<Word>(), Err(NotAWord), "{text}");
        }
    }

    #[test]
    fn the_first_word_of_a_message_may_be_a_keyword_unless_it_is_a_stop_word() {
        for (body, word) in [
            ("pizza", Some("PIZZA")),
            ("  \"Pizza!\" for two", Some("PIZZA")),
            ("piz-za", Some("PIZZA")),
            ("revoke", Some("REVOKE")),
            ("remove me", Some("REMOVE")),
            ("opt in", Some("OPT")),
            ("opt out", None),
            ("café", None),
            ("?!", None),
            ("", None),
        ] {
            assert_eq!(Word::of_text(body).as_ref().map(Word::as_str), word, "{body}");
        }
        for word in RESERVED_WORDS {
            assert_eq!(Word::of_text(word), None, "{word}");
        }
    }

    #[test]
    fn a_match_is_counted_and_never_moves_the_last_match_back() {
        use crate::samples::{millis, now};
        let keyword = save::tests::keyword().matched(now()).matched(millis(-5));
        assert_eq!((keyword.match_count, keyword.last_matched_at), (2, Some(now())));
        assert_eq!(keyword.matched(millis(5)).last_matched_at, Some(millis(5)));
    }

    #[test]
    fn a_blank_reply_is_none() {
        for reply in ["", " ", "\n\u{200b}"] {
            assert_eq!(kept_reply(Some(reply.to_owned())), None);
        }
        assert_eq!(kept_reply(Some(" x ".to_owned())), Some(Body::new(" x ")));
    }

    proptest! {
        #[test]
        fn case_and_punctuation_around_a_keyword_do_not_matter(
            word in "[A-Za-z0-9]{1,20}",
            before in "[ \t\n!\"#*(,.:;?-]{0,4}",
            after in "[ \t\n!\"#*(),:;?]{1,4}[a-z ]{0,9}",
        ) {
            prop_assume!(stop_word(&word, |_| true).is_none() && !word.eq_ignore_ascii_case("OPT"));
            let found = Word::of_text(&format!("{before}{word}{after}"));
            prop_assert_eq!(found, Some(word.parse::<Word>().unwrap()));
        }
    }
}
