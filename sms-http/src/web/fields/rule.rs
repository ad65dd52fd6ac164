//! The rules of fields: one [`Rule`] for each kind of value.
//!
//! A rule reads a value and describes it in the OpenAPI document, so each limit is written once.
//! Every rule refuses U+0000 in a string, because PostgreSQL cannot store it. Rules know lengths,
//! ranges and formats, but nothing of phone numbers or credits.

use std::fmt::Display;

use poem_openapi::registry::{MetaSchema, MetaSchemaRef, Registry};
use serde_json::Value;

use crate::web::field_error::{FieldCode, FieldError, FieldErrors};
use crate::web::json::Path;

/// How to read a JSON value.
pub trait Rule {
    /// The type of the result.
    type Value;

    /// Reads the value, which is not null. `None` means that it added at least one error.
    fn read(&self, value: Value, path: &Path<'_>, errors: &mut FieldErrors) -> Option<Self::Value>;

    /// The placeholder for a required value that is missing or invalid.
    fn stand_in(&self) -> Self::Value;

    /// How the document describes the value. Schemas that it refers to are added to `registry`.
    fn schema(&self, registry: &mut Registry) -> MetaSchemaRef;
}

/// Adds the error that the value has the wrong JSON type.
pub fn wrong_type<T>(path: &Path<'_>, errors: &mut FieldErrors, expected: &str) -> Option<T> {
    let message = format!("the value must be {expected}");
    note(path, errors, FieldCode::WrongType, message)
}

/// Adds an error.
pub fn note<T>(
    path: &Path<'_>,
    errors: &mut FieldErrors,
    code: impl Into<&'static str>,
    message: impl Display,
) -> Option<T> {
    errors.push(FieldError::new(path.to_string(), code, message.to_string()));
    None
}

/// An inline schema.
pub fn inline(schema: MetaSchema) -> MetaSchemaRef {
    MetaSchemaRef::Inline(Box::new(schema))
}
