//! Templates: texts that an account saves under a name, to send by their id.
//!
//! Merge fields in a template are filled when it is sent, as in any body: see [`crate::text`].

use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::field_error::FieldError;
use crate::idempotency::fingerprint::Fields;
use crate::idempotency::{Answer, Born};
use crate::ids::{AccountId, TemplateId};
use crate::message::record::Body;
use crate::setters::setters;
use crate::text::length::MAX_CHARACTERS;
use crate::time::Timestamp;
use crate::version::{Changed, IfVersion, Version, Versioned};

pub mod store;

/// The permitted length of a template's name, in characters.
pub const NAME_CHARACTERS: RangeInclusive<usize> = 1..=200;
/// The permitted length of a template's body, in characters.
pub const BODY_CHARACTERS: RangeInclusive<usize> = 1..=MAX_CHARACTERS;

/// A text saved under a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// The id of the template.
    pub id: TemplateId,
    /// The account that the template belongs to.
    pub account: AccountId,
    /// The name, 1 to 200 characters. Several templates may have the same name.
    pub name: String,
    /// The text with its merge fields, 1 to 1,600 characters.
    pub body: Body,
    /// When the template was created.
    pub created_at: Timestamp,
    /// When the template last changed.
    pub updated_at: Timestamp,
}

/// The version follows from name and body, not from times.
impl Versioned for Template {
    const KIND: &'static str = "template";

    fn version(&self) -> Version {
        let Self { id, account: _, name, body, created_at: _, updated_at: _ } = self;
        Version::of(Self::KIND, id, |fields| {
            fields.add("name", [name]);
            fields.add("body", [body.as_str()]);
        })
    }
}

/// A new template as given in a request.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TemplateInput {
    /// The name, 1 to 200 characters.
    pub name: String,
    /// The text, 1 to 1,600 characters.
    pub body: Body,
}

impl TemplateInput {
    /// A template with this name and body.
    pub fn new(name: impl Into<String>, body: impl Into<Arc<str>>) -> Self {
        Self { name: name.into(), body: Body::new(body) }
    }

    /// Every rule on single fields that the input breaks; empty if it is valid.
    pub fn check(&self) -> Vec<FieldError> {
        let Self { name, body } = self;
        check(Some(name), Some(body.as_str()))
    }

    /// Adds the meaning of the input to a fingerprint.
    pub fn meaning(&self, fields: &mut Fields) {
        let Self { name, body } = self;
        fields.add("name", [name]);
        fields.add("body", [body.as_str()]);
    }

    /// The new template, created at `at`.
    pub fn into_template(self, id: TemplateId, account: AccountId, at: Timestamp) -> Template {
        let Self { name, body } = self;
        Template { id, account, name, body, created_at: at, updated_at: at }
    }
}

/// A repetition returns the template as it was created.
impl Answer for Template {
    type Kept = Born<TemplateId>;

    fn kept(&self) -> Self::Kept {
        Born { id: self.id, at: self.created_at }
    }
}

/// A change of a template. `None` keeps a value.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TemplateChange {
    /// A new name, 1 to 200 characters.
    pub name: Option<String>,
    /// A new text, 1 to 1,600 characters.
    pub body: Option<Body>,
    /// The versions on which the change may be made.
    pub if_version: IfVersion,
}

impl TemplateChange {
    /// Every rule on single fields that the change breaks; empty if it is valid.
    pub fn check(&self) -> Vec<FieldError> {
        let Self { name, body, if_version: _ } = self;
        check(name.as_deref(), body.as_ref().map(Body::as_str))
    }

    /// The template after the change, given the template that the store found under its lock.
    ///
    /// # Errors
    ///
    /// The template has another version than the change was made on.
    pub fn apply(self, template: Template, at: Timestamp) -> Result<Template, Changed> {
        let Self { name, body, if_version } = self;
        if_version.check(&template)?;
        Ok(Template {
            name: name.unwrap_or(template.name),
            body: body.unwrap_or(template.body),
            updated_at: at,
            ..template
        })
    }
}

setters! { TemplateChange {
    /// Replaces the name; 1 to 200 characters.
    name(name: impl Into<String>) = Some(name.into());
    /// Replaces the text; 1 to 1,600 characters.
    body(body: impl Into<Arc<str>>) = Some(Body::new(body));
    /// Makes the change on this version only.
    if_version(version: impl Into<IfVersion>) = version.into();
} }

fn check(name: Option<&str>, body: Option<&str>) -> Vec<FieldError> {
    let name = name.and_then(|name| FieldError::of_text("name", name, NAME_CHARACTERS));
    let body = body.and_then(|body| FieldError::of_text("body", body, BODY_CHARACTERS));
    name.into_iter().chain(body).collect()
}

/// Words to search for in the names and bodies of templates, regardless of case.
#[derive(Clone, PartialEq, Eq)]
pub struct TemplateSearch(String);

impl TemplateSearch {
    /// The words of the query parameter `q`; `None` if it is blank.
    pub fn parse(q: &str) -> Option<Self> {
        let words = q.trim().to_lowercase();
        if words.is_empty() { None } else { Some(Self(words)) }
    }

    /// The words in lower case.
    pub fn words(&self) -> &str {
        &self.0
    }

    /// Whether the search finds this template.
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
    fn name_and_body_are_accepted_at_the_limit_and_refused_one_past_it() {
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
    fn a_change_obeys_the_rules_of_the_fields_it_names() {
        assert_eq!(TemplateChange::default().check(), []);
        let change = TemplateChange::default().body("");
        assert_eq!(named(change.check()), [("body".to_owned(), "too_short")]);
    }

    #[test]
    fn a_change_keeps_the_fields_it_does_not_name() {
        let name = TemplateChange::default().name("Till");
        let expected = Template { name: "Till".to_owned(), updated_at: now(), ..template() };
        assert_eq!(name.apply(template(), now()), Ok(expected));
        let body = TemplateChange::default().body("Bye");
        let expected = Template { body: Body::new("Bye"), updated_at: now(), ..template() };
        assert_eq!(body.apply(template(), now()), Ok(expected));
        let nothing = TemplateChange::default().apply(template(), now());
        assert_eq!(nothing, Ok(Template { updated_at: now(), ..template() }));
    }

    #[test]
    fn words_are_found_in_name_and_body_regardless_of_case() {
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
