//! The OpenAPI 3.1 document of an API.
//!
//! The framework writes a 3.0 document without errors. At startup [`document`] rewrites it to 3.1,
//! marks what may be null (`schema.rs`), and adds the errors that all operations share
//! ([`Failure`]), so that no handler lists them. The operations, their parameters and answers come
//! from the handlers.

pub mod failure;
mod paths;
mod rules;
mod schema;

use std::collections::BTreeSet;

use poem_openapi::{OpenApi, OpenApiService, Webhook};
use serde_json::{Map, Value, json};

pub use self::failure::{Failure, Failures, Rate};
pub use self::rules::{DocumentRules, OwnPath};
use self::schema::Direction;

/// The path of the document, below the prefix of its API.
pub const DOCUMENT_PATH: &str = "/openapi.json";

/// The document of `service`.
///
/// Every operation with a key can answer 401, 404, 422, 429, 500 and 503, and one with a body also
/// 408, 413 and 415. A failure that the handler documents is kept.
pub fn document<T, W>(service: &OpenApiService<T, W>, rules: &DocumentRules) -> Value
where
    T: OpenApi,
    W: Webhook,
{
    let spec = service.spec();
    let mut document: Value = serde_json::from_str(&spec).unwrap_or_default();
    document["paths"] = paths::merged(&spec).into();
    if let Some(own) = rules.own_path {
        document["paths"][DOCUMENT_PATH] = own.item();
    }
    rewrite(&mut document, rules);
    document
}

const METHODS: [&str; 8] = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];

fn rewrite(document: &mut Value, rules: &DocumentRules) {
    document["openapi"] = json!("3.1.0");
    document["jsonSchemaDialect"] = json!("https://spec.openapis.org/oas/3.1/dialect/base");
    let schemas = document["components"]["schemas"].take();
    let mut schemas = match schemas {
        Value::Object(schemas) => schemas,
        _ => Map::new(),
    };
    let accepted = reachable(document, &schemas, Direction::Accepted);
    for (name, schema) in &mut schemas {
        let direction =
            if accepted.contains(name) { Direction::Accepted } else { Direction::Produced };
        schema::rewrite(schema, direction);
        schema::drop_title(schema, name);
    }
    failure::add_schemas(&mut schemas);
    document["components"]["schemas"] = Value::Object(schemas);
    document["components"]["responses"] = failure::responses(rules.failures);
    document["components"]["headers"] = failure::headers();
    document["components"]["securitySchemes"] = json!({ rules.key_name: {
        "type": "http",
        "scheme": "bearer",
        "description": rules.key_description,
    }});
    document["security"] = json!([{ rules.key_name: [] }]);
    for_each_operation(document, "paths", &mut |operation| {
        rewrite_operation(operation, rules);
    });
    for_each_operation(document, "webhooks", &mut |operation| {
        rewrite_content(operation, Direction::Produced);
    });
}

fn rewrite_operation(operation: &mut Map<String, Value>, rules: &DocumentRules) {
    let id = operation.get("operationId").and_then(Value::as_str).unwrap_or_default().to_owned();
    let with_key = !rules.without_key.contains(&id.as_str());
    if !with_key {
        operation.insert("security".to_owned(), json!([]));
    }
    rewrite_content(operation, Direction::Accepted);
    let has_body = operation.contains_key("requestBody");
    let counted = with_key && rules.rate == Rate::Limited;
    let mut own = Vec::new();
    let mut responses = Map::new();
    // Replaced in place, because the order of the keys is part of the document.
    let place = operation.entry("responses").or_insert_with(|| json!({}));
    for (status, response) in place.as_object().into_iter().flatten() {
        match failure::named(response, status, rules.failures) {
            Some(failure) => own.push(failure),
            None => {
                responses.insert(status.clone(), failure::with_headers(response.clone(), counted));
            }
        }
    }
    for failure in failure::shared(with_key, has_body, rules.rate).chain(own) {
        responses.entry(failure.status.as_str()).or_insert_with(|| failure.reference());
    }
    *place = Value::Object(responses);
}

/// Rewrites the inline parts of an operation: parameters, bodies, headers.
fn rewrite_content(operation: &mut Map<String, Value>, body_direction: Direction) {
    let parameters = operation.get_mut("parameters").and_then(Value::as_array_mut);
    for parameter in parameters.into_iter().flatten() {
        drop_defaults(parameter);
        schema::rewrite(&mut parameter["schema"], Direction::Accepted);
    }
    if let Some(body) = operation.get_mut("requestBody") {
        rewrite_media_types(body, body_direction);
    }
    let responses = operation.get_mut("responses").and_then(Value::as_object_mut);
    for (_, response) in responses.into_iter().flatten() {
        rewrite_media_types(response, Direction::Produced);
        let headers = response.get_mut("headers").and_then(Value::as_object_mut);
        for (_, header) in headers.into_iter().flatten() {
            drop_defaults(header);
            schema::rewrite(&mut header["schema"], Direction::Produced);
        }
    }
}

/// JSON is UTF-8 by definition, and tools do not recognise its media type with a parameter.
fn rewrite_media_types(owner: &mut Value, direction: Direction) {
    let Some(content) = owner.get_mut("content").and_then(Value::as_object_mut) else {
        return;
    };
    for (name, mut media) in std::mem::take(content) {
        schema::rewrite(&mut media["schema"], direction);
        let name = match name.split_once(';') {
            Some(("application/json", _)) => "application/json".to_owned(),
            _ => name,
        };
        content.insert(name, media);
    }
}

/// Removes what the framework writes although it is the default: `deprecated: false` and the style.
fn drop_defaults(parameter: &mut Value) {
    let Some(parameter) = parameter.as_object_mut() else {
        return;
    };
    if parameter.get("deprecated") == Some(&Value::Bool(false)) {
        parameter.remove("deprecated");
    }
    parameter.remove("explode");
}

fn for_each_operation(
    document: &mut Value,
    section: &str,
    visit: &mut dyn FnMut(&mut Map<String, Value>),
) {
    let items = document.get_mut(section).and_then(Value::as_object_mut);
    for (_, item) in items.into_iter().flatten() {
        for method in METHODS {
            if let Some(operation) = item.get_mut(method).and_then(Value::as_object_mut) {
                visit(operation);
            }
        }
    }
}

/// The named schemas that requests, or answers and webhooks, refer to, directly or indirectly.
fn reachable(
    document: &mut Value,
    schemas: &Map<String, Value>,
    direction: Direction,
) -> BTreeSet<String> {
    let mut waiting = Vec::new();
    for_each_operation(document, "paths", &mut |operation| {
        let parts: &[&str] = match direction {
            Direction::Accepted => &["requestBody", "parameters"],
            Direction::Produced => &["responses"],
        };
        for part in parts {
            schema::collect_references(operation.get(*part), &mut waiting);
        }
    });
    let mut found = BTreeSet::new();
    while let Some(name) = waiting.pop() {
        // A schema may refer to itself, so each is entered once.
        if found.insert(name.clone()) {
            schema::collect_references(schemas.get(&name), &mut waiting);
        }
    }
    found
}
