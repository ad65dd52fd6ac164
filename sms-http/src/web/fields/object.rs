//! Objects: [`object`], [`json_object`], and whole bodies: [`object_from`].

use std::marker::PhantomData;

use poem_openapi::registry::{MetaSchema, MetaSchemaRef, Registry};
use poem_openapi::types::Type;
use serde_json::{Map, Value};

use super::rule::{Rule, inline, note, wrong_type};
use super::{Fields, FromFields};
use crate::web::field_error::{FieldCode, FieldErrors};
use crate::web::json::Path;

/// An object with declared fields.
pub fn object<T: FromFields>() -> Object<T> {
    Object { fields: PhantomData }
}

/// An object with any keys and values.
pub fn json_object() -> JsonObject {
    JsonObject
}

/// Reads a `T` from a whole body. After an error the value is a placeholder.
pub fn object_from<T: FromFields>(body: Value, errors: &mut FieldErrors) -> T {
    let rule = object::<T>();
    let value = rule.read(body, &Path::ROOT, errors);
    value.unwrap_or_else(|| rule.stand_in())
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
            // An invalid field has a placeholder, so the object is complete.
            Value::Object(object) => {
                let mut fields = Fields::new(object, path, errors);
                let value = T::from_fields(&mut fields);
                fields.note_unknown();
                Some(value)
            }
            _ => wrong_type(path, errors, "an object"),
        }
    }

    fn stand_in(&self) -> T {
        let mut unheard = FieldErrors::new();
        T::from_fields(&mut Fields::new(Map::new(), &Path::ROOT, &mut unheard))
    }

    fn schema(&self, registry: &mut Registry) -> MetaSchemaRef {
        T::register(registry);
        <T as Type>::schema_ref()
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
            let message = "a key or string in it contains the character U+0000";
            return note(path, errors, FieldCode::InvalidCharacter, message);
        }
        Some(object)
    }

    fn stand_in(&self) -> Map<String, Value> {
        Map::new()
    }

    fn schema(&self, _registry: &mut Registry) -> MetaSchemaRef {
        let any = Box::new(inline(MetaSchema::ANY));
        inline(MetaSchema { additional_properties: Some(any), ..MetaSchema::new("object") })
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
