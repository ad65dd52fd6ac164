//! Converts a schema of OpenAPI 3.0 to 3.1, which is JSON Schema 2020-12.
//!
//! The framework describes an optional field only as not required, although it sends and accepts
//! null. So here a field that is neither required nor has a default may be null, unless it is
//! [`given`](crate::web::fields::Fields::given). Answers always have all their fields.

use serde_json::{Map, Number, Value, json};

use crate::web::fields::form::NOT_NULL_TITLE;

/// Who writes the JSON that a schema describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    /// The client: optional fields may be left out.
    Accepted,
    /// The server: every field is present.
    Produced,
}

const REFERENCE_START: &str = "#/components/schemas/";

/// Rewrites a schema and everything inside it.
pub(super) fn rewrite(schema: &mut Value, direction: Direction) {
    let Some(schema) = schema.as_object_mut() else {
        return;
    };
    flatten_described_reference(schema);
    trim_description(schema);
    for keyword in ["anyOf", "oneOf", "allOf"] {
        let inner = schema.get_mut(keyword).and_then(Value::as_array_mut);
        for part in inner.into_iter().flatten() {
            rewrite(part, direction);
        }
    }
    for keyword in ["items", "additionalProperties"] {
        if let Some(inner) = schema.get_mut(keyword) {
            rewrite(inner, direction);
        }
    }
    rewrite_properties(schema, direction);
    rewrite_unsigned(schema);
    rewrite_bounds(schema);
    if let Some(example) = schema.remove("example") {
        schema.insert("examples".to_owned(), json!([example]));
    }
    if schema.remove("nullable") == Some(Value::Bool(true)) {
        allow_null(schema);
    }
}

/// Trims the lines of a description: lines of a doc comment start with a space.
fn trim_description(schema: &mut Map<String, Value>) {
    if let Some(Value::String(text)) = schema.get_mut("description") {
        let lines: Vec<&str> = text.trim().lines().map(str::trim).collect();
        *text = lines.join("\n");
    }
}

/// Removes a title that only repeats the schema's name.
pub(super) fn drop_title(schema: &mut Value, name: &str) {
    if let Some(schema) = schema.as_object_mut()
        && schema.get("title").and_then(Value::as_str) == Some(name)
    {
        schema.remove("title");
    }
}

/// Adds the names of all schemas that `value` refers to.
pub(super) fn collect_references(value: Option<&Value>, names: &mut Vec<String>) {
    match value {
        Some(Value::Object(object)) => {
            let reference = object.get("$ref").and_then(Value::as_str);
            names.extend(
                reference
                    .and_then(|reference| reference.strip_prefix(REFERENCE_START))
                    .map(str::to_owned),
            );
            for inner in object.values() {
                collect_references(Some(inner), names);
            }
        }
        Some(Value::Array(items)) => {
            for item in items {
                collect_references(Some(item), names);
            }
        }
        _ => {}
    }
}

fn rewrite_properties(schema: &mut Map<String, Value>, direction: Direction) {
    let required = schema.get("required").cloned().unwrap_or_default();
    let is_required = |name: &str| {
        required.as_array().is_some_and(|names| names.iter().any(|required| required == name))
    };
    let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) else {
        return;
    };
    for (name, property) in properties.iter_mut() {
        rewrite(property, direction);
        let Some(property) = property.as_object_mut() else {
            continue;
        };
        let not_null = property.get("title").and_then(Value::as_str) == Some(NOT_NULL_TITLE);
        if not_null {
            property.remove("title");
        } else if !is_required(name) && !property.contains_key("default") {
            allow_null(property);
        }
    }
    if direction == Direction::Produced {
        let names: Vec<String> = properties.keys().cloned().collect();
        schema.insert("required".to_owned(), json!(names));
    }
}

/// The framework describes a reference as `{ description, allOf: [{ $ref }, { description }] }`. In
/// 3.1 the description may be next to the reference.
fn flatten_described_reference(schema: &mut Map<String, Value>) {
    let Some([reference, notes]) = schema.get("allOf").and_then(Value::as_array).map(Vec::as_slice)
    else {
        return;
    };
    let says_nothing_new = notes.as_object().is_some_and(|notes| {
        notes.iter().all(|(keyword, value)| schema.get(keyword) == Some(value))
    });
    if let Some(target) = reference.get("$ref").cloned()
        && says_nothing_new
    {
        schema.remove("allOf");
        schema.insert("$ref".to_owned(), target);
    }
}

/// Generators know `int32` and `int64` alone: of an unsigned format they make a number that is too
/// small, or a warning.
fn rewrite_unsigned(schema: &mut Map<String, Value>) {
    let signed = match schema.get("format").and_then(Value::as_str) {
        Some("uint8" | "uint16") => "int32",
        Some("uint32" | "uint64") => "int64",
        _ => return,
    };
    schema.insert("format".to_owned(), json!(signed));
    schema.entry("minimum").or_insert_with(|| json!(0));
}

/// 3.0 says `minimum: 1, exclusiveMinimum: true`, 3.1 `exclusiveMinimum: 1`.
fn rewrite_bounds(schema: &mut Map<String, Value>) {
    for (bound, exclusive) in [("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")] {
        match schema.remove(exclusive) {
            Some(Value::Bool(true)) => {
                let value = schema.remove(bound).unwrap_or_default();
                schema.insert(exclusive.to_owned(), value);
            }
            Some(Value::Bool(false)) | None => {}
            Some(already) => {
                schema.insert(exclusive.to_owned(), already);
            }
        }
        for keyword in [bound, exclusive, "multipleOf"] {
            if let Some(value) = schema.get_mut(keyword) {
                write_whole(value);
            }
        }
    }
}

/// The framework keeps bounds as floating point. `1.0` is written as `1`.
fn write_whole(value: &mut Value) {
    /// Up to here an `f64` represents every whole number exactly.
    const LARGEST_EXACT: f64 = 9_007_199_254_740_992.0;

    let whole = value
        .as_f64()
        .filter(|float| float.fract() == 0.0 && float.abs() < LARGEST_EXACT)
        .and_then(|float| format!("{float:.0}").parse::<Number>().ok());
    if let Some(whole) = whole {
        *value = Value::Number(whole);
    }
}

fn allow_null(schema: &mut Map<String, Value>) {
    if let Some(reference) = schema.remove("$ref") {
        let choices = json!([{ "$ref": reference }, { "type": "null" }]);
        schema.insert("anyOf".to_owned(), choices);
        return;
    }
    for keyword in ["anyOf", "oneOf"] {
        if let Some(choices) = schema.get_mut(keyword).and_then(Value::as_array_mut) {
            choices.push(json!({ "type": "null" }));
            return;
        }
    }
    if let Some(Value::String(kind)) = schema.get("type")
        && kind != "null"
    {
        let kinds = json!([kind, "null"]);
        schema.insert("type".to_owned(), kinds);
        if let Some(values) = schema.get_mut("enum").and_then(Value::as_array_mut) {
            values.push(Value::Null);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(mut schema: Value, direction: Direction) -> Value {
        rewrite(&mut schema, direction);
        schema
    }

    #[test]
    fn optional_fields_may_be_null() {
        let schema = json!({
            "type": "object",
            "required": ["a"],
            "properties": {
                "a": { "type": "string", "example": "x" },
                "b": { "type": "string", "enum": ["x"] },
                "c": { "$ref": "#/components/schemas/C" },
                "d": { "type": "integer", "default": 1.0, "minimum": 1.0 },
                "e": { "description": "e", "allOf": [
                    { "$ref": "#/components/schemas/C" }, { "description": "e" }] },
                "f": { "title": NOT_NULL_TITLE, "type": "boolean" },
                "g": {},
                "h": { "oneOf": [{ "type": "string" }, { "type": "array" }] },
            }
        });
        let properties = json!({
            "a": { "type": "string", "examples": ["x"] },
            "b": { "type": ["string", "null"], "enum": ["x", null] },
            "c": { "anyOf": [{ "$ref": "#/components/schemas/C" }, { "type": "null" }] },
            "d": { "type": "integer", "default": 1.0, "minimum": 1 },
            "e": { "description": "e",
                "anyOf": [{ "$ref": "#/components/schemas/C" }, { "type": "null" }] },
            "f": { "type": "boolean" },
            "g": {},
            "h": { "oneOf": [{ "type": "string" }, { "type": "array" }, { "type": "null" }] },
        });
        let accepted = rewritten(schema.clone(), Direction::Accepted);
        assert_eq!(accepted["properties"], properties);
        assert_eq!(accepted["required"], json!(["a"]));
        let produced = rewritten(schema, Direction::Produced);
        assert_eq!(produced["properties"], properties);
        assert_eq!(produced["required"], json!(["a", "b", "c", "d", "e", "f", "g", "h"]));
    }

    #[test]
    fn unsigned_numbers_are_signed_ones_with_a_minimum() {
        for (format, signed) in [("uint16", "int32"), ("uint32", "int64"), ("uint64", "int64")] {
            let schema = json!({ "type": "integer", "format": format });
            let expected = json!({ "type": "integer", "format": signed, "minimum": 0 });
            assert_eq!(rewritten(schema, Direction::Produced), expected);
        }
        let schema = json!({ "type": "integer", "format": "uint64", "minimum": 5.0 });
        let expected = json!({ "type": "integer", "format": "int64", "minimum": 5 });
        assert_eq!(rewritten(schema, Direction::Produced), expected);
    }

    #[test]
    fn exclusive_bounds_become_numbers() {
        let schema = json!({ "minimum": 0.0, "exclusiveMinimum": true, "maximum": 2.5 });
        let expected = json!({ "exclusiveMinimum": 0, "maximum": 2.5 });
        assert_eq!(rewritten(schema, Direction::Accepted), expected);
    }
}
