//! [`Moment`]: the format of times in answers, `2026-11-21T07:07:10.123Z`.
//!
//! The framework would write chrono's times with an offset and a variable number of digits. The
//! specification requires UTC with milliseconds.

use std::borrow::Cow;

use chrono::{DateTime, SecondsFormat, Utc};
use poem_openapi::registry::MetaSchemaRef;
use poem_openapi::types::{ParseError, ParseFromJSON, ParseResult, ToJSON, Type};
use serde_json::Value;

/// A time in an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment(pub DateTime<Utc>);

impl Type for Moment {
    const IS_REQUIRED: bool = true;

    type RawValueType = Self;
    type RawElementValueType = Self;

    fn name() -> Cow<'static, str> {
        "string_date-time".into()
    }

    fn schema_ref() -> MetaSchemaRef {
        MetaSchemaRef::Inline(Box::new(poem_openapi::registry::MetaSchema::new_with_format(
            "string",
            "date-time",
        )))
    }

    fn as_raw_value(&self) -> Option<&Self> {
        Some(self)
    }

    fn raw_element_iter<'a>(&'a self) -> Box<dyn Iterator<Item = &'a Self> + 'a> {
        Box::new(std::iter::once(self))
    }
}

/// Moments are never read. The framework requires this of every field of an object.
impl ParseFromJSON for Moment {
    fn parse_from_json(_value: Option<Value>) -> ParseResult<Self> {
        Err(ParseError::custom("moments are not read from JSON"))
    }
}

impl ToJSON for Moment {
    fn to_json(&self) -> Option<Value> {
        Some(Value::String(self.0.to_rfc3339_opts(SecondsFormat::Millis, true)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_utc_with_milliseconds() {
        for (millis, text) in [(0, "1970-01-01T00:00:00.000Z"), (1_120, "1970-01-01T00:00:01.120Z")]
        {
            let shown = Moment(DateTime::from_timestamp_millis(millis).unwrap()).to_json();
            assert_eq!(shown, Some(Value::from(text)));
        }
    }
}
