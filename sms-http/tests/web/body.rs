//! JSON bodies: every mistake is named, whatever was sent.

use poem::http::StatusCode;
use serde_json::{Value, json};

use crate::sample::{Sample, mistakes};

async fn send(body: impl Into<Vec<u8>>) -> poem::test::TestResponse {
    Sample::new()
        .client()
        .post("/api/v1/messages")
        .content_type("application/json")
        .body(body.into())
        .send()
        .await
}

async fn mistakes_of(body: &Value) -> Vec<(String, String)> {
    mistakes(send(body.to_string()).await).await
}

fn owned(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(field, code)| ((*field).to_owned(), (*code).to_owned())).collect()
}

#[tokio::test]
async fn every_bad_field_is_named_at_once() {
    let body = json!({
        "to": 5,
        "body": "12345678901",
        "sender": "ab",
        "schedule_at": "tomorrow",
        "append_opt_out": "yes",
        "parts": 11,
        "status": "lost",
        "rows": [{ "phone": "07700 900123" }, {}, 7, { "phone": ["x"] }, {}],
        "custom": { "city": "a\u{0}b" },
        "unknown": "\u{0}",
    });
    let expected = owned(&[
        ("to", "wrong_type"),
        ("body", "too_long"),
        ("sender", "too_short"),
        ("schedule_at", "invalid_format"),
        ("append_opt_out", "wrong_type"),
        ("parts", "out_of_range"),
        ("status", "unknown_value"),
        ("rows", "too_many"),
        ("custom", "invalid_character"),
    ]);
    assert_eq!(mistakes_of(&body).await, expected);
}

#[tokio::test]
async fn items_and_their_fields_have_paths() {
    let body = json!({
        "to": ["07700 900123", 5, null],
        "body": "hi",
        "rows": [{ "phone": "x" }, {}, { "phone": ["x"] }],
    });
    let expected = owned(&[
        ("to[1]", "wrong_type"),
        ("to[2]", "wrong_type"),
        ("rows[1].phone", "required"),
        ("rows[2].phone", "wrong_type"),
    ]);
    assert_eq!(mistakes_of(&body).await, expected);
}

#[tokio::test]
async fn checks_of_the_domain_are_added_but_do_not_repeat_a_field() {
    let both = mistakes_of(&json!({ "to": null, "body": "  " })).await;
    assert_eq!(both, owned(&[("to", "required"), ("body", "empty_body")]));
    let once = mistakes_of(&json!({ "to": "a", "body": 5 })).await;
    assert_eq!(once, owned(&[("body", "wrong_type")]));
}

#[tokio::test]
async fn errors_of_headers_and_bodies_are_reported_together() {
    let response = Sample::new()
        .client()
        .post("/api/v1/messages")
        .header("Idempotency-Key", "a key of more than twenty")
        .content_type("application/json")
        .body("{}")
        .send()
        .await;
    let expected =
        owned(&[("Idempotency-Key", "too_long"), ("to", "required"), ("body", "empty_body")]);
    assert_eq!(mistakes(response).await, expected);
}

#[tokio::test]
async fn a_body_that_is_not_an_object_is_one_error() {
    for (body, code) in [
        ("[]", "wrong_type"),
        ("null", "wrong_type"),
        ("\"x\"", "wrong_type"),
        ("5", "wrong_type"),
        ("", "required"),
        ("{", "malformed_json"),
        ("{\"to\":\"a\"} trailing", "malformed_json"),
        ("{\"to\":1e999}", "malformed_json"),
        ("{\"to\":\"\\ud800\"}", "malformed_json"),
        ("{\"to\":\"a\u{1}\"}", "malformed_json"),
    ] {
        let found = mistakes(send(body).await).await;
        assert_eq!(found, owned(&[("", code)]), "{body}");
    }
}

#[tokio::test]
async fn deep_nesting_and_other_encodings_are_refused() {
    let deep = format!("{{\"to\":{}{}}}", "[".repeat(500_000), "]".repeat(500_000));
    for body in [deep.into_bytes(), b"{\"to\":\"\xff\"}".to_vec(), b"\xfe\xff\0{\0}".to_vec()] {
        let found = mistakes(send(body).await).await;
        assert_eq!(found, owned(&[("", "malformed_json")]));
    }
}

#[tokio::test]
async fn repeated_keys_are_refused_with_their_path() {
    let body = r#"{"to":"a","body":"x","rows":[{"phone":"1","phone":"2"}],"to":"b"}"#;
    let found = mistakes(send(body).await).await;
    let expected = owned(&[("rows[0].phone", "duplicate_key"), ("to", "duplicate_key")]);
    assert_eq!(found, expected);
}

#[tokio::test]
async fn numbers_that_are_not_whole_or_too_large_are_refused() {
    for (parts, code) in [("1.5", "wrong_type"), ("1e300", "out_of_range"), ("0", "out_of_range")] {
        let body = format!("{{\"to\":\"a\",\"body\":\"x\",\"parts\":{parts}}}");
        let found = mistakes(send(body).await).await;
        assert_eq!(found, owned(&[("parts", code)]), "{parts}");
    }
    let whole = send(r#"{"to":"a","body":"x","parts":5.0}"#).await;
    whole.assert_status(StatusCode::CREATED);
}

#[tokio::test]
async fn nul_is_refused_in_every_string() {
    let body = json!({ "to": ["a\u{0}"], "body": "x\u{0}" });
    let expected = owned(&[("to[0]", "invalid_character"), ("body", "invalid_character")]);
    assert_eq!(mistakes_of(&body).await, expected);
}

#[tokio::test]
async fn a_string_or_an_array_of_strings() {
    for (to, id) in [(json!("a"), "a"), (json!(["a", "b"]), "a+b"), (json!([]), "")] {
        let response = send(json!({ "to": to, "body": "x" }).to_string()).await;
        response.assert_status(StatusCode::CREATED);
        assert_eq!(crate::sample::json(response).await["data"]["id"], id);
    }
    let many = json!({ "to": ["a", "b", "c", "d"], "body": "x" });
    assert_eq!(mistakes_of(&many).await, owned(&[("to", "too_many")]));
}

#[tokio::test]
async fn a_patch_tells_absent_from_null() {
    let client = Sample::new().client();
    for (body, seen) in [
        (json!({}), "m body kept note kept"),
        (json!({ "note": null }), "m body kept note cleared"),
        (json!({ "note": "x", "body": "y" }), "m body set note set"),
    ] {
        let response = client.patch("/api/v1/messages/m").body_json(&body).send().await;
        assert_eq!(crate::sample::json(response).await["data"]["id"], seen);
    }
    let wrong = json!({ "body": null, "note": "123456" });
    let response = client.patch("/api/v1/messages/m").body_json(&wrong).send().await;
    let expected = owned(&[("body", "wrong_type"), ("note", "too_long")]);
    assert_eq!(mistakes(response).await, expected);
}

#[tokio::test]
async fn an_optional_body_may_be_left_out() {
    let client = Sample::new().client();
    let path = "/api/v1/messages/m/cancel";
    for (body, given) in [("", "m false"), (" null ", "m false"), ("{}", "m true")] {
        let request = client.post(path).content_type("application/json").body(body);
        let response = request.send().await;
        assert_eq!(crate::sample::json(response).await["data"]["id"], given);
    }
    let bare = client.post(path).send().await;
    bare.assert_status(StatusCode::CREATED);
    let wrong = client.post(path).content_type("application/json").body("[]").send().await;
    assert_eq!(mistakes(wrong).await, owned(&[("", "wrong_type")]));
}

#[tokio::test]
async fn a_body_must_be_declared_as_plain_json() {
    let client = Sample::new().client();
    let good = r#"{"to":"a","body":"x"}"#;
    let send = |content_type: &'static str, coding: &'static str| {
        let mut request = client.post("/api/v1/messages").body(good);
        if !content_type.is_empty() {
            request = request.content_type(content_type);
        }
        if !coding.is_empty() {
            request = request.header("content-encoding", coding);
        }
        request.send()
    };
    for content_type in ["application/json", "application/json; charset=UTF-8"] {
        send(content_type, "").await.assert_status(StatusCode::CREATED);
    }
    let refused = [
        ("", ""),
        ("text/plain", ""),
        ("application/json; charset=utf-16", ""),
        ("application/json", "gzip"),
    ];
    for (content_type, coding) in refused {
        let response = send(content_type, coding).await;
        response.assert_status(StatusCode::UNSUPPORTED_MEDIA_TYPE);
        let body = crate::sample::json(response).await;
        assert_eq!(body["error"]["code"], "unsupported_media_type");
    }
}
