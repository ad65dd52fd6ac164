//! The mistakes of a request, collected so that one answer names all of them.
//!
//! A parser that stops at the first mistake makes its callers guess. Bodies and parameters are read
//! to their end instead, and whatever was wrong is gathered here; the checks of the domain are
//! added to the same list. Nothing here knows how a field is read ([`crate::web::fields`]) or how
//! the answer looks ([`crate::web::error`]).

use std::collections::BTreeSet;
use std::fmt;

use serde::Serialize;

/// How many mistakes one answer names at most: one for each row of the largest import.
pub const MAX_FIELD_ERRORS: usize = 20_000;

/// What is wrong with a field, for programs. The set is closed: clients may rely on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldCode {
    /// The field has to be given and is not, or is null.
    Required,
    /// The value is of another JSON type.
    WrongType,
    /// A text with too many characters.
    TooLong,
    /// A text with too few characters.
    TooShort,
    /// An array with too many items.
    TooMany,
    /// An array with too few items.
    TooFew,
    /// A parameter was given without a value.
    Empty,
    /// The text does not have the form asked for, as a date that is none.
    InvalidFormat,
    /// A number or a date outside its bounds.
    OutOfRange,
    /// The text is none of the values that may be given.
    UnknownValue,
    /// The text holds U+0000, or a header holds something other than visible ASCII.
    InvalidCharacter,
    /// The body is no JSON document.
    MalformedJson,
    /// A key stands twice in an object, or a parameter twice in a query.
    DuplicateKey,
}

impl FieldCode {
    /// Every code, in the order in which they are documented.
    pub const ALL: [Self; 13] = [
        Self::Required,
        Self::WrongType,
        Self::TooLong,
        Self::TooShort,
        Self::TooMany,
        Self::TooFew,
        Self::Empty,
        Self::InvalidFormat,
        Self::OutOfRange,
        Self::UnknownValue,
        Self::InvalidCharacter,
        Self::MalformedJson,
        Self::DuplicateKey,
    ];

    /// The code as it stands in an answer.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Required => "required",
            Self::WrongType => "wrong_type",
            Self::TooLong => "too_long",
            Self::TooShort => "too_short",
            Self::TooMany => "too_many",
            Self::TooFew => "too_few",
            Self::Empty => "empty",
            Self::InvalidFormat => "invalid_format",
            Self::OutOfRange => "out_of_range",
            Self::UnknownValue => "unknown_value",
            Self::InvalidCharacter => "invalid_character",
            Self::MalformedJson => "malformed_json",
            Self::DuplicateKey => "duplicate_key",
        }
    }
}

impl fmt::Display for FieldCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl From<FieldCode> for &'static str {
    fn from(code: FieldCode) -> Self {
        code.as_str()
    }
}

/// One mistake.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FieldError {
    /// Which field, as a path such as `rows[3].phone`; empty for the body as a whole.
    pub field: String,
    /// What is wrong, for programs: a [`FieldCode`], or a code of the domain's rules.
    pub code: &'static str,
    /// What is wrong, for people.
    pub message: String,
}

impl FieldError {
    /// A mistake in this field.
    pub fn new(
        field: impl Into<String>,
        code: impl Into<&'static str>,
        message: impl Into<String>,
    ) -> Self {
        Self { field: field.into(), code: code.into(), message: message.into() }
    }
}

/// The mistakes found so far in one request, each field named once.
///
/// Reading goes on after a mistake, with a stand-in for the value. What a later check says about
/// that stand-in is worth nothing, so a field that was named before is not named again: neither
/// itself, nor a part of it, nor what it is a part of.
#[derive(Debug, Clone, Default)]
pub struct FieldErrors {
    errors: Vec<FieldError>,
    fields: BTreeSet<String>,
}

impl FieldErrors {
    /// No mistakes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether nothing is wrong so far.
    pub fn is_empty(&self) -> bool {
        self.errors.is_empty()
    }

    /// Whether this field, a part of it, or what it is a part of was named already.
    pub fn covers(&self, field: &str) -> bool {
        if self.fields.contains("") || self.fields.contains(field) {
            return true;
        }
        if field.is_empty() {
            return !self.fields.is_empty();
        }
        self.names_whole_of(field) || self.names_part_of(field)
    }

    /// Notes a mistake, unless its field is covered already.
    pub fn push(&mut self, error: FieldError) {
        if self.errors.len() >= MAX_FIELD_ERRORS || self.covers(&error.field) {
            return;
        }
        self.fields.insert(error.field.clone());
        self.errors.push(error);
    }

    /// Takes the value out of a part of the request and notes what was wrong with it.
    ///
    /// After a mistake the value is a stand-in; [`finish`](Self::finish) keeps it from being used.
    pub fn take<P: Checked>(&mut self, part: P) -> P::Value {
        part.take_into(self)
    }

    /// The mistakes, in the order in which they were found.
    pub fn into_vec(self) -> Vec<FieldError> {
        self.errors
    }

    /// Nothing if nothing was wrong, else the mistakes, which become a 422.
    pub fn finish(self) -> Result<(), Self> {
        if self.is_empty() { Ok(()) } else { Err(self) }
    }

    /// Like [`finish`](Self::finish), after a mistake with those that the domain's rules find as
    /// well. Without one the rules are not asked: the domain asks them itself.
    pub fn finish_with<E: Into<FieldError>>(
        mut self,
        rules: impl FnOnce() -> Vec<E>,
    ) -> Result<(), Self> {
        if self.is_empty() {
            return Ok(());
        }
        self.extend(rules());
        Err(self)
    }

    fn names_whole_of(&self, field: &str) -> bool {
        field
            .char_indices()
            .filter(|(_, character)| matches!(character, '.' | '['))
            .any(|(end, _)| self.fields.contains(&field[..end]))
    }

    fn names_part_of(&self, field: &str) -> bool {
        ['.', '['].into_iter().any(|step| {
            let start = format!("{field}{step}");
            self.fields.range(start.clone()..).next().is_some_and(|next| next.starts_with(&start))
        })
    }
}

impl<E: Into<FieldError>> Extend<E> for FieldErrors {
    fn extend<I: IntoIterator<Item = E>>(&mut self, errors: I) {
        for error in errors {
            self.push(error.into());
        }
    }
}

/// A part of a request that was read to its end, mistakes or not: a body or a parameter.
pub trait Checked {
    /// What the part holds.
    type Value;

    /// Moves the mistakes into `errors` and gives the value, or a stand-in after a mistake.
    fn take_into(self, errors: &mut FieldErrors) -> Self::Value;
}

/// The values of all parts, or every mistake in any of them, which become a 422.
///
/// ```
/// use sms_http::web::field_error::checked;
/// use sms_http::web::param::{Limit, QueryParam, Text};
///
/// # fn list(limit: QueryParam<Limit>, q: QueryParam<Option<Text<200>>>)
/// # -> Result<(), sms_http::web::error::ApiError> {
/// let (limit, q) = checked((limit, q))?;
/// # let _: (Limit, Option<Text<200>>) = (limit, q);
/// # Ok(())
/// # }
/// ```
pub fn checked<P: Checked>(parts: P) -> Result<P::Value, FieldErrors> {
    let mut errors = FieldErrors::new();
    let values = parts.take_into(&mut errors);
    errors.finish()?;
    Ok(values)
}

macro_rules! checked_tuple {
    ($($part:ident)+) => {
        impl<$($part: Checked),+> Checked for ($($part,)+) {
            type Value = ($($part::Value,)+);

            fn take_into(self, errors: &mut FieldErrors) -> Self::Value {
                #[expect(non_snake_case, reason = "the type's letter names the value as well")]
                let ($($part,)+) = self;
                ($($part.take_into(errors),)+)
            }
        }
    };
}

checked_tuple!(A);
checked_tuple!(A B);
checked_tuple!(A B C);
checked_tuple!(A B C D);
checked_tuple!(A B C D E);
checked_tuple!(A B C D E F);
checked_tuple!(A B C D E F G);
checked_tuple!(A B C D E F G H);
checked_tuple!(A B C D E F G H I);
checked_tuple!(A B C D E F G H I J);
checked_tuple!(A B C D E F G H I J K);
checked_tuple!(A B C D E F G H I J K L);

#[cfg(test)]
mod tests {
    use super::*;

    fn named(fields: &[&str]) -> FieldErrors {
        let mut errors = FieldErrors::new();
        errors
            .extend(fields.iter().map(|field| FieldError::new(*field, FieldCode::WrongType, "no")));
        errors
    }

    #[test]
    fn a_field_is_named_once() {
        let mut errors = named(&["to", "body"]);
        errors.push(FieldError::new("to", "required", "again"));
        assert_eq!(errors.into_vec().len(), 2);
    }

    #[test]
    fn a_named_field_covers_its_parts_and_its_whole() {
        let errors = named(&["rows[3].phone", "custom"]);
        for covered in ["rows", "rows[3]", "rows[3].phone", "custom.city", "custom", ""] {
            assert!(errors.covers(covered), "{covered}");
        }
        for free in ["rows[31]", "rows[3].phones", "row", "customs", "rows[4].phone"] {
            assert!(!errors.covers(free), "{free}");
        }
    }

    #[test]
    fn a_body_that_is_no_json_covers_everything() {
        let mut errors = named(&[""]);
        errors.push(FieldError::new("to", FieldCode::Required, "missing"));
        assert_eq!(errors.into_vec().len(), 1);
    }

    #[test]
    fn the_list_is_bounded() {
        let mut errors = FieldErrors::new();
        errors.extend(
            (0..MAX_FIELD_ERRORS + 5)
                .map(|row| FieldError::new(format!("rows[{row}]"), FieldCode::WrongType, "no")),
        );
        assert_eq!(errors.into_vec().len(), MAX_FIELD_ERRORS);
    }

    #[test]
    fn codes_are_distinct() {
        let codes: BTreeSet<_> = FieldCode::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(codes.len(), FieldCode::ALL.len());
    }
}
