//! What a field may hold: one [`Rule`] for each kind of value.
//!
//! A rule reads a value and describes it in the OpenAPI document, so that each limit is written
//! once. Every rule refuses U+0000 in a string: no name and no PostgreSQL column can hold it. Rules
//! know lengths, ranges and forms; they know nothing of phone numbers or credits.

use std::fmt::Display;

use poem_openapi::registry::{MetaSchema, MetaSchemaRef, Registry};
use serde_json::Value;

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

    /// How the document describes the value. Schemas that it refers to are added to `registry`.
    fn schema(&self, registry: &mut Registry) -> MetaSchemaRef;
}

/// Notes that the value is of another JSON type.
pub fn wrong_type<T>(path: &Path<'_>, errors: &mut FieldErrors, expected: &str) -> Option<T> {
    let message = format!("the value must be {expected}");
    note(path, errors, FieldCode::WrongType, message)
}

/// Notes a mistake.
pub fn note<T>(
    path: &Path<'_>,
    errors: &mut FieldErrors,
    code: impl Into<&'static str>,
    message: impl Display,
) -> Option<T> {
    errors.push(FieldError::new(path.to_string(), code, message.to_string()));
    None
}

/// A schema that stands where it is used.
pub fn inline(schema: MetaSchema) -> MetaSchemaRef {
    MetaSchemaRef::Inline(Box::new(schema))
}
