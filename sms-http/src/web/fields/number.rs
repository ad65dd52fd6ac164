//! Numbers and booleans: [`whole`], [`count`], [`boolean`].

use std::fmt::Display;
use std::ops::RangeInclusive;

use poem_openapi::registry::{MetaSchema, MetaSchemaRef, Registry};
use serde_json::{Number, Value};

use super::rule::{Rule, inline, note, wrong_type};
use crate::web::field_error::{FieldCode, FieldErrors};
use crate::web::json::Path;

/// A whole number within the range. `5.0` is 5, as in JSON Schema.
pub fn whole(range: RangeInclusive<i64>) -> Whole {
    Whole { range, refused: None }
}

/// A whole number within the range, which must not include negative numbers.
pub fn count(range: RangeInclusive<u64>) -> Count {
    Count { range }
}

/// `true` or `false`.
pub fn boolean() -> Boolean {
    Boolean
}

/// See [`whole`].
#[derive(Debug, Clone)]
pub struct Whole {
    range: RangeInclusive<i64>,
    refused: Option<i64>,
}

impl Whole {
    /// Refuses one number of the range.
    #[must_use]
    pub fn but(mut self, refused: i64) -> Self {
        self.refused = Some(refused);
        self
    }
}

impl Rule for Whole {
    type Value = i64;

    fn read(&self, value: Value, path: &Path<'_>, errors: &mut FieldErrors) -> Option<i64> {
        let whole = read_within(&self.range, value, path, errors)?;
        if Some(whole) == self.refused {
            let message = format!("the number must not be {whole}");
            return note(path, errors, FieldCode::OutOfRange, message);
        }
        Some(whole)
    }

    fn stand_in(&self) -> i64 {
        *self.range.start()
    }

    #[expect(clippy::cast_precision_loss, reason = "bounds are within 2^53, where all are exact")]
    fn schema(&self, _registry: &mut Registry) -> MetaSchemaRef {
        bounded("int64", *self.range.start() as f64, *self.range.end() as f64)
    }
}

/// See [`count`].
#[derive(Debug, Clone)]
pub struct Count {
    range: RangeInclusive<u64>,
}

impl Rule for Count {
    type Value = u64;

    fn read(&self, value: Value, path: &Path<'_>, errors: &mut FieldErrors) -> Option<u64> {
        read_within(&self.range, value, path, errors)
    }

    fn stand_in(&self) -> u64 {
        *self.range.start()
    }

    #[expect(clippy::cast_precision_loss, reason = "bounds are within 2^53, where all are exact")]
    fn schema(&self, _registry: &mut Registry) -> MetaSchemaRef {
        bounded("uint64", *self.range.start() as f64, *self.range.end() as f64)
    }
}

fn read_within<N>(
    range: &RangeInclusive<N>,
    value: Value,
    path: &Path<'_>,
    errors: &mut FieldErrors,
) -> Option<N>
where
    N: TryFrom<i64> + PartialOrd + Display,
{
    let Value::Number(number) = value else {
        return wrong_type(path, errors, "a whole number");
    };
    let fits = match whole_number(&number) {
        WholeNumber::Fraction => return wrong_type(path, errors, "a whole number"),
        WholeNumber::TooLarge => None,
        WholeNumber::Fits(whole) => N::try_from(whole).ok().filter(|whole| range.contains(whole)),
    };
    fits.or_else(|| {
        let message = format!("the number must be between {} and {}", range.start(), range.end());
        note(path, errors, FieldCode::OutOfRange, message)
    })
}

fn bounded(format: &'static str, least: f64, most: f64) -> MetaSchemaRef {
    inline(MetaSchema {
        minimum: Some(least),
        maximum: Some(most),
        ..MetaSchema::new_with_format("integer", format)
    })
}

enum WholeNumber {
    Fits(i64),
    TooLarge,
    Fraction,
}

fn whole_number(number: &Number) -> WholeNumber {
    /// Up to here an `f64` represents every whole number exactly.
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

    fn schema(&self, _registry: &mut Registry) -> MetaSchemaRef {
        inline(MetaSchema::new("boolean"))
    }
}
