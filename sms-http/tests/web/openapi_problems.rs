//! What is structurally wrong with a document. The tests of the server look at theirs as well.

use std::collections::BTreeSet;

use serde_json::{Value, json};

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
