//! [`Given`]: a field that may be left out but not set to null.
//!
//! Beside its value the type carries something for the OpenAPI document: every other field that is
//! not required may be null there, one of this type may not.

use std::borrow::Cow;

use poem_openapi::registry::{MetaSchema, MetaSchemaRef, Registry};
use poem_openapi::types::{ParseError, ParseFromJSON, ParseResult, ToJSON, Type};
use serde_json::Value;

/// Stands in the title of a schema that must not be made nullable; the document drops it.
pub(crate) const NOT_NULL_TITLE: &str = "x-not-null";

/// A value, or nothing if the field was left out. Never null.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Given<T>(pub Option<T>);

impl<T: Type> Type for Given<T> {
    const IS_REQUIRED: bool = false;

    type RawValueType = T::RawValueType;
    type RawElementValueType = T::RawElementValueType;

    fn name() -> Cow<'static, str> {
        format!("given_{}", T::name()).into()
    }

    fn schema_ref() -> MetaSchemaRef {
        T::schema_ref()
            .merge(MetaSchema { title: Some(NOT_NULL_TITLE.to_owned()), ..MetaSchema::ANY })
    }

    fn register(registry: &mut Registry) {
        T::register(registry);
    }

    fn as_raw_value(&self) -> Option<&Self::RawValueType> {
        self.0.as_ref().and_then(Type::as_raw_value)
    }

    fn raw_element_iter<'a>(
        &'a self,
    ) -> Box<dyn Iterator<Item = &'a Self::RawElementValueType> + 'a> {
        match &self.0 {
            Some(value) => value.raw_element_iter(),
            None => Box::new(std::iter::empty()),
        }
    }
}

impl<T: ParseFromJSON> ParseFromJSON for Given<T> {
    fn parse_from_json(value: Option<Value>) -> ParseResult<Self> {
        match value {
            None => Ok(Self(None)),
            Some(value) => T::parse_from_json(Some(value))
                .map(|value| Self(Some(value)))
                .map_err(ParseError::propagate),
        }
    }
}

impl<T: ToJSON> ToJSON for Given<T> {
    fn to_json(&self) -> Option<Value> {
        self.0.as_ref().and_then(ToJSON::to_json)
    }
}
