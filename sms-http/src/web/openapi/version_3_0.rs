//! Renders a 3.1 document as OpenAPI 3.0, for tools that stopped there.
//!
//! The differences that matter to our documents: 3.0 says `nullable` instead of the type `null`,
//! allows nothing beside a reference, has one `example` in a schema and bounds that are exclusive
//! or not, and knows no webhooks.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// The same API as OpenAPI 3.0.
pub fn document_3_0(document: &Value) -> Value {
    let mut rendered = document.clone();
    rendered["openapi"] = json!("3.0.3");
    if let Some(top) = rendered.as_object_mut() {
        top.remove("jsonSchemaDialect");
        top.remove("webhooks");
    }
    if let Some(license) = rendered["info"]["license"].as_object_mut() {
        license.remove("identifier");
        license.insert("url".to_owned(), json!("https://opensource.org/license/mit"));
    }
    render(&mut rendered);
    type_nullable(&mut rendered, &types_of(document));
    drop_unused_schemas(&mut rendered);
    rendered
}

/// Keys whose values are data and no part of the description.
const DATA: [&str; 4] = ["example", "value", "default", "enum"];

fn render(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(render),
        Value::Object(object) => {
            for (key, inner) in object.iter_mut() {
                if key == "properties" {
                    // Its keys are names that the API chose.
                    inner.as_object_mut().into_iter().flatten().for_each(|(_, it)| render(it));
                    continue;
                }
                // The examples of a schema are an array; those of a media type have a `value`.
                let is_data = key == "examples" && inner.is_array();
                if !is_data && !DATA.contains(&key.as_str()) {
                    render(inner);
                }
            }
            render_schema(object);
        }
        _ => {}
    }
}

/// Changes what only schemas have.
fn render_schema(schema: &mut Map<String, Value>) {
    render_type(schema);
    render_choices(schema);
    render_reference(schema);
    if let Some(Value::Array(examples)) = schema.get_mut("examples") {
        let first = examples.first_mut().map(Value::take).unwrap_or_default();
        schema.remove("examples");
        schema.insert("example".to_owned(), first);
    }
    for (bound, exclusive) in [("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")] {
        if let Some(Value::Number(number)) = schema.get(exclusive).cloned() {
            schema.insert(bound.to_owned(), number.into());
            schema.insert(exclusive.to_owned(), json!(true));
        }
    }
}

/// `type: [string, null]` is `type: string, nullable: true`.
fn render_type(schema: &mut Map<String, Value>) {
    let Some(Value::Array(kinds)) = schema.get_mut("type") else {
        return;
    };
    let kind = kinds.iter().find(|kind| *kind != "null").cloned().unwrap_or_default();
    schema.insert("type".to_owned(), kind);
    schema.insert("nullable".to_owned(), json!(true));
}

/// A choice between something and null is that something, which may be null.
fn render_choices(schema: &mut Map<String, Value>) {
    for keyword in ["anyOf", "oneOf"] {
        let Some(Value::Array(choices)) = schema.get_mut(keyword) else {
            continue;
        };
        let all = choices.len();
        choices.retain(|choice| choice["type"] != "null");
        if choices.len() == all {
            continue;
        }
        let choices = std::mem::take(choices);
        schema.remove(keyword);
        let keyword = if choices.len() == 1 { "allOf" } else { keyword };
        schema.insert(keyword.to_owned(), choices.into());
        schema.insert("nullable".to_owned(), json!(true));
    }
}

/// The type of each named schema that has one.
fn types_of(document: &Value) -> BTreeMap<String, Value> {
    let schemas = document["components"]["schemas"].as_object().into_iter().flatten();
    let types = schemas.filter_map(|(name, schema)| {
        Some((format!("#/components/schemas/{name}"), schema.get("type")?.clone()))
    });
    types.collect()
}

/// `nullable` stands only beside a type, which a reference does not show. What refers to a choice
/// of types can only be left out.
fn type_nullable(value: &mut Value, types: &BTreeMap<String, Value>) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| type_nullable(item, types)),
        Value::Object(object) => {
            object.values_mut().for_each(|inner| type_nullable(inner, types));
            if object.get("nullable") == Some(&json!(true)) && !object.contains_key("type") {
                let reference = object.get("allOf").and_then(|all| all[0]["$ref"].as_str());
                match reference.and_then(|reference| types.get(reference)) {
                    Some(kind) => object.insert("type".to_owned(), kind.clone()),
                    None => object.remove("nullable"),
                };
            }
        }
        _ => {}
    }
}

/// Nothing may stand beside a reference.
fn render_reference(schema: &mut Map<String, Value>) {
    if schema.len() > 1
        && let Some(reference) = schema.remove("$ref")
    {
        schema.insert("allOf".to_owned(), json!([{ "$ref": reference }]));
    }
}

/// Drops the schemas that only webhooks referred to.
fn drop_unused_schemas(document: &mut Value) {
    loop {
        let text = document.to_string();
        let Some(schemas) = document["components"]["schemas"].as_object_mut() else {
            return;
        };
        let before = schemas.len();
        schemas.retain(|name, _| text.contains(&format!("\"#/components/schemas/{name}\"")));
        if schemas.len() == before {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(schema: &Value) -> Value {
        let document = json!({
            "paths": { "/": { "get": { "s": schema } } },
            "components": { "schemas": { "A": { "type": "object" }, "B": { "oneOf": [] } } },
        });
        document_3_0(&document)["paths"]["/"]["get"]["s"].take()
    }

    #[test]
    fn each_keyword_is_written_as_in_3_0() {
        let to = "#/components/schemas/A";
        for (schema, expected) in [
            (json!({ "type": ["string", "null"] }), json!({ "type": "string", "nullable": true })),
            (
                json!({ "description": "d", "anyOf": [{ "$ref": to }, { "type": "null" }] }),
                json!({
                    "description": "d", "allOf": [{ "$ref": to }], "nullable": true,
                    "type": "object",
                }),
            ),
            (
                json!({ "anyOf": [{ "$ref": "#/components/schemas/B" }, { "type": "null" }] }),
                json!({ "allOf": [{ "$ref": "#/components/schemas/B" }] }),
            ),
            (
                json!({ "oneOf": [{ "type": "string" }, { "type": "object" }] }),
                json!({ "oneOf": [{ "type": "string" }, { "type": "object" }] }),
            ),
            (
                json!({ "description": "d", "$ref": to }),
                json!({ "description": "d", "allOf": [{ "$ref": to }] }),
            ),
            (json!({ "$ref": to }), json!({ "$ref": to })),
            (
                json!({ "examples": [{ "type": ["a", "null"] }] }),
                json!({ "example": { "type": ["a", "null"] } }),
            ),
            (json!({ "exclusiveMinimum": 0 }), json!({ "exclusiveMinimum": true, "minimum": 0 })),
        ] {
            assert_eq!(rendered(&schema), expected);
        }
    }

    #[test]
    fn webhooks_and_what_only_they_refer_to_are_left_out() {
        let reference = |name: &str| json!({ "$ref": format!("#/components/schemas/{name}") });
        let document = json!({
            "openapi": "3.1.0",
            "jsonSchemaDialect": "x",
            "paths": { "/": { "get": reference("A") } },
            "webhooks": { "b": reference("B") },
            "components": { "schemas": { "A": {}, "B": { "c": reference("C") }, "C": {} } },
        });
        let rendered = document_3_0(&document);
        assert_eq!(rendered["openapi"], "3.0.3");
        assert_eq!(rendered["components"]["schemas"], json!({ "A": {} }));
        assert!(rendered.get("webhooks").is_none() && rendered.get("jsonSchemaDialect").is_none());
    }
}
