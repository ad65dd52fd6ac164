//! Enums in requests and answers: [`Choices`] names the values, [`Named`] shows one.

use std::borrow::Cow;

use poem_openapi::registry::{MetaSchema, MetaSchemaRef, Registry};
use poem_openapi::types::{ParseError, ParseFromJSON, ParseResult, ToJSON, Type};
use serde_json::Value;

/// An enum whose values have names.
pub trait Choices: Copy + Send + Sync + 'static {
    /// The name of its schema.
    const NAME: &'static str;
    /// The description of its schema.
    const DESCRIPTION: &'static str;
    /// Every value, in the order of the document. Must not be empty.
    const ALL: &'static [Self];

    /// The name of a value.
    fn name(self) -> &'static str;
}

/// The value with this name.
pub fn find<E: Choices>(name: &str) -> Option<E> {
    E::ALL.iter().copied().find(|choice| choice.name() == name)
}

/// The names of all values, separated by commas: `a, b, c`.
pub fn allowed_values<E: Choices>() -> String {
    let names: Vec<&str> = E::ALL.iter().map(|choice| choice.name()).collect();
    names.join(", ")
}

/// A value of an enum, as answers and the document show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Named<E>(pub E);

impl<E> From<E> for Named<E> {
    fn from(choice: E) -> Self {
        Self(choice)
    }
}

impl<E: Choices> Type for Named<E> {
    const IS_REQUIRED: bool = true;

    type RawValueType = Self;
    type RawElementValueType = Self;

    fn name() -> Cow<'static, str> {
        E::NAME.into()
    }

    fn schema_ref() -> MetaSchemaRef {
        MetaSchemaRef::Reference(E::NAME.to_owned())
    }

    fn register(registry: &mut Registry) {
        registry.create_schema::<Self, _>(E::NAME.to_owned(), |_| MetaSchema {
            description: Some(E::DESCRIPTION),
            enum_items: E::ALL.iter().map(|choice| Value::from(choice.name())).collect(),
            ..MetaSchema::new("string")
        });
    }

    fn as_raw_value(&self) -> Option<&Self> {
        Some(self)
    }

    fn raw_element_iter<'a>(&'a self) -> Box<dyn Iterator<Item = &'a Self> + 'a> {
        Box::new(std::iter::once(self))
    }
}

/// Never used: rules read bodies. The framework requires this of every field of an object.
impl<E: Choices> ParseFromJSON for Named<E> {
    fn parse_from_json(value: Option<Value>) -> ParseResult<Self> {
        let found = value.as_ref().and_then(Value::as_str).and_then(find);
        found.map(Self).ok_or_else(|| ParseError::expected_type(value.unwrap_or_default()))
    }
}

impl<E: Choices> ToJSON for Named<E> {
    fn to_json(&self) -> Option<Value> {
        Some(Value::from(self.0.name()))
    }
}
