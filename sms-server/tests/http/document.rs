//! The documents of both APIs: sound, as committed, and served as they are.
//!
//! After a change on purpose, `SMS_UPDATE_GOLDEN=1 cargo test -p sms-server document` writes the
//! files anew; read what changed before committing it.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::{Value, json};
use sms_http::web::error_page;
use sms_http::web::openapi::document_3_0;
use sms_server::app::error_codes;

use crate::openapi_problems::problems;
use crate::rig::Rig;

/// The document as the committed file shows it, or the file written anew.
fn compare(document: &Value, name: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    let now = format!("{document:#}\n");
    if std::env::var_os("SMS_UPDATE_GOLDEN").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, now).unwrap();
        return;
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = committed.lines().zip(now.lines()).position(|(old, new)| old != new);
    assert!(
        committed == now,
        "tests/golden/{name} is not what the server says, from line {:?} on. If the change is \
         meant: SMS_UPDATE_GOLDEN=1 cargo test -p sms-server document",
        differs.map(|line| line + 1),
    );
}

/// The path of a URL.
fn path(url: &str) -> &str {
    url.find("/api/").map_or(url, |start| &url[start..])
}

#[tokio::test]
async fn the_documents_are_as_committed() {
    let rig = Rig::new().await;
    for (name, document) in
        [("openapi", &rig.documents().api), ("operator-openapi", &rig.documents().admin)]
    {
        let mut document = document.clone();
        // The address of the tests is nobody's.
        document["servers"] = json!([{ "url": document["servers"][0]["url"].as_str().map(path) }]);
        compare(&document, &format!("{name}.json"));
        compare(&document_3_0(&document), &format!("{name}-3.0.json"));
    }
}

#[tokio::test]
async fn the_documents_are_sound() {
    let rig = Rig::new().await;
    let none: Vec<String> = Vec::new();
    assert_eq!(problems(&rig.documents().api), none);
    assert_eq!(problems(&rig.documents().admin), none);
    for document in [&rig.documents().api, &rig.documents().admin] {
        assert_eq!(document["openapi"], "3.1.0");
        assert_eq!(document["info"]["version"], "1.0.0");
    }
}

/// The operations of the operator's API.
const ADMIN: &[&str] = &[
    "POST /accounts",
    "GET /accounts",
    "GET /accounts/{id}",
    "PATCH /accounts/{id}",
    "POST /accounts/{id}/credits",
    "GET /accounts/{id}/ledger",
    "POST /accounts/{id}/keys",
    "GET /accounts/{id}/keys",
    "DELETE /accounts/{id}/keys/{key_id}",
    "POST /numbers",
    "GET /numbers",
    "DELETE /numbers/{id}",
    "POST /numbers/{id}/check-in",
    "GET /sender-ids",
    "POST /sender-ids/{id}/approve",
    "POST /sender-ids/{id}/reject",
    "POST /inbound",
    "GET /routes",
    "GET /routes/{name}/unmatched-receipts",
    "GET /unrouted",
    "POST /receipts",
    "GET /clock",
    "POST /clock",
    "GET /openapi.json",
    "GET /openapi-3.0.json",
];

#[tokio::test]
async fn every_endpoint_of_this_version_is_described() {
    let rig = Rig::new().await;
    let operations = |document: &Value| -> BTreeSet<String> {
        let paths = document["paths"].as_object().unwrap();
        paths
            .iter()
            .flat_map(|(path, item)| {
                let methods = item.as_object().unwrap().keys();
                methods.map(move |method| format!("{} {path}", method.to_uppercase()))
            })
            .collect()
    };
    let api = [
        "POST /messages",
        "POST /messages/quote",
        "GET /messages",
        "GET /messages/{id}",
        "POST /messages/{id}/cancel",
        "GET /messages/export",
        "GET /conversations",
        "GET /conversations/{phone}",
        "POST /conversations/{phone}/read",
        "GET /contacts",
        "POST /contacts",
        "GET /contacts/{id}",
        "PATCH /contacts/{id}",
        "DELETE /contacts/{id}",
        "POST /contacts/import",
        "GET /contacts/fields",
        "GET /lists",
        "POST /lists",
        "GET /lists/{id}",
        "PATCH /lists/{id}",
        "DELETE /lists/{id}",
        "GET /lists/{id}/contacts",
        "POST /lists/{id}/contacts",
        "DELETE /lists/{id}/contacts/{contact_id}",
        "GET /links",
        "GET /links/{id}",
        "GET /keywords",
        "POST /keywords",
        "GET /keywords/{id}",
        "PATCH /keywords/{id}",
        "DELETE /keywords/{id}",
        "GET /balance",
        "GET /campaigns",
        "POST /campaigns",
        "GET /campaigns/{id}",
        "PATCH /campaigns/{id}",
        "DELETE /campaigns/{id}",
        "POST /campaigns/{id}/send",
        "POST /campaigns/{id}/cancel",
        "GET /api-keys",
        "GET /numbers",
        "GET /stats/summary",
        "GET /stats/timeseries",
        "GET /opt-outs",
        "POST /opt-outs",
        "POST /opt-outs/import",
        "DELETE /opt-outs/{phone}",
        "GET /sender-ids",
        "POST /sender-ids",
        "GET /templates",
        "POST /templates",
        "GET /templates/{id}",
        "PATCH /templates/{id}",
        "DELETE /templates/{id}",
        "GET /webhooks",
        "POST /webhooks",
        "PATCH /webhooks/{id}",
        "DELETE /webhooks/{id}",
        "POST /webhooks/{id}/test",
        "POST /webhooks/{id}/replay",
        "GET /webhooks/{id}/deliveries",
        "POST /webhooks/{id}/deliveries/{delivery_id}/retry",
        "GET /events",
        "GET /events/stream",
        "GET /events/{id}",
        "GET /openapi.json",
        "GET /openapi-3.0.json",
    ];
    let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    assert_eq!(operations(&rig.documents().api), owned(&api));
    assert_eq!(operations(&rig.documents().admin), owned(ADMIN));
}

#[tokio::test]
async fn the_documents_are_served_as_they_are() {
    let rig = Rig::new().await;
    let open = rig.client(None).get("/openapi.json").await.assert(200);
    assert_eq!(open.json, rig.documents().api);
    assert_eq!(open.header("content-type"), "application/json");
    assert_eq!(open.json["servers"], json!([{ "url": "https://sms.example.com/api/v1" }]));
    let operators = rig.operator().get("/openapi.json").await.assert(200);
    assert_eq!(operators.json, rig.documents().admin);
    let open = rig.client(None).get("/openapi-3.0.json").await.assert(200);
    assert_eq!(open.json, document_3_0(&rig.documents().api));
    let operators = rig.operator().get("/openapi-3.0.json").await.assert(200);
    assert_eq!(operators.json, document_3_0(&rig.documents().admin));
}

#[tokio::test]
async fn the_page_of_the_document_needs_no_key_and_holds_it() {
    let rig = Rig::new().await;
    let page = rig.client(None).ask_at(poem::http::Method::GET, "/docs").send().await.assert(200);
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
    assert!(page.text().contains("message_list") && page.text().contains("message_send"));
}

#[tokio::test]
async fn every_operation_and_parameter_says_what_it_is() {
    let rig = Rig::new().await;
    for document in [&rig.documents().api, &rig.documents().admin] {
        for (path, item) in document["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap() {
                assert!(operation["summary"].is_string(), "{method} {path}");
                assert!(operation["description"].is_string(), "{method} {path}");
                assert_eq!(operation["tags"].as_array().unwrap().len(), 1);
                for parameter in operation["parameters"].as_array().into_iter().flatten() {
                    assert!(parameter["description"].is_string(), "{method} {path} {parameter}");
                }
            }
        }
        for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
            let properties = schema["properties"].as_object().into_iter().flatten();
            let is_envelope =
                ["Envelope", "Page", "ApiError"].iter().any(|end| name.ends_with(end));
            for (field, property) in properties.filter(|_| !is_envelope) {
                assert!(property["description"].is_string(), "{name}.{field}");
            }
        }
    }
}

#[test]
fn the_page_of_errors_is_current() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/errors.md");
    let page = error_page::markdown(&error_codes());
    if std::env::var_os("SMS_UPDATE_GOLDEN").is_some() {
        return std::fs::write(path, page).unwrap();
    }
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    let update = "SMS_UPDATE_GOLDEN=1 cargo test -p sms-server document";
    assert!(committed == page, "docs/errors.md is not what the server says: {update}");
}

/// What no generator of clients reads well.
fn obstacles(value: &Value, at: &str, found: &mut Vec<String>) {
    let Some(object) = value.as_object() else {
        for (place, item) in value.as_array().into_iter().flatten().enumerate() {
            obstacles(item, &format!("{at}/{place}"), found);
        }
        return;
    };
    // A choice between something and null is the only way to say that a reference may be null.
    let is_choice =
        at.rsplit_once('/').is_some_and(|(owner, place)| owner.ends_with("anyOf") && place == "1");
    if object.get("type") == Some(&json!("null")) && !is_choice {
        found.push(format!("{at}: only null"));
    }
    if object.get("format").and_then(Value::as_str).is_some_and(|name| name.starts_with("uint")) {
        found.push(format!("{at}: an unsigned format"));
    }
    let holds = ["properties", "additionalProperties"].iter().any(|key| object.contains_key(*key));
    if at.contains("/properties/") && holds {
        found.push(format!("{at}: an object without a name"));
    }
    for (key, inner) in object.iter().filter(|(key, _)| !key.starts_with("example")) {
        obstacles(inner, &format!("{at}/{key}"), found);
    }
}

#[tokio::test]
async fn generators_of_clients_can_read_the_documents() {
    let rig = Rig::new().await;
    for document in [&rig.documents().api, &rig.documents().admin] {
        let mut found = Vec::new();
        obstacles(document, "#", &mut found);
        assert_eq!(found, Vec::<String>::new());
        let schemas = document["components"]["schemas"].as_object().unwrap();
        let names: BTreeSet<&str> = schemas.keys().map(String::as_str).collect();
        for taken in ["List", "Error", "Response", "Object", "Any", "None"] {
            assert!(!names.contains(taken), "{taken} is a word of languages");
        }
        // Generators name the answers of an operation so.
        assert_eq!(names.iter().find(|name| name.ends_with("Response")), None);
        let rendered = document_3_0(document).to_string();
        assert!(!rendered.contains(r#""null"]"#) && !rendered.contains(r#":"null"}"#));
    }
}

#[tokio::test]
async fn every_operation_has_an_example_of_its_request_and_its_answer() {
    let rig = Rig::new().await;
    for document in [&rig.documents().api, &rig.documents().admin] {
        let items = [&document["paths"], &document["webhooks"]];
        for (path, item) in items.into_iter().filter_map(Value::as_object).flatten() {
            for (method, operation) in item.as_object().unwrap() {
                let at = format!("{method} {path}");
                if let Some(body) = operation.get("requestBody") {
                    let media = &body["content"]["application/json"];
                    assert!(media.get("example").is_some(), "{at} has no request");
                }
                let answers = operation["responses"].as_object().unwrap().iter();
                let good = answers.filter(|(status, _)| status.starts_with('2'));
                let contents = good.filter_map(|(_, answer)| answer["content"].as_object());
                let media: Vec<&Value> = contents.flat_map(|content| content.values()).collect();
                let is_shown = media.iter().any(|media| media.get("example").is_some());
                let is_document = path.starts_with("/openapi");
                assert!(media.is_empty() || is_shown || is_document, "{at} has no answer");
            }
        }
    }
}
