//! Creating and changing keywords: the request, the facts it depends on, and the result.

use super::{Keyword, Listening, Word, check_reply, kept_reply};
use crate::field_error::FieldError;
use crate::idempotency::fingerprint::Fields;
use crate::idempotency::{Answer, Born};
use crate::ids::{AccountId, KeywordId, ListId};
use crate::message::record::Body;
use crate::setters::setters;
use crate::time::Timestamp;
use crate::version::{Changed, IfVersion};

/// A new keyword as given in a request.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeywordInput {
    /// The word, 1 to 20 letters and digits in any case.
    pub keyword: String,
    /// The reply, at most 1,600 characters; `None` or blank for no reply.
    pub reply: Option<String>,
    /// The id of the list to put senders on; `None` for no list.
    pub add_to_list_id: Option<String>,
    /// Whether the keyword matches messages.
    pub listening: Listening,
}

/// A change of a keyword as given in a request. `None` keeps a value.
#[derive(Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct KeywordPatch {
    /// A new word, 1 to 20 letters and digits in any case.
    pub keyword: Option<String>,
    /// A new reply; `Some(None)` or a blank text removes it.
    pub reply: Option<Option<String>>,
    /// The id of a new list; `Some(None)` removes the list.
    pub add_to_list_id: Option<Option<String>>,
    /// Whether the keyword matches messages.
    pub listening: Option<Listening>,
    /// The versions on which the change may be made.
    pub if_version: IfVersion,
}

/// Shows what was given, but neither keyword nor reply.
macro_rules! hide_words {
    ($($name:ident)*) => {$(
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($name))
                    .field("add_to_list_id", &self.add_to_list_id)
                    .field("listening", &self.listening)
                    .finish_non_exhaustive()
            }
        }
    )*};
}
hide_words! { KeywordInput KeywordPatch }

impl KeywordInput {
    /// A keyword that is on, without a reply and without a list.
    pub fn new(keyword: impl Into<String>) -> Self {
        Self {
            keyword: keyword.into(),
            reply: None,
            add_to_list_id: None,
            listening: Listening::On,
        }
    }

    /// Every rule on single fields that the input breaks; empty if it is valid.
    pub fn check(&self) -> Vec<FieldError> {
        check(Some(&self.keyword), self.reply.as_deref())
    }
}

setters! { KeywordInput {
    /// Answers with this reply.
    reply(reply: impl Into<String>) = Some(reply.into());
    /// Puts senders on the list with this id.
    add_to_list_id(id: impl Into<String>) = Some(id.into());
    /// Sets whether the keyword answers.
    listening(listening: Listening) = listening;
} }

impl KeywordPatch {
    /// Every rule on single fields that the patch breaks; empty if it is valid.
    pub fn check(&self) -> Vec<FieldError> {
        let reply = self.reply.as_ref().and_then(Option::as_deref);
        check(self.keyword.as_deref(), reply)
    }
}

setters! { KeywordPatch {
    /// Replaces the word: 1 to 20 letters and digits, in any case.
    keyword(word: impl Into<String>) = Some(word.into());
    /// Replaces the reply; `None` removes it.
    reply(reply: Option<&str>) = Some(reply.map(str::to_owned));
    /// Replaces the list that senders are put on; `None` means no list.
    add_to_list_id(id: Option<&str>) = Some(id.map(str::to_owned));
    /// Sets whether the keyword answers.
    listening(listening: Listening) = Some(listening);
    /// Makes the change on this version only.
    if_version(version: impl Into<IfVersion>) = version.into();
} }

fn check(keyword: Option<&str>, reply: Option<&str>) -> Vec<FieldError> {
    let word = keyword.and_then(|text| text.parse::<Word>().err());
    let word = word.map(|error| FieldError::new("keyword", "invalid_format", error.to_string()));
    word.into_iter().chain(reply.and_then(check_reply)).collect()
}

/// The new values of a keyword, after the checks. `None` keeps a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Values {
    /// The word, in upper case and not a reserved one.
    pub word: Option<Word>,
    /// The reply; `Some(None)` for no reply.
    pub reply: Option<Option<Body>>,
    /// The list; `Some(None)` for no list.
    pub list: Option<Option<ListId>>,
    /// Whether the keyword matches messages.
    pub listening: Option<Listening>,
}

impl Values {
    /// The values of a patch that has passed its checks, with its list looked up.
    pub fn of(patch: KeywordPatch, list: Option<Option<ListId>>) -> Self {
        let KeywordPatch { keyword, reply, add_to_list_id: _, listening, if_version: _ } = patch;
        let word = keyword.and_then(|text| text.parse().ok());
        Self { word, reply: reply.map(kept_reply), list, listening }
    }

    /// Adds the meaning of the values to a fingerprint.
    pub fn meaning(&self, fields: &mut Fields) {
        let Self { word, reply, list, listening } = self;
        fields.add("word", word.as_ref().map(Word::as_str));
        fields.add("reply", reply.iter().flatten().map(Body::as_str));
        fields.add("list", list.iter().flatten().map(ToString::to_string));
        let is_off = listening.is_some_and(|listening| listening == Listening::Off);
        fields.add("off", is_off.then_some(""));
    }

    fn apply(self, keyword: Keyword) -> Keyword {
        let Self { word, reply, list, listening } = self;
        Keyword {
            word: word.unwrap_or(keyword.word),
            reply: reply.unwrap_or(keyword.reply),
            add_to_list_id: list.unwrap_or(keyword.add_to_list_id),
            listening: listening.unwrap_or(keyword.listening),
            ..keyword
        }
    }
}

/// Whether a keyword is created or changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Save {
    /// Creates a keyword with this word.
    Make(Word),
    /// Changes an existing keyword.
    Change,
}

/// Creates or changes a keyword.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavePlan {
    /// The account that the keyword belongs to.
    pub account: AccountId,
    /// The id of the keyword.
    pub id: KeywordId,
    /// Whether to create or to change it.
    pub save: Save,
    /// The values to write; those of a new keyword include its word.
    pub values: Values,
    /// The versions on which a keyword may be changed.
    pub if_version: IfVersion,
    /// When the keyword is created or changed.
    pub at: Timestamp,
}

/// A repetition returns the keyword as it was created.
impl Answer for Keyword {
    type Kept = Born<KeywordId>;

    fn kept(&self) -> Self::Kept {
        Born { id: self.id, at: self.created_at }
    }
}

/// The facts on which the verdict depends, read with the account's address book locked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SaveFacts {
    /// The current keyword; `None` if it does not exist.
    pub current: Option<Keyword>,
    /// The keyword of the account that has the [requested word](SavePlan::word); `None` if the word
    /// is free.
    pub holder: Option<KeywordId>,
    /// The [requested list](SavePlan::list), if the account has it.
    pub list: Option<ListId>,
}

/// Why a keyword was not saved. Nothing was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeywordRefused {
    /// The account has no such keyword.
    #[error("no such keyword")]
    NoSuchKeyword,
    /// The account has no such list.
    #[error("no such list")]
    NoSuchList(ListId),
    /// Another keyword of the account has the word.
    #[error("the account already has this keyword")]
    KeywordExists,
    /// The keyword has another version than the change was made on.
    #[error(transparent)]
    Changed(#[from] Changed),
}

impl SavePlan {
    /// The word that no other keyword of the account may have; `None` if the word does not change.
    pub fn word(&self) -> Option<&Word> {
        match &self.save {
            Save::Make(word) => Some(word),
            Save::Change => self.values.word.as_ref(),
        }
    }

    /// The list that must exist; `None` if there is none.
    pub fn list(&self) -> Option<ListId> {
        self.values.list.flatten()
    }

    /// The keyword with this word as the plan made it, when it was accepted.
    pub(crate) fn made(self, word: Word) -> Keyword {
        let blank = self.blank(word);
        self.values.apply(blank)
    }

    /// The keyword to store. Lists and keywords of the account must not change between reading the
    /// facts and writing the keyword.
    pub fn settle(self, facts: SaveFacts) -> Result<Keyword, KeywordRefused> {
        let SaveFacts { current, holder, list } = facts;
        let before = match (&self.save, current) {
            (Save::Make(word), _) => self.blank(word.clone()),
            (Save::Change, Some(keyword)) => {
                self.if_version.check(&keyword)?;
                Keyword { updated_at: self.at, ..keyword }
            }
            (Save::Change, None) => return Err(KeywordRefused::NoSuchKeyword),
        };
        if let Some(wanted) = self.list()
            && list != Some(wanted)
        {
            return Err(KeywordRefused::NoSuchList(wanted));
        }
        if holder.is_some_and(|holder| holder != self.id) {
            return Err(KeywordRefused::KeywordExists);
        }
        Ok(self.values.apply(before))
    }

    fn blank(&self, word: Word) -> Keyword {
        Keyword {
            id: self.id,
            account: self.account,
            word,
            reply: None,
            add_to_list_id: None,
            listening: Listening::On,
            match_count: 0,
            last_matched_at: None,
            created_at: self.at,
            updated_at: self.at,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::samples::{account_id, now, seconds};

    pub(crate) fn keyword() -> Keyword {
        make("pizza", None).settle(SaveFacts::default()).unwrap()
    }

    fn patch() -> KeywordPatch {
        KeywordPatch::default()
    }

    fn make(word: &str, list: Option<ListId>) -> SavePlan {
        let reply = Some(Some("Yum".to_owned()));
        let values = Values::of(KeywordPatch { reply, ..patch() }, Some(list));
        let save = Save::Make(word.parse().unwrap());
        let (id, if_version) = (KeywordId::from_u128(5), IfVersion::Any);
        SavePlan { account: account_id(), id, save, values, if_version, at: now() }
    }

    #[expect(clippy::option_option, reason = "the form of a change")]
    fn change(patch: KeywordPatch, list: Option<Option<ListId>>) -> SavePlan {
        let values = Values::of(patch, list);
        SavePlan { save: Save::Change, values, at: seconds(5), ..make("x", None) }
    }

    #[test]
    fn words_and_replies_are_accepted_at_the_limit_and_refused_one_past_it() {
        let input = |word: &str, reply: &str| KeywordInput {
            keyword: word.to_owned(),
            reply: Some(reply.to_owned()),
            add_to_list_id: None,
            listening: Listening::On,
        };
        assert_eq!(input(&"x".repeat(20), &"👋".repeat(1_600)).check(), []);
        assert_eq!(input("x", "").check(), []);
        let long = input(&"x".repeat(21), &"👋".repeat(1_601)).check();
        let codes: Vec<_> = long.iter().map(|error| (&*error.field, error.code)).collect();
        assert_eq!(codes, [("keyword", "invalid_format"), ("reply", "too_long")]);
        assert_eq!(patch().check(), []);
        let word = KeywordPatch { keyword: Some("a b".to_owned()), ..patch() };
        assert_eq!(word.check().len(), 1);
        assert!(!format!("{word:?}").contains("a b"));
    }

    #[test]
    fn a_new_keyword_has_no_matches() {
        let made = keyword();
        assert_eq!(
            (made.word.as_str(), made.match_count, made.last_matched_at),
            ("PIZZA", 0, None)
        );
        assert_eq!((made.listening, made.reply), (Listening::On, Some(Body::new("Yum"))));
        assert_eq!((made.created_at, made.updated_at), (now(), now()));
    }

    #[test]
    fn a_change_keeps_the_values_it_does_not_name() {
        let current = Keyword { match_count: 3, ..keyword() };
        let settle = |plan: SavePlan| {
            plan.settle(SaveFacts { current: Some(current.clone()), ..SaveFacts::default() })
        };
        let updated = Keyword { updated_at: seconds(5), ..current.clone() };
        assert_eq!(settle(change(patch(), None)), Ok(updated.clone()));
        let word = KeywordPatch { keyword: Some("pasta".to_owned()), ..patch() };
        let expected = Keyword { word: "PASTA".parse().unwrap(), ..updated.clone() };
        assert_eq!(settle(change(word, None)), Ok(expected));
        let off = KeywordPatch { listening: Some(Listening::Off), reply: Some(None), ..patch() };
        let expected = Keyword { listening: Listening::Off, reply: None, ..updated };
        assert_eq!(settle(change(off, None)), Ok(expected));
    }

    #[test]
    fn a_word_belongs_to_one_keyword_and_a_list_must_exist() {
        let list = ListId::from_u128(7);
        let facts = |holder, list| SaveFacts { current: Some(keyword()), holder, list };
        let other = Some(KeywordId::from_u128(6));
        let own = Some(KeywordId::from_u128(5));
        for (plan, facts, expected) in [
            (make("pizza", None), facts(other, None), Err(KeywordRefused::KeywordExists)),
            (make("pizza", None), facts(None, None), Ok(None)),
            (make("pizza", Some(list)), facts(other, None), Err(KeywordRefused::NoSuchList(list))),
            (make("pizza", Some(list)), facts(None, Some(list)), Ok(Some(list))),
            (change(patch(), Some(Some(list))), facts(own, Some(list)), Ok(Some(list))),
            (
                change(patch(), Some(Some(list))),
                facts(own, None),
                Err(KeywordRefused::NoSuchList(list)),
            ),
            (change(patch(), None), facts(other, None), Err(KeywordRefused::KeywordExists)),
            (change(patch(), None), SaveFacts::default(), Err(KeywordRefused::NoSuchKeyword)),
        ] {
            let saved = plan.clone().settle(facts).map(|keyword| keyword.add_to_list_id);
            assert_eq!(saved, expected, "{plan:?}");
        }
    }
}
