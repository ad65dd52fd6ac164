//! Strings: [`text`], [`one_or_many`], [`date_time`], [`choice`].

use std::marker::PhantomData;

use chrono::{DateTime, Datelike, TimeDelta, Utc};
use poem_openapi::registry::{MetaSchema, MetaSchemaRef, Registry};
use poem_openapi::types::Type;
use serde_json::Value;

use super::list::list;
use super::rule::{Rule, inline, note, wrong_type};
use crate::web::choice::{Choices, Named, allowed_values, find};
use crate::web::field_error::{FieldCode, FieldErrors};
use crate::web::json::Path;

/// A string of any length. Restrict it with [`Text::min`], [`Text::max`] and [`Text::checked`].
pub fn text() -> Text {
    let max_chars = usize::MAX;
    Text { min_chars: 0, max_chars, documented_max: None, pattern: None, check: None }
}

/// A string, or an array of up to `most` strings.
pub fn one_or_many(most: usize) -> OneOrMany {
    OneOrMany { most, name: None }
}

/// An RFC 3339 date-time with any offset.
pub fn date_time() -> Moment {
    Moment
}

/// One of the values of an enum.
pub fn choice<E: Choices>() -> OneOf<E> {
    OneOf { values: PhantomData }
}

/// What is wrong with a value, for programs and for people.
pub type Mistake = (&'static str, String);

/// Checks a string by a rule of the domain.
pub type Check = fn(&str) -> Result<(), Mistake>;

/// See [`text`].
#[derive(Debug, Clone, Copy)]
pub struct Text {
    min_chars: usize,
    max_chars: usize,
    documented_max: Option<usize>,
    pattern: Option<&'static str>,
    check: Option<Check>,
}

impl Text {
    /// At least this many characters.
    #[must_use]
    pub fn min(mut self, chars: usize) -> Self {
        self.min_chars = chars;
        self
    }

    /// At most this many characters.
    #[must_use]
    pub fn max(mut self, chars: usize) -> Self {
        self.max_chars = chars;
        self.documented_max = Some(chars);
        self
    }

    /// At most this many characters, without a mention in the document.
    #[must_use]
    pub fn undocumented_max(mut self, chars: usize) -> Self {
        self.max_chars = chars;
        self
    }

    /// At most this many characters according to the document. The domain counts them.
    #[must_use]
    pub fn documented_max(mut self, chars: usize) -> Self {
        self.documented_max = Some(chars);
        self
    }

    /// Has this format according to the document. [`Text::checked`] checks it.
    #[must_use]
    pub fn pattern(mut self, pattern: &'static str) -> Self {
        self.pattern = Some(pattern);
        self
    }

    /// Adds a check by the domain. It runs only if the length is valid.
    #[must_use]
    pub fn checked(mut self, check: Check) -> Self {
        self.check = Some(check);
        self
    }
}

impl Rule for Text {
    type Value = String;

    fn read(&self, value: Value, path: &Path<'_>, errors: &mut FieldErrors) -> Option<String> {
        let Value::String(text) = value else {
            return wrong_type(path, errors, "a string");
        };
        if let Err((code, message)) = check_text(&text, self.min_chars, self.max_chars) {
            return note(path, errors, code, message);
        }
        match self.check.map(|check| check(&text)) {
            None | Some(Ok(())) => Some(text),
            Some(Err((code, message))) => note(path, errors, code, message),
        }
    }

    fn stand_in(&self) -> String {
        String::new()
    }

    fn schema(&self, _registry: &mut Registry) -> MetaSchemaRef {
        inline(MetaSchema {
            min_length: Some(self.min_chars).filter(|least| *least > 0),
            max_length: self.documented_max,
            pattern: self.pattern.map(str::to_owned),
            ..MetaSchema::new("string")
        })
    }
}

/// The checks of every string, in bodies and in parameters.
pub(crate) fn check_text(
    text: &str,
    min_chars: usize,
    max_chars: usize,
) -> Result<(), (FieldCode, String)> {
    if text.contains('\0') {
        let message = "the text must not contain the character U+0000".to_owned();
        return Err((FieldCode::InvalidCharacter, message));
    }
    let chars = text.chars().count();
    if chars > max_chars {
        let message = format!("the text must have at most {max_chars} characters; it has {chars}");
        return Err((FieldCode::TooLong, message));
    }
    if chars < min_chars {
        let message = format!("the text must have at least {min_chars} characters");
        return Err((FieldCode::TooShort, message));
    }
    Ok(())
}

/// See [`one_or_many`].
#[derive(Debug, Clone, Copy)]
pub struct OneOrMany {
    most: usize,
    name: Option<&'static str>,
}

impl OneOrMany {
    /// Has this name in the document.
    #[must_use]
    pub fn named(mut self, name: &'static str) -> Self {
        self.name = Some(name);
        self
    }
}

impl Rule for OneOrMany {
    type Value = Vec<String>;

    fn read(&self, value: Value, path: &Path<'_>, errors: &mut FieldErrors) -> Option<Vec<String>> {
        match value {
            Value::String(_) => text().read(value, path, errors).map(|one| vec![one]),
            Value::Array(_) => list(text()).max(self.most).read(value, path, errors),
            _ => wrong_type(path, errors, "a string or an array of strings"),
        }
    }

    fn stand_in(&self) -> Vec<String> {
        Vec::new()
    }

    fn schema(&self, registry: &mut Registry) -> MetaSchemaRef {
        let one = text().schema(registry);
        let many = list(text()).max(self.most).schema(registry);
        let either = MetaSchema { one_of: vec![one, many], ..MetaSchema::ANY };
        match self.name {
            None => inline(either),
            Some(name) => {
                registry.create_schema::<Self, _>(name.to_owned(), |_| either);
                MetaSchemaRef::Reference(name.to_owned())
            }
        }
    }
}

/// See [`date_time`].
#[derive(Debug, Clone, Copy)]
pub struct Moment;

impl Rule for Moment {
    type Value = DateTime<Utc>;

    fn read(
        &self,
        value: Value,
        path: &Path<'_>,
        errors: &mut FieldErrors,
    ) -> Option<DateTime<Utc>> {
        let Value::String(text) = value else {
            return wrong_type(path, errors, "a date-time string");
        };
        match parse_moment(&text) {
            Ok(moment) => Some(moment),
            Err((code, message)) => note(path, errors, code, message),
        }
    }

    fn stand_in(&self) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH
    }

    fn schema(&self, _registry: &mut Registry) -> MetaSchemaRef {
        DateTime::<Utc>::schema_ref()
    }
}

/// Reads an RFC 3339 date-time. A leap second counts as the next second.
pub(crate) fn parse_moment(text: &str) -> Result<DateTime<Utc>, (FieldCode, &'static str)> {
    const FORM: &str = "the text is not an RFC 3339 date-time such as 2026-11-21T07:07:10.123Z";
    const YEARS: &str = "the date-time must be in the years 1 to 9999";

    let moment =
        DateTime::parse_from_rfc3339(text).map_err(|_| (FieldCode::InvalidFormat, FORM))?.to_utc();
    // chrono keeps a leap second as nanoseconds beyond a whole second. Printed, it would be a time
    // that many parsers refuse.
    let nanos = TimeDelta::nanoseconds(i64::from(moment.timestamp_subsec_nanos()));
    DateTime::from_timestamp(moment.timestamp(), 0)
        .and_then(|second| second.checked_add_signed(nanos))
        .filter(|moment| (1..=9_999).contains(&moment.year()))
        .ok_or((FieldCode::OutOfRange, YEARS))
}

/// See [`choice`].
#[derive(Debug, Clone, Copy)]
pub struct OneOf<E> {
    values: PhantomData<fn() -> E>,
}

impl<E: Choices> Rule for OneOf<E> {
    type Value = E;

    fn read(&self, value: Value, path: &Path<'_>, errors: &mut FieldErrors) -> Option<E> {
        let Value::String(text) = value else {
            return wrong_type(path, errors, "a string");
        };
        find(&text).or_else(|| {
            let message = format!("the value must be one of {}", allowed_values::<E>());
            note(path, errors, FieldCode::UnknownValue, message)
        })
    }

    /// The first value of the enum.
    fn stand_in(&self) -> E {
        E::ALL[0]
    }

    fn schema(&self, registry: &mut Registry) -> MetaSchemaRef {
        Named::<E>::register(registry);
        Named::<E>::schema_ref()
    }
}
