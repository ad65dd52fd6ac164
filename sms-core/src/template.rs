//! Templates: texts that an account keeps under a name, to be sent by their id.
//!
//! What is in their braces is read when they are sent, as in any body: see [`crate::text`].

use std::fmt;
use std::ops::RangeInclusive;

use crate::error::FieldError;
use crate::ids::{AccountId, TemplateId};
use crate::message::Body;
use crate::text::MAX_CHARACTERS;
use crate::time::Timestamp;

pub mod store;

/// How many characters a template's name may have.
pub const NAME_CHARACTERS: RangeInclusive<usize> = 1..=200;
/// How many characters its body may have.
pub const BODY_CHARACTERS: RangeInclusive<usize> = 1..=MAX_CHARACTERS;

/// A text kept under a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// Its id.
    pub id: TemplateId,
    /// Whose it is.
    pub account: AccountId,
    /// What its owner calls it; several may be called the same.
    pub name: String,
    /// Its words, with merge fields.
    pub body: Body,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
}

/// What a new template shall be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateInput {
    /// What its owner calls it.
    pub name: String,
    /// Its words.
    pub body: Body,
}

impl TemplateInput {
    /// Every rule about single fields that it breaks.
    pub fn check(&self) -> Vec<FieldError> {
        let Self { name, body } = self;
        check(Some(name), Some(body.as_str()))
    }

    /// The template as it is made.
    pub fn into_template(self, id: TemplateId, account: AccountId, at: Timestamp) -> Template {
        let Self { name, body } = self;
        Template { id, account, name, body, created_at: at, updated_at: at }
    }
}

/// What a template's owner wants changed; what is `None` stays.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TemplateChange {
    /// A new name.
    pub name: Option<String>,
    /// New words.
    pub body: Option<Body>,
}

impl TemplateChange {
    /// Every rule about single fields that it breaks.
    pub fn check(&self) -> Vec<FieldError> {
        let Self { name, body } = self;
        check(name.as_deref(), body.as_ref().map(Body::as_str))
    }

    /// The template as it is after the change.
    #[must_use]
    pub fn apply(self, template: Template, at: Timestamp) -> Template {
        let Self { name, body } = self;
        Template {
            name: name.unwrap_or(template.name),
            body: body.unwrap_or(template.body),
            updated_at: at,
            ..template
        }
    }
}

fn check(name: Option<&str>, body: Option<&str>) -> Vec<FieldError> {
    let name = name.and_then(|name| FieldError::of_text("name", name, NAME_CHARACTERS));
    let body = body.and_then(|body| FieldError::of_text("body", body, BODY_CHARACTERS));
    name.into_iter().chain(body).collect()
}

/// Words that a list of templates looks for in names and bodies, whatever their case.
#[derive(Clone, PartialEq, Eq)]
pub struct TemplateSearch(String);

impl TemplateSearch {
    /// The words of a `q`; nothing when it is blank.
    pub fn parse(q: &str) -> Option<Self> {
        let words = q.trim().to_lowercase();
        if words.is_empty() { None } else { Some(Self(words)) }
    }

    /// The words in lower case.
    pub fn words(&self) -> &str {
        &self.0
    }

    /// Whether the template is one of those looked for.
    pub fn finds(&self, template: &Template) -> bool {
        [template.name.as_str(), template.body.as_str()]
            .iter()
            .any(|text| text.to_lowercase().contains(&self.0))
    }
}

impl fmt::Debug for TemplateSearch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TemplateSearch(…)")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::samples::{account_id, now, seconds};

    fn input(name: &str, body: &str) -> TemplateInput {
        TemplateInput { name: name.to_owned(), body: Body::new(body) }
    }

    fn template() -> Template {
        input("Table", "Hello {first_name}, Straße 5").into_template(
            TemplateId::from_u128(1),
            account_id(),
            seconds(-60),
        )
    }

    fn named(errors: Vec<FieldError>) -> Vec<(String, &'static str)> {
        errors.into_iter().map(|error| (error.field, error.code)).collect()
    }

    #[test]
    fn name_and_body_hold_at_the_limit_and_not_one_past_it() {
        assert_eq!(input(&"é".repeat(200), &"👋".repeat(1_600)).check(), []);
        assert_eq!(input("x", " ").check(), []);
        let long = input(&"é".repeat(201), &"👋".repeat(1_601)).check();
        assert_eq!(named(long), [("name".to_owned(), "too_long"), ("body".to_owned(), "too_long")]);
        let short = input("", "").check();
        assert_eq!(
            named(short),
            [("name".to_owned(), "too_short"), ("body".to_owned(), "too_short")]
        );
        let nul = input("a\0", "b").check();
        assert_eq!(named(nul), [("name".to_owned(), "invalid_character")]);
    }

    #[test]
    fn a_change_obeys_the_rules_of_what_it_names() {
        assert_eq!(TemplateChange::default().check(), []);
        let change = TemplateChange { name: None, body: Some(Body::new("")) };
        assert_eq!(named(change.check()), [("body".to_owned(), "too_short")]);
    }

    #[test]
    fn a_change_leaves_alone_what_it_does_not_name() {
        let name = TemplateChange { name: Some("Till".to_owned()), body: None };
        let expected = Template { name: "Till".to_owned(), updated_at: now(), ..template() };
        assert_eq!(name.apply(template(), now()), expected);
        let body = TemplateChange { name: None, body: Some(Body::new("Bye")) };
        let expected = Template { body: Body::new("Bye"), updated_at: now(), ..template() };
        assert_eq!(body.apply(template(), now()), expected);
        let nothing = TemplateChange::default().apply(template(), now());
        assert_eq!(nothing, Template { updated_at: now(), ..template() });
    }

    #[test]
    fn words_are_found_in_name_and_body_whatever_their_case() {
        for (q, found) in [
            ("table", true),
            (" TABLE ", true),
            ("straße", true),
            ("{FIRST_NAME}", true),
            ("dinner", false),
            ("table hello", false),
        ] {
            let search = TemplateSearch::parse(q).unwrap();
            assert_eq!(search.finds(&template()), found, "{q}");
        }
        assert_eq!(TemplateSearch::parse(" TaBLE hello ").unwrap().words(), "table hello");
        assert_eq!(TemplateSearch::parse(" \t"), None);
    }

    #[test]
    fn debug_shows_no_words_of_a_body() {
        let search = TemplateSearch::parse("hello").unwrap();
        let shown = format!("{:?} {search:?}", template());
        assert!(!shown.to_lowercase().contains("hello"), "{shown}");
    }

    proptest! {
        #[test]
        fn any_part_of_a_body_finds_its_template(
            before in "\\PC{0,20}",
            part in "[a-zA-Z0-9 äöüß]{0,10}[a-z]",
            after in "\\PC{0,20}",
        ) {
            let body = Body::new(format!("{before}{part}{after}"));
            let template = Template { body, ..template() };
            prop_assert!(TemplateSearch::parse(&part).unwrap().finds(&template));
        }
    }
}
