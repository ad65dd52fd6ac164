//! [`OneOrMany`]: a field that takes a string or an array of strings, as `to` of a send.

use std::borrow::Cow;

use poem_openapi::registry::{MetaSchema, MetaSchemaRef};
use poem_openapi::types::{ParseError, ParseFromJSON, ParseResult, ToJSON, Type};
use serde_json::Value;

/// The strings given: one, or an array of up to `MAX`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OneOrMany<const MAX: usize>(pub Vec<String>);

impl<const MAX: usize> Type for OneOrMany<MAX> {
    const IS_REQUIRED: bool = true;

    type RawValueType = Vec<String>;
    type RawElementValueType = String;

    fn name() -> Cow<'static, str> {
        "string_or_list_string".into()
    }

    fn schema_ref() -> MetaSchemaRef {
        let list = MetaSchema {
            items: Some(Box::new(String::schema_ref())),
            max_items: Some(MAX),
            ..MetaSchema::new("array")
        };
        MetaSchemaRef::Inline(Box::new(MetaSchema {
            one_of: vec![String::schema_ref(), MetaSchemaRef::Inline(Box::new(list))],
            ..MetaSchema::ANY
        }))
    }

    fn as_raw_value(&self) -> Option<&Self::RawValueType> {
        Some(&self.0)
    }

    fn raw_element_iter<'a>(
        &'a self,
    ) -> Box<dyn Iterator<Item = &'a Self::RawElementValueType> + 'a> {
        Box::new(self.0.iter())
    }
}

impl<const MAX: usize> ParseFromJSON for OneOrMany<MAX> {
    fn parse_from_json(value: Option<Value>) -> ParseResult<Self> {
        match value.unwrap_or_default() {
            Value::String(one) => Ok(Self(vec![one])),
            many => Vec::parse_from_json(Some(many)).map(Self).map_err(ParseError::propagate),
        }
    }
}

impl<const MAX: usize> ToJSON for OneOrMany<MAX> {
    fn to_json(&self) -> Option<Value> {
        self.0.to_json()
    }
}
