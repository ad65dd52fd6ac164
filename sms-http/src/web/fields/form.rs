//! The declaration of a body: [`request_body!`](crate::request_body), and the schema it writes.

pub use poem_openapi::registry::{MetaSchema, MetaSchemaRef, Registry};
pub use poem_openapi::types::Type;
pub use serde_json::json;
use serde_json::{Map, Value};

use super::Rule;

/// The title that marks a schema as not nullable. The rewrite of the document removes it.
pub(crate) const NOT_NULL_TITLE: &str = "x-not-null";

/// Builds the schema of a body.
pub struct Form<'r> {
    registry: &'r mut Registry,
    schema: MetaSchema,
    example: Map<String, Value>,
}

impl std::fmt::Debug for Form<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Form").field("schema", &self.schema).finish_non_exhaustive()
    }
}

/// A field: its name, its description, and its value in the example.
#[derive(Debug)]
pub struct Field(pub &'static str, pub &'static str, pub Option<Value>);

impl<'r> Form<'r> {
    /// A body without fields.
    pub fn new(registry: &'r mut Registry, name: &str, description: &'static str) -> Self {
        let (title, description) = (Some(name.to_owned()), told(description));
        let schema = MetaSchema { title, description, ..MetaSchema::new("object") };
        Self { registry, schema, example: Map::new() }
    }

    /// Adds a required field.
    pub fn required<T>(&mut self, field: Field, rule: &impl Rule<Value = T>) {
        self.schema.required.push(field.0);
        self.add(field, rule, None);
    }

    /// Adds a field that may be absent or null.
    pub fn optional<T>(&mut self, field: Field, rule: &impl Rule<Value = T>) {
        self.add(field, rule, None);
    }

    /// Adds a field that may be absent but not null.
    pub fn given<T>(&mut self, field: Field, rule: &impl Rule<Value = T>) {
        self.add(field, rule, Some(NOT_NULL_TITLE.to_owned()));
    }

    /// Adds a field that may be absent, or null to clear it.
    pub fn patch<T>(&mut self, field: Field, rule: &impl Rule<Value = T>) {
        self.add(field, rule, None);
    }

    /// The schema. It has an example if any field has one; the other fields are left out of it.
    pub fn finish(self) -> MetaSchema {
        let example = Some(self.example).filter(|example| !example.is_empty());
        MetaSchema { example: example.map(Value::Object), ..self.schema }
    }

    fn add(&mut self, field: Field, rule: &impl Rule, title: Option<String>) {
        let Field(name, description, example) = field;
        let notes = MetaSchema { description: told(description), title, ..MetaSchema::ANY };
        let schema = rule.schema(self.registry).merge(notes);
        self.schema.properties.push((name, schema));
        self.example.extend(example.map(|example| (name.to_owned(), example)));
    }
}

/// A doc comment, if there is one. The rewrite of the document trims its lines.
fn told(description: &'static str) -> Option<&'static str> {
    Some(description).filter(|text| !text.is_empty())
}

/// Declares the body of a request: each field once, with its rule, its description and its value in
/// the example. It generates the struct, the parser that finds every invalid field, and the schema.
///
/// `required f: T` is a `T`; `optional` and `given` are an `Option<T>`; `patch` is an
/// `Option<Option<T>>`. Rules are those of [`fields`](crate::web::fields).
#[macro_export]
macro_rules! request_body {
    (
        $(#[doc = $about:literal])*
        $vis:vis struct $name:ident as $title:literal {
            $(
                $(#[doc = $doc:literal])*
                $presence:ident $field:ident: $type:ty = $rule:expr $(, example $example:expr)?;
            )*
        }
    ) => {
        $(#[doc = $about])*
        #[derive(Debug)]
        $vis struct $name {
            $(
                $(#[doc = $doc])*
                $vis $field: $crate::request_body!(@ $presence $type),
            )*
        }

        impl $crate::web::fields::FromFields for $name {
            fn from_fields(fields: &mut $crate::web::fields::Fields<'_>) -> Self {
                #[allow(clippy::wildcard_imports, unused_imports, reason = "rules of any kind")]
                use $crate::web::fields::*;
                Self { $($field: fields.$presence(stringify!($field), $rule),)* }
            }
        }

        impl $crate::web::fields::form::Type for $name {
            const IS_REQUIRED: bool = true;

            type RawValueType = Self;
            type RawElementValueType = Self;

            fn name() -> std::borrow::Cow<'static, str> {
                $title.into()
            }

            fn schema_ref() -> $crate::web::fields::form::MetaSchemaRef {
                $crate::web::fields::form::MetaSchemaRef::Reference($title.to_owned())
            }

            fn register(registry: &mut $crate::web::fields::form::Registry) {
                #[allow(clippy::wildcard_imports, unused_imports, reason = "rules of any kind")]
                use $crate::web::fields::*;
                registry.create_schema::<Self, _>($title.to_owned(), |registry| {
                    let mut form = form::Form::new(registry, $title, concat!($($about, "\n"),*));
                    $(
                        let example = None $(.or(Some(form::json!($example))))?;
                        let docs = concat!($($doc, "\n"),*);
                        let field = form::Field(stringify!($field), docs, example);
                        form.$presence::<$type>(field, &$rule);
                    )*
                    form.finish()
                });
            }

            fn as_raw_value(&self) -> Option<&Self> {
                Some(self)
            }

            fn raw_element_iter<'a>(&'a self) -> Box<dyn Iterator<Item = &'a Self> + 'a> {
                Box::new(std::iter::once(self))
            }
        }
    };
    (@ required $type:ty) => { $type };
    (@ optional $type:ty) => { Option<$type> };
    (@ given $type:ty) => { Option<$type> };
    (@ patch $type:ty) => { Option<$crate::web::fields::Nullable<$type>> };
}
