//! The OpenAPI 3.1 document of an API.
//!
//! The framework writes a 3.0 document without errors. [`document`] rewrites it to 3.1, marks what
//! may be null (`schema.rs`), and adds the errors that all operations share ([`Failure`]), so that
//! no handler lists them, and the codes, examples, sections and webhooks of the API's rules
//! ([`DocumentRules`]). The operations, their parameters and answers come from the handlers.
//!
//! The document is written for generators of clients as much as for people: every schema inside
//! another has a name, and no field is only null. [`document_3_0`] renders it for tools that
//! stopped at 3.0.

pub mod error_code;
mod example;
pub mod failure;
mod paths;
mod rules;
mod schema;
mod version_3_0;

use std::collections::BTreeSet;

use poem::http::Method;
use poem_openapi::{OpenApi, OpenApiService, Webhook};
use serde_json::{Map, Value, json};

pub use self::error_code::{ErrorCode, no_details};
pub use self::failure::{Failure, Failures, Rate};
pub use self::rules::{DOCUMENT_PATH, DOCUMENT_PATH_3_0, DocumentRules, Events, OwnPath};
use self::schema::Direction;
pub use self::version_3_0::document_3_0;
use crate::web::collection::is_collection;

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
    for (path, item) in rules.own_path.into_iter().flat_map(OwnPath::items) {
        document["paths"][path] = item;
    }
    rewrite(&mut document, rules);
    order_by_section(&mut document, rules.tags);
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
    failure::add_schemas(&mut schemas, rules.codes);
    if rules.own_path.is_some() {
        schemas.insert("OpenApiDocument".to_owned(), OwnPath::schema());
    }
    if let Some(Events { webhooks, schemas: of_events }) = rules.events.map(|events| events()) {
        schemas.extend(of_events);
        document["webhooks"] = webhooks.into();
    }
    document["components"]["schemas"] = Value::Object(schemas);
    document["components"]["responses"] = failure::responses(rules.failures, rules.codes);
    document["info"]["description"] = rules.guide.trim().into();
    document["info"]["contact"] = json!({ "name": "The operator of this server" });
    document["info"]["license"] = json!({ "name": "MIT", "identifier": "MIT" });
    document["components"]["headers"] = failure::headers();
    document["components"]["securitySchemes"] = json!({ rules.key_name: {
        "type": "http",
        "scheme": "bearer",
        "description": rules.key_description,
    }});
    document["security"] = json!([{ rules.key_name: [] }]);
    let examples = example::Examples::read(rules.examples);
    for_each_operation(document, "paths", &mut |operation| {
        rewrite_operation(operation, rules);
        examples.add_to(operation);
    });
    for_each_collection(document, &mut |operation| {
        operation["responses"]["422"] = failure::of_collection();
    });
    for_each_operation(document, "webhooks", &mut |operation| {
        rewrite_content(operation, Direction::Produced);
        examples.add_to(operation);
    });
    drop_unused(document, "responses");
    drop_unused(document, "headers");
}

/// Removes the shared parts of a kind that nothing refers to.
fn drop_unused(document: &mut Value, kind: &str) {
    let text = document.to_string();
    if let Some(parts) = document["components"].get_mut(kind).and_then(Value::as_object_mut) {
        parts.retain(|name, _| text.contains(&format!("\"#/components/{kind}/{name}\"")));
    }
}

/// Puts the sections, and the paths, in the order of these tags.
fn order_by_section(document: &mut Value, tags: &[&str]) {
    let place = |name: &Value| {
        let found = name.as_str().and_then(|name| tags.iter().position(|tag| *tag == name));
        found.unwrap_or(tags.len())
    };
    if let Some(sections) = document.get_mut("tags").and_then(Value::as_array_mut) {
        sections.sort_by_key(|section| place(&section["name"]));
    }
    if let Some(paths) = document["paths"].as_object_mut() {
        let mut items: Vec<(String, Value)> = std::mem::take(paths).into_iter().collect();
        items.sort_by_key(|(_, item)| {
            let mut operations = item.as_object().into_iter().flatten();
            operations.next().map(|(_, operation)| place(&operation["tags"][0]))
        });
        paths.extend(items);
    }
}

fn rewrite_operation(operation: &mut Map<String, Value>, rules: &DocumentRules) {
    let id = operation.get("operationId").and_then(Value::as_str).unwrap_or_default().to_owned();
    let with_key = !rules.without_key.contains(&id.as_str());
    if !with_key {
        operation.insert("security".to_owned(), json!([]));
    }
    rewrite_content(operation, Direction::Accepted);
    let has_body = operation.contains_key("requestBody");
    let mut headers = vec!["X-Request-Id"];
    if with_key && rules.rate == Rate::Limited {
        headers.extend(["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"]);
    }
    if has_body {
        headers.push("X-Unknown-Fields");
    }
    let parameters = operation.get("parameters").and_then(Value::as_array);
    if parameters.into_iter().flatten().any(|parameter| parameter["name"] == "cursor") {
        headers.push("Link");
    }
    let mut own = Vec::new();
    let codes = rules.codes_of(&id);
    let mut responses = Map::new();
    // Replaced in place, because the order of the keys is part of the document.
    let place = operation.entry("responses").or_insert_with(|| json!({}));
    for (status, response) in place.as_object().into_iter().flatten() {
        match failure::named(response, status, rules.failures) {
            Some(failure) => own.push(failure),
            None => {
                responses.insert(status.clone(), failure::with_headers(response.clone(), &headers));
            }
        }
    }
    for failure in failure::shared(with_key, has_body, rules.rate).chain(own) {
        let of_status: Vec<_> =
            codes.iter().copied().filter(|code| code.status == failure.status).collect();
        responses.entry(failure.status.as_str()).or_insert_with(|| match &of_status[..] {
            [] => failure.reference(),
            own => failure.response_with(own),
        });
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
        let headers = headers.map(std::mem::take).unwrap_or_default();
        for (name, mut header) in headers {
            if name.eq_ignore_ascii_case("ETag") {
                response["headers"]["ETag"] = failure::header_reference("ETag");
                continue;
            }
            drop_defaults(&mut header);
            if header.get("schema").is_some() {
                schema::rewrite(&mut header["schema"], Direction::Produced);
            }
            response["headers"][in_title_case(&name)] = header;
        }
    }
}

/// The framework writes the names of headers in upper case.
fn in_title_case(name: &str) -> String {
    let words = name.split('-').map(|word| {
        let (first, rest) = word.split_at(word.len().min(1));
        first.to_uppercase() + &rest.to_lowercase()
    });
    words.collect::<Vec<_>>().join("-")
}

/// Tools do not recognise media types with parameters. What is not JSON is text here, so that
/// clients read it as text.
fn rewrite_media_types(owner: &mut Value, direction: Direction) {
    let Some(content) = owner.get_mut("content").and_then(Value::as_object_mut) else {
        return;
    };
    for (name, mut media) in std::mem::take(content) {
        schema::rewrite(&mut media["schema"], direction);
        let name = name.split(';').next().unwrap_or_default().to_owned();
        if name.starts_with("text/") {
            media["schema"] = json!({ "type": "string" });
        }
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

/// The operations of which unknown query parameters are refused.
fn for_each_collection(document: &mut Value, visit: &mut dyn FnMut(&mut Value)) {
    let items = document["paths"].as_object_mut();
    for (path, item) in items.into_iter().flatten() {
        let is_document = [DOCUMENT_PATH, DOCUMENT_PATH_3_0].contains(&path.as_str());
        if is_collection(&Method::GET, path)
            && !is_document
            && let Some(operation) = item.get_mut("get")
            && operation["responses"].get("422").is_some()
        {
            visit(operation);
        }
    }
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
