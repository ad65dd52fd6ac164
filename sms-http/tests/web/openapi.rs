//! The document is OpenAPI 3.1 and says what the server does.
//!
//! The checks here are structural. A validator of the whole specification can be run on the file
//! that `SMS_OPENAPI_OUT` names: `SMS_OPENAPI_OUT=api.json cargo test -p sms-http openapi`.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::sample::Sample;

/// What is structurally wrong with a document.
pub(crate) fn problems(document: &Value) -> Vec<String> {
    let mut problems = Vec::new();
    if document["openapi"] != "3.1.0" {
        problems.push("not 3.1.0".to_owned());
    }
    walk(document, document, "#", &mut problems);
    let mut ids = BTreeSet::new();
    for (path, item) in document["paths"].as_object().into_iter().flatten() {
        for (method, operation) in item.as_object().into_iter().flatten() {
            operation_problems(&format!("{method} {path}"), operation, &mut problems);
            parameter_problems(path, operation, &mut problems);
            if !ids.insert(operation["operationId"].as_str()) {
                problems.push(format!("{method} {path}: its operationId is another's too"));
            }
        }
    }
    problems
}

fn walk(document: &Value, value: &Value, at: &str, problems: &mut Vec<String>) {
    match value {
        Value::Object(object) => {
            if object.contains_key("nullable") {
                problems.push(format!("{at}: nullable"));
            }
            if at.contains("chema") && object.contains_key("example") {
                problems.push(format!("{at}: example in a schema"));
            }
            if object.get("title").is_some_and(|title| title == "x-not-null") {
                problems.push(format!("{at}: a marker was left"));
            }
            if let Some(reference) = object.get("$ref").and_then(Value::as_str) {
                let pointer = reference.strip_prefix('#').unwrap_or_default();
                if document.pointer(pointer).is_none() {
                    problems.push(format!("{at}: {reference} leads nowhere"));
                }
            }
            for (key, inner) in object {
                walk(document, inner, &format!("{at}/{key}"), problems);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                walk(document, item, &format!("{at}/{index}"), problems);
            }
        }
        _ => {}
    }
}

fn operation_problems(at: &str, operation: &Value, problems: &mut Vec<String>) {
    let responses = &operation["responses"];
    if operation["operationId"].as_str().is_none_or(str::is_empty) {
        problems.push(format!("{at}: no operationId"));
    }
    let mut expected = vec!["500", "503"];
    if operation["security"] != json!([]) {
        expected.extend(["401", "404", "422"]);
    }
    if operation.get("requestBody").is_some() {
        expected.extend(["408", "413", "415"]);
    }
    for status in expected {
        if responses.get(status).is_none() {
            problems.push(format!("{at}: no {status}"));
        }
    }
    let fine = ["200", "201", "204"];
    if !fine.iter().any(|status| responses.get(*status).is_some()) {
        problems.push(format!("{at}: no success"));
    }
}

fn parameter_problems(path: &str, operation: &Value, problems: &mut Vec<String>) {
    let in_path: BTreeSet<&str> = path
        .split('/')
        .filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'))
        .collect();
    let described: BTreeSet<&str> = operation["parameters"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|parameter| parameter["in"] == "path")
        .filter_map(|parameter| parameter["name"].as_str())
        .collect();
    if in_path != described {
        problems.push(format!("{path} has {in_path:?} and describes {described:?}"));
    }
}

#[test]
fn the_document_is_sound() {
    let document = Sample::new().document;
    if let Some(path) = std::env::var_os("SMS_OPENAPI_OUT") {
        std::fs::write(path, serde_json::to_vec_pretty(&document).unwrap()).unwrap();
    }
    assert_eq!(problems(&document), Vec::<String>::new());
    assert_eq!(document["info"]["version"], "1.0.0");
}

#[test]
fn what_we_produce_has_all_fields_and_says_which_may_be_null() {
    let document = Sample::new().document;
    let message = &document["components"]["schemas"]["Message"];
    assert_eq!(message["required"], json!(["id", "status", "sender", "created_at", "previous"]));
    assert_eq!(message["properties"]["sender"]["type"], json!(["string", "null"]));
    assert_eq!(
        message["properties"]["previous"]["anyOf"],
        json!([{ "$ref": "#/components/schemas/Status" }, { "type": "null" }])
    );
    assert_eq!(message["properties"]["id"]["type"], "string");
}

#[test]
fn what_we_accept_may_leave_out_optional_fields() {
    let schemas = Sample::new().document["components"]["schemas"].take();
    assert_eq!(schemas["SendRequest"]["required"], json!(["to"]));
    assert_eq!(schemas["SendRequest"]["properties"]["body"]["maxLength"], 10);
    let patch = &schemas["MessagePatch"]["properties"];
    assert_eq!(patch["body"]["type"], "string");
    assert_eq!(patch["note"]["type"], json!(["string", "null"]));
}

#[test]
fn envelopes_are_described() {
    let document = Sample::new().document;
    let page = &document["components"]["schemas"]["MessagePage"];
    assert_eq!(page["required"], json!(["data", "meta"]));
    let one = &document["components"]["schemas"]["MessageEnvelope"];
    assert_eq!(one["properties"]["meta"], json!({ "type": ["object", "null"] }));
    let send = &document["paths"]["/messages"]["post"];
    for status in ["200", "201", "409"] {
        assert!(send["responses"].get(status).is_some(), "{status}");
    }
    let headers = send["responses"]["201"]["headers"].as_object().unwrap();
    assert!(headers.contains_key("X-Request-Id") && headers.contains_key("RateLimit-Remaining"));
    assert!(send["requestBody"]["content"].get("application/json").is_some());
    assert_eq!(document["paths"]["/messages/wait"]["post"]["security"], json!([]));
}
