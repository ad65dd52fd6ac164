//! The document is OpenAPI 3.1 and says what the server does.
//!
//! The checks here are structural. A validator of the whole specification can be run on the file
//! that `SMS_OPENAPI_OUT` names: `SMS_OPENAPI_OUT=api.json cargo test -p sms-http openapi`.

use serde_json::json;

use crate::openapi_problems::problems;
use crate::sample::Sample;

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
