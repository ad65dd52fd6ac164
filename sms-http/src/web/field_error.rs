//! The errors in the fields of a request, collected so that one answer reports all of them.
//!
//! Bodies and parameters are read completely, even after an error, and every error is added to a
//! list. The checks of the domain add to the same list. [`crate::web::fields`] reads fields, and
//! [`crate::web::error`] makes the answer.

use std::collections::BTreeSet;
use std::fmt;

use serde::Serialize;

use crate::web::unknown_fields::MOST_NAMED;

/// The most errors in one answer: one for each row of the largest import.
pub const MAX_FIELD_ERRORS: usize = 20_000;

/// What is wrong with a field, for programs. The set is closed: clients may rely on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldCode {
    /// A required field is absent or null.
    Required,
    /// The value has the wrong JSON type.
    WrongType,
    /// A string with too many characters.
    TooLong,
    /// A string with too few characters.
    TooShort,
    /// An array with too many items.
    TooMany,
    /// An array with too few items.
    TooFew,
    /// A parameter was given without a value.
    Empty,
    /// The string has the wrong format, such as an invalid date.
    InvalidFormat,
    /// A number or a date out of range.
    OutOfRange,
    /// The string is not one of the allowed values.
    UnknownValue,
    /// The string contains U+0000, or a header contains anything but visible ASCII.
    InvalidCharacter,
    /// The body is not a JSON document.
    MalformedJson,
    /// A key is repeated in an object, or a parameter in a query.
    DuplicateKey,
    /// The operation has no such query parameter.
    UnknownParameter,
}

impl FieldCode {
    /// Every code, in the order in which they are documented.
    pub const ALL: [Self; 14] = [
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
        Self::UnknownParameter,
    ];

    /// The code as answers show it.
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
            Self::UnknownParameter => "unknown_parameter",
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

/// An error in one field.
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
    /// An error in this field.
    pub fn new(
        field: impl Into<String>,
        code: impl Into<&'static str>,
        message: impl Into<String>,
    ) -> Self {
        Self { field: field.into(), code: code.into(), message: message.into() }
    }
}

/// The errors found so far in a request, at most one per field.
///
/// After an error, reading continues with a placeholder for the value. A later check of the
/// placeholder means nothing, so a field is not reported again, nor is any part of it, nor what it
/// is a part of.
#[derive(Debug, Clone, Default)]
pub struct FieldErrors {
    errors: Vec<FieldError>,
    fields: BTreeSet<String>,
    /// Fields that were ignored because nothing knows them: no errors.
    unknown: Vec<String>,
}

impl FieldErrors {
    /// No errors.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether no error was found so far.
    pub fn is_empty(&self) -> bool {
        self.errors.is_empty()
    }

    /// Whether this field, a part of it, or what it is a part of was reported already.
    pub fn covers(&self, field: &str) -> bool {
        if self.fields.contains("") || self.fields.contains(field) {
            return true;
        }
        if field.is_empty() {
            return !self.fields.is_empty();
        }
        self.names_whole_of(field) || self.names_part_of(field)
    }

    /// Adds an error, unless its field is covered already.
    pub fn push(&mut self, error: FieldError) {
        if self.errors.len() >= MAX_FIELD_ERRORS || self.covers(&error.field) {
            return;
        }
        self.fields.insert(error.field.clone());
        self.errors.push(error);
    }

    /// Notes a field that is ignored.
    pub(super) fn note_unknown(&mut self, field: String) {
        if self.unknown.len() < MOST_NAMED {
            self.unknown.push(field);
        }
    }

    /// Takes out the fields that were ignored.
    pub(super) fn take_unknown(&mut self) -> Vec<String> {
        std::mem::take(&mut self.unknown)
    }

    /// Takes the value out of a part of the request, and adds its errors.
    ///
    /// After an error the value is a placeholder; [`finish`](Self::finish) prevents its use.
    pub fn take<P: Checked>(&mut self, part: P) -> P::Value {
        part.take_into(self)
    }

    /// The errors, in the order found.
    pub fn into_vec(self) -> Vec<FieldError> {
        self.errors
    }

    /// `Ok` if there are no errors; otherwise the errors, which become a 422.
    pub fn finish(self) -> Result<(), Self> {
        if self.is_empty() { Ok(()) } else { Err(self) }
    }

    /// Like [`finish`](Self::finish), but after an error it also adds what the domain's rules find.
    /// Without an error the rules are not checked here, because the domain checks them.
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

/// A part of a request that was read completely, with or without errors: a body or a parameter.
pub trait Checked {
    /// The value of the part.
    type Value;

    /// Moves the errors into `errors` and returns the value, or a placeholder after an error.
    fn take_into(self, errors: &mut FieldErrors) -> Self::Value;
}

/// The values of all parts, or all their errors, which become a 422.
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
