//! The types of parameters: [`ParamValue`] and its implementations.
//!
//! There are strings, whole numbers, enums, booleans and date-times, and `Option` of each for an
//! optional parameter. The handler interprets the value, for example a cursor.

use chrono::{DateTime, Utc};
use poem_openapi::registry::{MetaSchema, MetaSchemaRef, Registry};
use poem_openapi::types::Type;
use serde_json::Value;

use crate::web::choice::{Choices, Named, allowed_values, find};
use crate::web::field_error::FieldCode;
use crate::web::fields::text::{check_text, parse_moment};

/// The most items per page.
const MAX_LIMIT: i64 = 100;

/// What is wrong with a parameter, for programs and for people.
pub type Mistake = (FieldCode, String);

/// A value that a query or header parameter may have.
///
/// The default is the value of an absent optional parameter, and the placeholder after an error.
pub trait ParamValue: Default + Send + Sync {
    /// Whether the parameter is required.
    const REQUIRED: bool;

    /// How the OpenAPI document describes the value.
    fn schema() -> MetaSchemaRef;

    /// Adds the schemas that [`schema`](Self::schema) refers to.
    fn register(_registry: &mut Registry) {}

    /// Reads the value from a string, which is not empty.
    fn parse(text: &str) -> Result<Self, Mistake>;

    /// The value of a parameter that was not given.
    fn absent() -> Result<Self, Mistake> {
        if Self::REQUIRED {
            Err((FieldCode::Required, "the parameter is required".to_owned()))
        } else {
            Ok(Self::default())
        }
    }
}

/// An optional parameter.
impl<T: ParamValue> ParamValue for Option<T> {
    const REQUIRED: bool = false;

    fn schema() -> MetaSchemaRef {
        T::schema()
    }

    fn register(registry: &mut Registry) {
        T::register(registry);
    }

    fn parse(text: &str) -> Result<Self, Mistake> {
        T::parse(text).map(Some)
    }
}

/// The size of a page: 1 to 100, 25 by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit(pub u32);

impl Default for Limit {
    fn default() -> Self {
        Self(25)
    }
}

impl ParamValue for Limit {
    const REQUIRED: bool = false;

    fn schema() -> MetaSchemaRef {
        whole_schema(1, MAX_LIMIT)
            .merge(MetaSchema { default: Some(Value::from(Self::default().0)), ..MetaSchema::ANY })
    }

    fn parse(text: &str) -> Result<Self, Mistake> {
        let limit = parse_whole(text, 1, MAX_LIMIT)?;
        Ok(Self(u32::try_from(limit).unwrap_or(Self::default().0)))
    }
}

/// A whole number from `LEAST` to `MOST`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Whole<const LEAST: i64, const MOST: i64>(pub i64);

impl<const LEAST: i64, const MOST: i64> Default for Whole<LEAST, MOST> {
    fn default() -> Self {
        Self(LEAST)
    }
}

impl<const LEAST: i64, const MOST: i64> ParamValue for Whole<LEAST, MOST> {
    const REQUIRED: bool = true;

    fn schema() -> MetaSchemaRef {
        whole_schema(LEAST, MOST)
    }

    fn parse(text: &str) -> Result<Self, Mistake> {
        parse_whole(text, LEAST, MOST).map(Self)
    }
}

/// A string of up to `MAX` characters: a search, a cursor, an id.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Text<const MAX: usize>(pub String);

impl<const MAX: usize> ParamValue for Text<MAX> {
    const REQUIRED: bool = true;

    fn schema() -> MetaSchemaRef {
        MetaSchemaRef::Inline(Box::new(MetaSchema {
            min_length: Some(1),
            max_length: Some(MAX),
            ..MetaSchema::new("string")
        }))
    }

    fn parse(text: &str) -> Result<Self, Mistake> {
        check_text(text, 1, MAX)?;
        Ok(Self(text.to_owned()))
    }
}

/// One of the values of an enum.
impl<E: Choices> ParamValue for Option<Named<E>> {
    const REQUIRED: bool = false;

    fn schema() -> MetaSchemaRef {
        Named::<E>::schema_ref()
    }

    fn register(registry: &mut Registry) {
        <Named<E> as Type>::register(registry);
    }

    fn parse(text: &str) -> Result<Self, Mistake> {
        match find(text) {
            Some(choice) => Ok(Some(Named(choice))),
            None => Err((
                FieldCode::UnknownValue,
                format!("the value must be one of {}", allowed_values::<E>()),
            )),
        }
    }
}

/// `true` or `false`, in lower case.
impl ParamValue for bool {
    const REQUIRED: bool = true;

    fn schema() -> MetaSchemaRef {
        <Self as Type>::schema_ref()
    }

    fn parse(text: &str) -> Result<Self, Mistake> {
        match text {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => {
                let message = "the value must be true or false".to_owned();
                Err((FieldCode::UnknownValue, message))
            }
        }
    }
}

/// An RFC 3339 date-time with any offset.
impl ParamValue for DateTime<Utc> {
    const REQUIRED: bool = true;

    fn schema() -> MetaSchemaRef {
        <Self as Type>::schema_ref()
    }

    fn parse(text: &str) -> Result<Self, Mistake> {
        // A plus sign of an offset that was not URL-encoded arrives as a space. Nothing else could
        // put a space there.
        let text = text.replace(' ', "+");
        parse_moment(&text).map_err(|(code, message)| (code, message.to_owned()))
    }
}

fn whole_schema(least: i64, most: i64) -> MetaSchemaRef {
    #[expect(clippy::cast_precision_loss, reason = "bounds are small, the document is for people")]
    let (minimum, maximum) = (least as f64, most as f64);
    MetaSchemaRef::Inline(Box::new(MetaSchema {
        minimum: Some(minimum),
        maximum: Some(maximum),
        ..MetaSchema::new("integer")
    }))
}

fn parse_whole(text: &str, least: i64, most: i64) -> Result<i64, Mistake> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        let message = "the value must be a whole number".to_owned();
        return Err((FieldCode::WrongType, message));
    }
    // A number that does not parse here has too many digits, so it is out of range too.
    text.parse().ok().filter(|number| (least..=most).contains(number)).ok_or_else(|| {
        let message = format!("the number must be between {least} and {most}");
        (FieldCode::OutOfRange, message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code<T: ParamValue>(text: &str) -> Option<FieldCode> {
        T::parse(text).err().map(|(code, _)| code)
    }

    #[test]
    fn limits() {
        assert_eq!(Limit::parse("100"), Ok(Limit(100)));
        for out in ["0", "101", "-1", "99999999999999999999"] {
            assert_eq!(code::<Limit>(out), Some(FieldCode::OutOfRange), "{out}");
        }
        for wrong in ["x", "1.0", "+1", "1e1", "-", " 1", "١"] {
            assert_eq!(code::<Limit>(wrong), Some(FieldCode::WrongType), "{wrong}");
        }
    }

    #[test]
    fn booleans_are_spelt_out() {
        assert_eq!(bool::parse("true"), Ok(true));
        assert_eq!(code::<bool>("1"), Some(FieldCode::UnknownValue));
        assert_eq!(code::<bool>("TRUE"), Some(FieldCode::UnknownValue));
    }

    #[test]
    fn date_times_take_any_offset() {
        let utc = DateTime::<Utc>::parse("2026-11-21T07:07:10.123Z").unwrap();
        for same in ["2026-11-21T09:07:10.123+02:00", "2026-11-21T09:07:10.123 02:00"] {
            assert_eq!(DateTime::<Utc>::parse(same), Ok(utc), "{same}");
        }
        for wrong in ["2026-11-21", "2026-11-21T07:07:10", "1763708830", "2026-13-01T00:00:00Z"] {
            assert_eq!(code::<DateTime<Utc>>(wrong), Some(FieldCode::InvalidFormat), "{wrong}");
        }
        let beyond = "9999-12-31T23:59:59-01:00";
        assert_eq!(code::<DateTime<Utc>>(beyond), Some(FieldCode::OutOfRange));
    }

    #[test]
    fn a_leap_second_is_the_second_after_it() {
        let leap = DateTime::<Utc>::parse("2016-12-31T23:59:60.5Z").unwrap();
        assert_eq!(leap, DateTime::<Utc>::parse("2017-01-01T00:00:00.5Z").unwrap());
    }
}
