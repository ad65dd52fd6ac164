//! What a field may hold: one [`Rule`] for each kind of value.
//!
//! Every rule refuses U+0000 in a string, which no text message, name or PostgreSQL column can
//! hold. Rules know lengths, ranges and forms; they know nothing of phone numbers or credits.

use std::fmt::Display;
use std::marker::PhantomData;
use std::ops::RangeInclusive;

use chrono::{DateTime, Datelike, TimeDelta, Utc};
use poem_openapi::registry::{MetaSchemaRef, Registry};
use poem_openapi::types::ParseFromJSON;
use serde_json::{Map, Number, Value};

use super::{Fields, FromFields, OneOrMany};
use crate::web::field_error::{FieldCode, FieldError, FieldErrors};
use crate::web::json::Path;

/// How a JSON value becomes a value of ours.
pub trait Rule {
    /// What comes out.
    type Value;

    /// Reads the value, which is not null. `None` means that at least one mistake was noted.
    fn read(&self, value: Value, path: &Path<'_>, errors: &mut FieldErrors) -> Option<Self::Value>;

    /// What takes the place of a required value that is missing or wrong.
    fn stand_in(&self) -> Self::Value;
}

/// A string of any length; narrow it with [`Text::min`] and [`Text::max`].
pub fn text() -> Text {
    Text { min_chars: 0, max_chars: usize::MAX }
}

/// A whole number within the range. `5.0` is 5, as in JSON Schema.
pub fn whole(range: RangeInclusive<i64>) -> Whole {
    Whole { range }
}

/// `true` or `false`.
pub fn boolean() -> Boolean {
    Boolean
}

/// An RFC 3339 date-time with any offset.
pub fn date_time() -> Moment {
    Moment
}

/// One of the values of an enum that derives `poem_openapi::Enum`.
pub fn one_of<E: ParseFromJSON>() -> OneOf<E> {
    OneOf { values: PhantomData }
}

/// An array whose items all follow one rule; bound it with [`List::max`].
pub fn list<R: Rule>(item: R) -> List<R> {
    List { item, min_items: 0, max_items: usize::MAX }
}

/// A string, or an array of up to `MAX` strings.
pub fn one_or_many<const MAX: usize>() -> StringOrStrings<MAX> {
    StringOrStrings
}

/// An object with fields of its own.
pub fn object<T: FromFields>() -> Object<T> {
    Object { fields: PhantomData }
}

/// An object with any keys and values, as custom fields.
pub fn json_object() -> JsonObject {
    JsonObject
}

/// See [`text`].
#[derive(Debug, Clone, Copy)]
pub struct Text {
    min_chars: usize,
    max_chars: usize,
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
        self
    }
}

impl Rule for Text {
    type Value = String;

    fn read(&self, value: Value, path: &Path<'_>, errors: &mut FieldErrors) -> Option<String> {
        let Value::String(text) = value else {
            return wrong_type(path, errors, "a string");
        };
        match check_text(&text, self.min_chars, self.max_chars) {
            Ok(()) => Some(text),
            Err((code, message)) => note(path, errors, code, message),
        }
    }

    fn stand_in(&self) -> String {
        String::new()
    }
}

/// The checks every text goes through, in bodies and in parameters.
pub(crate) fn check_text(
    text: &str,
    min_chars: usize,
    max_chars: usize,
) -> Result<(), (FieldCode, String)> {
    if text.contains('\0') {
        let message = "the text holds the character U+0000".to_owned();
        return Err((FieldCode::InvalidCharacter, message));
    }
    let chars = text.chars().count();
    if chars > max_chars {
        let message = format!("the text may have up to {max_chars} characters, it has {chars}");
        return Err((FieldCode::TooLong, message));
    }
    if chars < min_chars {
        let message = format!("the text must have at least {min_chars} characters");
        return Err((FieldCode::TooShort, message));
    }
    Ok(())
}

/// See [`whole`].
#[derive(Debug, Clone)]
pub struct Whole {
    range: RangeInclusive<i64>,
}

impl Rule for Whole {
    type Value = i64;

    fn read(&self, value: Value, path: &Path<'_>, errors: &mut FieldErrors) -> Option<i64> {
        let Value::Number(number) = value else {
            return wrong_type(path, errors, "a whole number");
        };
        match whole_number(&number) {
            WholeNumber::Fits(whole) if self.range.contains(&whole) => Some(whole),
            WholeNumber::Fits(_) | WholeNumber::TooLarge => {
                let (least, most) = (self.range.start(), self.range.end());
                let message = format!("the number must be from {least} to {most}");
                note(path, errors, FieldCode::OutOfRange, message)
            }
            WholeNumber::Fraction => wrong_type(path, errors, "a whole number"),
        }
    }

    fn stand_in(&self) -> i64 {
        *self.range.start()
    }
}

enum WholeNumber {
    Fits(i64),
    TooLarge,
    Fraction,
}

fn whole_number(number: &Number) -> WholeNumber {
    /// Up to here every whole number has an `f64` of its own.
    const LARGEST_EXACT: f64 = 9_007_199_254_740_992.0;

    if let Some(whole) = number.as_i64() {
        return WholeNumber::Fits(whole);
    }
    match number.as_f64() {
        Some(float) if float.fract() != 0.0 => WholeNumber::Fraction,
        Some(float) if float.abs() <= LARGEST_EXACT => {
            #[expect(clippy::cast_possible_truncation, reason = "whole, and within 2^53")]
            let whole = float as i64;
            WholeNumber::Fits(whole)
        }
        _ => WholeNumber::TooLarge,
    }
}

/// See [`boolean`].
#[derive(Debug, Clone, Copy)]
pub struct Boolean;

impl Rule for Boolean {
    type Value = bool;

    fn read(&self, value: Value, path: &Path<'_>, errors: &mut FieldErrors) -> Option<bool> {
        match value {
            Value::Bool(flag) => Some(flag),
            _ => wrong_type(path, errors, "true or false"),
        }
    }

    fn stand_in(&self) -> bool {
        false
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
}

/// Reads an RFC 3339 date-time; a leap second counts as the second after it.
pub(crate) fn parse_moment(text: &str) -> Result<DateTime<Utc>, (FieldCode, &'static str)> {
    const FORM: &str = "the text is not an RFC 3339 date-time, as 2026-11-21T07:07:10.123Z";
    const YEARS: &str = "the date-time must be in the years 1 to 9999";

    let moment =
        DateTime::parse_from_rfc3339(text).map_err(|_| (FieldCode::InvalidFormat, FORM))?.to_utc();
    // chrono keeps a leap second as nanoseconds beyond a whole second; printed back it would be a
    // time that many readers refuse.
    let nanos = TimeDelta::nanoseconds(i64::from(moment.timestamp_subsec_nanos()));
    DateTime::from_timestamp(moment.timestamp(), 0)
        .and_then(|second| second.checked_add_signed(nanos))
        .filter(|moment| (1..=9_999).contains(&moment.year()))
        .ok_or((FieldCode::OutOfRange, YEARS))
}

/// See [`one_of`].
#[derive(Debug, Clone, Copy)]
pub struct OneOf<E> {
    values: PhantomData<fn() -> E>,
}

impl<E: ParseFromJSON> Rule for OneOf<E> {
    type Value = E;

    fn read(&self, value: Value, path: &Path<'_>, errors: &mut FieldErrors) -> Option<E> {
        if !value.is_string() {
            return wrong_type(path, errors, "a string");
        }
        let read = E::parse_from_json(Some(value)).ok();
        if read.is_none() {
            let message = format!("the value must be one of {}", allowed_values::<E>());
            errors.push(FieldError::new(path.to_string(), FieldCode::UnknownValue, message));
        }
        read
    }

    /// The first value of the enum.
    fn stand_in(&self) -> E {
        let first = enum_values::<E>().into_iter().next();
        match E::parse_from_json(first) {
            Ok(value) => value,
            Err(_) => unreachable!("an enum reads its own first value"),
        }
    }
}

/// The values of an enum as a sentence lists them: `a, b, c`.
pub(crate) fn allowed_values<E: ParseFromJSON>() -> String {
    let values = enum_values::<E>();
    let names: Vec<&str> = values.iter().filter_map(Value::as_str).collect();
    names.join(", ")
}

fn enum_values<E: ParseFromJSON>() -> Vec<Value> {
    let mut registry = Registry::new();
    E::register(&mut registry);
    match E::schema_ref() {
        MetaSchemaRef::Inline(schema) => schema.enum_items,
        MetaSchemaRef::Reference(name) => {
            registry.schemas.remove(&name).map(|schema| schema.enum_items).unwrap_or_default()
        }
    }
}

/// See [`list`].
#[derive(Debug, Clone)]
pub struct List<R> {
    item: R,
    min_items: usize,
    max_items: usize,
}

impl<R> List<R> {
    /// At least this many items.
    #[must_use]
    pub fn min(mut self, items: usize) -> Self {
        self.min_items = items;
        self
    }

    /// At most this many items. The items of a longer array are not looked at.
    #[must_use]
    pub fn max(mut self, items: usize) -> Self {
        self.max_items = items;
        self
    }
}

impl<R: Rule> Rule for List<R> {
    type Value = Vec<R::Value>;

    fn read(
        &self,
        value: Value,
        path: &Path<'_>,
        errors: &mut FieldErrors,
    ) -> Option<Vec<R::Value>> {
        let Value::Array(items) = value else {
            return wrong_type(path, errors, "an array");
        };
        let (count, least, most) = (items.len(), self.min_items, self.max_items);
        if count > most {
            let message = format!("the array may have up to {most} items, it has {count}");
            return note(path, errors, FieldCode::TooMany, message);
        }
        if count < least {
            let message = format!("the array must have at least {least} items");
            return note(path, errors, FieldCode::TooFew, message);
        }
        let mut values = Vec::with_capacity(count);
        for (index, item) in items.into_iter().enumerate() {
            values.extend(self.item.read(item, &path.index(index), errors));
        }
        (values.len() == count).then_some(values)
    }

    fn stand_in(&self) -> Vec<R::Value> {
        Vec::new()
    }
}

/// See [`one_or_many`].
#[derive(Debug, Clone, Copy)]
pub struct StringOrStrings<const MAX: usize>;

impl<const MAX: usize> Rule for StringOrStrings<MAX> {
    type Value = OneOrMany<MAX>;

    fn read(
        &self,
        value: Value,
        path: &Path<'_>,
        errors: &mut FieldErrors,
    ) -> Option<OneOrMany<MAX>> {
        let strings = match value {
            Value::String(_) => vec![text().read(value, path, errors)?],
            Value::Array(_) => list(text()).max(MAX).read(value, path, errors)?,
            _ => return wrong_type(path, errors, "a string or an array of strings"),
        };
        Some(OneOrMany(strings))
    }

    fn stand_in(&self) -> OneOrMany<MAX> {
        OneOrMany(Vec::new())
    }
}

/// See [`object`].
#[derive(Debug, Clone, Copy)]
pub struct Object<T> {
    fields: PhantomData<fn() -> T>,
}

impl<T: FromFields> Rule for Object<T> {
    type Value = T;

    fn read(&self, value: Value, path: &Path<'_>, errors: &mut FieldErrors) -> Option<T> {
        match value {
            // A field of it that is wrong has its own stand-in, so the object is whole.
            Value::Object(object) => Some(T::from_fields(&mut Fields::new(object, path, errors))),
            _ => wrong_type(path, errors, "an object"),
        }
    }

    fn stand_in(&self) -> T {
        let mut unheard = FieldErrors::new();
        T::from_fields(&mut Fields::new(Map::new(), &Path::ROOT, &mut unheard))
    }
}

/// See [`json_object`].
#[derive(Debug, Clone, Copy)]
pub struct JsonObject;

impl Rule for JsonObject {
    type Value = Map<String, Value>;

    fn read(
        &self,
        value: Value,
        path: &Path<'_>,
        errors: &mut FieldErrors,
    ) -> Option<Map<String, Value>> {
        let Value::Object(object) = value else {
            return wrong_type(path, errors, "an object");
        };
        if object.iter().any(|(key, value)| key.contains('\0') || holds_nul(value)) {
            let message = "a key or text in it holds the character U+0000";
            return note(path, errors, FieldCode::InvalidCharacter, message);
        }
        Some(object)
    }

    fn stand_in(&self) -> Map<String, Value> {
        Map::new()
    }
}

fn holds_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(items) => items.iter().any(holds_nul),
        Value::Object(object) => {
            object.iter().any(|(key, value)| key.contains('\0') || holds_nul(value))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn wrong_type<T>(path: &Path<'_>, errors: &mut FieldErrors, expected: &str) -> Option<T> {
    let message = format!("the value must be {expected}");
    note(path, errors, FieldCode::WrongType, message)
}

fn note<T>(
    path: &Path<'_>,
    errors: &mut FieldErrors,
    code: FieldCode,
    message: impl Display,
) -> Option<T> {
    errors.push(FieldError::new(path.to_string(), code, message.to_string()));
    None
}
