//! Whatever is sent to whatever operation: never a 5xx, always the envelope, and nothing half done.
//!
//! What there is to send to comes from the documents, so a new operation is tried as well. That
//! every answer is one that the document describes is checked by the rig.

mod once;
mod stage;
mod unknown;

use poem::http::Method;
use serde_json::{Value, json};
use stage::Stage;

use crate::described::accepts;

/// Bodies that no operation can read, and the code of the mistake.
fn unreadable() -> Vec<(Vec<u8>, &'static str)> {
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let objects = format!("{}1{}", "{\"a\":".repeat(100_000), "}".repeat(100_000));
    vec![
        (b"".to_vec(), "required"),
        (b" ".to_vec(), "malformed_json"),
        (b"{".to_vec(), "malformed_json"),
        (b"{}{}".to_vec(), "malformed_json"),
        (b"{\"a\":1,}".to_vec(), "malformed_json"),
        (b"{'a':1}".to_vec(), "malformed_json"),
        (b"{\"a\":NaN}".to_vec(), "malformed_json"),
        (b"{\"a\":01}".to_vec(), "malformed_json"),
        (b"{\"a\":1e400}".to_vec(), "malformed_json"),
        (b"{\"a\":-1e400}".to_vec(), "malformed_json"),
        (b"{\"a\":\"\\ud800\"}".to_vec(), "malformed_json"),
        (b"{\"a\":\"\\udc00\\ud800\"}".to_vec(), "malformed_json"),
        (b"{\"\\ud800\":1}".to_vec(), "malformed_json"),
        (b"{\"a\":\"\x01\"}".to_vec(), "malformed_json"),
        (b"{\"a\":\"\xff\"}".to_vec(), "malformed_json"),
        (b"{\"a\":\"\xc0\x80\"}".to_vec(), "malformed_json"),
        (b"{\"a\":\"\xed\xa0\x80\"}".to_vec(), "malformed_json"),
        (b"\xef\xbb\xbf{}".to_vec(), "malformed_json"),
        (b"\xff\xfe{\0}\0".to_vec(), "malformed_json"),
        (b"\0".to_vec(), "malformed_json"),
        (b"a=1&b=2".to_vec(), "malformed_json"),
        (deep.into_bytes(), "malformed_json"),
        (objects.into_bytes(), "malformed_json"),
        (b"[]".to_vec(), "wrong_type"),
        (b"[{}]".to_vec(), "wrong_type"),
        (b"null".to_vec(), "wrong_type"),
        (b"true".to_vec(), "wrong_type"),
        (b"5".to_vec(), "wrong_type"),
        (b"\"x\"".to_vec(), "wrong_type"),
    ]
}

/// Values to try in every field.
fn values() -> Vec<Value> {
    let long = "x".repeat(100_000);
    vec![
        Value::Null,
        json!(true),
        json!(0),
        json!(-1),
        json!(1.5),
        json!(1e300),
        json!(9_223_372_036_854_775_808_u64),
        json!(i64::MIN),
        json!(9_007_199_254_740_993_i64),
        json!(""),
        json!(" "),
        json!("x"),
        json!("a\u{0}b"),
        json!("\u{feff}\u{202e}\u{1f600}\u{fffd}"),
        json!("'; DROP TABLE messages; --"),
        json!("../../etc/passwd"),
        json!(long),
        json!([]),
        json!([null]),
        json!([5]),
        json!([[]]),
        json!([{}]),
        json!(["a\u{0}b"]),
        json!([long, ""]),
        json!({}),
        json!({ "a": { "b": [] } }),
        json!({ "name": 5, "quiet_hours_start": 5, "track_links_default": "x" }),
    ]
}

#[tokio::test]
async fn an_unreadable_body_is_one_error_and_changes_nothing() {
    let stage = Stage::new().await;
    let before = stage.state().await;
    for operation in stage.operations().iter().filter(|operation| operation.takes_body()) {
        for (body, code) in unreadable() {
            let is_none = body.is_empty() || body == b"null";
            if operation.needs_body() || !is_none {
                operation.send(body).await.mistake("", code);
            }
        }
    }
    assert_eq!(stage.state().await, before);
}

#[tokio::test]
async fn a_field_of_the_wrong_type_is_named_and_nothing_is_done() {
    let stage = Stage::new().await;
    for operation in stage.operations().iter().filter(|operation| operation.takes_body()) {
        let before = stage.state().await;
        let schema = operation.body_schema();
        for field in schema["properties"].as_object().unwrap().keys() {
            for value in values() {
                let mut body = operation.good_body();
                body.insert(field.clone(), value.clone());
                let body = Value::Object(body);
                let has_nul = body.to_string().contains("\\u0000");
                let fits = accepts(operation.document, schema, &body);
                if fits && !has_nul {
                    continue;
                }
                let reply = operation.send(body.to_string()).await;
                let shown: String = value.to_string().chars().take(50).collect();
                assert_eq!(reply.status, 422, "{} {field} {shown} {reply:?}", operation.id);
                for (named, _) in reply.mistakes() {
                    assert!(named.starts_with(field), "{} {named}", operation.id);
                }
            }
        }
        assert_eq!(stage.state().await, before, "{}", operation.id);
    }
}

#[tokio::test]
async fn any_valid_value_is_answered_and_never_with_a_500() {
    let stage = Stage::new().await;
    for operation in stage.operations().iter().filter(|operation| operation.takes_body()) {
        let schema = operation.body_schema();
        for field in schema["properties"].as_object().unwrap().keys() {
            for value in values() {
                let mut body = operation.good_body();
                body.insert(field.clone(), value);
                let reply = operation.send(Value::Object(body).to_string()).await;
                assert!(reply.status < 500, "{} {field}: {reply:?}", operation.id);
            }
        }
    }
}

#[tokio::test]
async fn what_is_required_is_asked_for() {
    let stage = Stage::new().await;
    let before = stage.state().await;
    for operation in stage.operations().iter().filter(|operation| operation.takes_body()) {
        let required = operation.body_schema()["required"].clone();
        for field in required.as_array().into_iter().flatten().filter_map(Value::as_str) {
            let mut body = operation.good_body();
            body.shift_remove(field);
            let reply = operation.send(Value::Object(body).to_string()).await;
            reply.mistake(field, "required");
        }
    }
    assert_eq!(stage.state().await, before);
}

#[tokio::test]
async fn a_repeated_key_is_refused() {
    let stage = Stage::new().await;
    let before = stage.state().await;
    for operation in stage.operations().iter().filter(|operation| operation.takes_body()) {
        for field in operation.body_schema()["properties"].as_object().unwrap().keys() {
            let mut good = operation.good_body();
            let value = good.shift_remove(field).unwrap_or_default();
            let good = Value::Object(good).to_string();
            let rest = good.strip_prefix('{').unwrap();
            let comma = if rest == "}" { "" } else { "," };
            let body = format!("{{\"{field}\":{value},\"{field}\":{value}{comma}{rest}");
            let mistakes = operation.send(body).await.mistakes();
            assert_eq!(mistakes[0], (field.clone(), "duplicate_key".to_owned()));
        }
    }
    assert_eq!(stage.state().await, before);
}

#[tokio::test]
async fn a_body_that_is_not_declared_as_json_is_415_and_one_that_is_not_there_422() {
    let stage = Stage::new().await;
    let before = stage.state().await;
    for operation in stage.operations().iter().filter(|operation| operation.takes_body()) {
        let good = Value::Object(operation.good_body()).to_string();
        let ask = || operation.client.ask(operation.method.clone(), &operation.path);
        for kind in [
            "",
            "text/plain",
            "application/json; charset=utf-16",
            "application/xml",
            "multipart/form-data; boundary=x",
            "application/x-www-form-urlencoded",
            "a",
            "é",
        ] {
            let mut ask = ask().raw(good.clone());
            if !kind.is_empty() {
                ask = ask.header("Content-Type", kind);
            }
            ask.send().await.refused(415, "unsupported_media_type");
        }
        let packed = ask().bytes(good.clone()).header("Content-Encoding", "gzip").send().await;
        packed.refused(415, "unsupported_media_type");
        let twice = ask().bytes(good.clone()).header("Content-Type", "application/json");
        twice.send().await.refused(415, "unsupported_media_type");
        if operation.needs_body() {
            ask().send().await.mistake("", "required");
            ask().header("Content-Type", "text/plain").send().await.mistake("", "required");
        }
    }
    assert_eq!(stage.state().await, before);
}

#[tokio::test]
async fn a_body_over_a_megabyte_is_413() {
    let stage = Stage::new().await;
    let before = stage.state().await;
    let over = format!("{{\"a\":\"{}\"}}", "x".repeat(1_048_576));
    for operation in &stage.operations() {
        // An import may be larger: its own test says how large.
        if operation.takes_body() && operation.id != "contact_import" {
            operation.send(over.clone()).await.refused(413, "payload_too_large");
        }
    }
    assert_eq!(stage.state().await, before);
}

#[tokio::test]
async fn a_body_where_none_is_asked_for_does_not_matter() {
    let stage = Stage::new().await;
    for operation in &stage.operations() {
        if !operation.takes_body() && operation.method == Method::GET {
            operation.send("{not json").await.assert(200);
        }
    }
}

/// Values that are wrong for a parameter of this schema.
fn wrong_values(schema: &Value) -> Vec<String> {
    let mut wrong = vec![String::new(), "%00".to_owned(), "%ff".to_owned(), "%zz".to_owned()];
    let more: &[&str] = match schema["type"].as_str() {
        Some("integer") => &["x", "0", "101", "-1", "1.5", "1e2", "9223372036854775808", "%D9%A3"],
        _ if schema.get("pattern").is_some() => &["x", "0", "00000000000000000000000000a"],
        _ if schema["format"] == "date-time" => {
            &["x", "2026-13-01T00:00:00Z", "2026-11-21", "2026-11-21T07:07:10", "+1"]
        }
        // An enum, by its name or spelt out.
        _ if schema.get("$ref").is_some() || schema.get("enum").is_some() => &["x", "LIVE", "1"],
        _ => &[],
    };
    let fits = |text: &&&str| {
        let bounds = schema["minimum"].as_f64().zip(schema["maximum"].as_f64());
        let number = text.parse::<i32>().ok().map(f64::from);
        number.zip(bounds).is_some_and(|(n, (least, most))| least <= n && n <= most)
    };
    wrong.extend(more.iter().filter(|text| !fits(text)).map(|&text| text.to_owned()));
    if let Some(most) = schema["maxLength"].as_u64() {
        wrong.push("x".repeat(usize::try_from(most).unwrap() + 1));
    }
    wrong
}

#[tokio::test]
async fn a_wrong_parameter_is_named() {
    let stage = Stage::new().await;
    let before = stage.state().await;
    let mut tried = 0;
    for operation in &stage.operations() {
        let parameters = operation.item["parameters"].as_array().cloned().unwrap_or_default();
        for parameter in parameters.iter().filter(|parameter| parameter["in"] == "query") {
            let name = parameter["name"].as_str().unwrap();
            for value in wrong_values(&parameter["schema"]) {
                let path = format!("{}?{name}={value}", operation.path);
                let ask = operation.client.ask(operation.method.clone(), &path);
                let mistakes = ask.send().await.mistakes();
                assert_eq!((mistakes.len(), mistakes[0].0.as_str()), (1, name), "{path}");
                tried += 1;
            }
            let twice = format!("{}?{name}=1&{name}=1", operation.path);
            let ask = operation.client.ask(operation.method.clone(), &twice);
            ask.send().await.mistake(name, "duplicate_key");
        }
    }
    assert!(tried > 100, "{tried}");
    assert_eq!(stage.state().await, before);
}

#[tokio::test]
async fn an_id_in_a_path_that_names_nothing_is_404() {
    let stage = Stage::new().await;
    let before = stage.state().await;
    let long = "x".repeat(5_000);
    for operation in &stage.operations() {
        let ids = [
            &stage.message,
            &stage.webhook,
            &stage.account,
            &stage.number,
            &stage.delivery,
            &stage.key,
            &stage.template,
            &stage.sender_name,
            &stage.contact,
            &stage.list,
            &stage.campaign,
        ];
        for id in ids.into_iter().filter(|id| operation.path.contains(id.as_str())) {
            let (prefix, rest) = id.split_once('_').unwrap();
            let swapped = if prefix == "msg" { "acc" } else { "msg" };
            for other in [
                "x".to_owned(),
                rest.to_owned(),
                id.to_uppercase(),
                format!("{swapped}_{rest}"),
                format!("{prefix}_{}", "0".repeat(26)),
                format!("{prefix}_{}", "z".repeat(26)),
                format!("{prefix}_{rest}0"),
                format!("{id}%00"),
                "%ff".to_owned(),
                "%2e%2e%2fbalance".to_owned(),
                "-1".to_owned(),
                long.clone(),
            ] {
                let path = operation.path.replace(id, &other);
                let ask = operation.client.ask(operation.method.clone(), &path);
                let ask = if operation.takes_body() {
                    ask.json(&Value::Object(operation.good_body()))
                } else {
                    ask
                };
                let reply = ask.send().await;
                assert_eq!((reply.status, &reply.json["error"]["details"]), (404, &Value::Null));
            }
        }
    }
    assert_eq!(stage.state().await, before);
}
