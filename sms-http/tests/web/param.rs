//! Query parameters: every mistake is named, and none is guessed away.

use crate::sample::{Sample, json, mistakes};

async fn list(query: &str) -> poem::test::TestResponse {
    let path = format!("/api/v1/messages?{query}");
    Sample::new().client().get(path).send().await
}

#[tokio::test]
async fn parameters_are_read() {
    let query = "limit=100&cursor=a%2Bb&status=sent&unread=true&offset=7\
                 &since=2026-11-21T09:07:10%2B02:00";
    let seen = json(list(query).await).await;
    let expected = "100 Some(\"a+b\") Some(Sent) Some(true) Some(2026-11-21T07:07:10Z) Some(7)";
    assert_eq!(seen["data"][0]["id"], expected);
    assert_eq!(seen["meta"]["next_cursor"], "next");
}

#[tokio::test]
async fn absent_parameters_have_their_defaults() {
    let seen = json(list("").await).await;
    assert_eq!(seen["data"][0]["id"], "25 None None None None None");
}

#[tokio::test]
async fn every_bad_parameter_is_named_at_once() {
    let query = "limit=101&cursor=&status=lost&unread=yes&since=yesterday&offset=1&offset=2";
    let found = mistakes(list(query).await).await;
    let expected = [
        ("limit", "out_of_range"),
        ("cursor", "empty"),
        ("status", "unknown_value"),
        ("unread", "unknown_value"),
        ("since", "invalid_format"),
        ("offset", "duplicate_key"),
    ];
    let expected = expected.map(|(field, code)| (field.to_owned(), code.to_owned()));
    assert_eq!(found, expected);
}

#[tokio::test]
async fn broken_encodings_and_nul_are_named() {
    for query in ["cursor=%ff", "cursor=%", "cursor=a%00"] {
        let found = mistakes(list(query).await).await;
        assert_eq!(found, [("cursor".to_owned(), "invalid_character".to_owned())], "{query}");
    }
}

#[tokio::test]
async fn a_header_that_is_no_ascii_is_named() {
    let value = poem::http::HeaderValue::from_bytes(b"\xe9").unwrap();
    let client = Sample::new().client();
    let request = client.post("/api/v1/messages");
    let request = request.header("Idempotency-Key", value).content_type("application/json");
    let response = request.body(r#"{"to":"a","body":"x"}"#).send().await;
    let expected = [("Idempotency-Key".to_owned(), "invalid_character".to_owned())];
    assert_eq!(mistakes(response).await, expected);
}
