//! What is tried again, and what becomes of errors.

use std::time::Duration;

use serde_json::json;
use sms_client::error::Arrival;
use sms_client::{ApiKey, Client, Error, ErrorCode, Retries, SendRequest};

use crate::script::{Script, Turn};

const KEY: &str = "cc_test_of-the-script";

fn client(script: &Script) -> Client {
    let retries = Retries {
        attempts: 3,
        first_wait: Duration::from_millis(1),
        longest_wait: Duration::from_secs(2),
    };
    Client::with_retries(&script.url, &ApiKey::from(KEY), retries).unwrap()
}

fn sent() -> Turn {
    let data = json!({ "batch_id": "bat_1", "messages": [], "rejected": [] });
    let meta = json!({ "credits": 0, "balance": 7, "replayed": true, "test": false });
    Turn::Answer(201, "", json!({ "data": data, "meta": meta }).to_string())
}

fn refused(status: u16, headers: &'static str, code: &str) -> Turn {
    let error = json!({
        "code": code, "message": "the balance is 3, and this send costs 12",
        "details": { "needed": 12, "balance": 3 }, "doc_url": "/docs/errors#insufficient_credit",
    });
    Turn::Answer(status, headers, json!({ "error": error }).to_string())
}

#[tokio::test]
async fn a_send_is_made_again_with_the_same_key_until_it_is_answered() {
    let script =
        Script::start(vec![Turn::Break, refused(503, "Retry-After: 0\r\n", "unavailable"), sent()])
            .await;
    let request = SendRequest::new("Your table is ready").to("07700 900123");
    let answer = client(&script).message_send(&request).await.unwrap();
    assert_eq!(answer.meta.balance, 7);
    let asked = script.asked();
    let keys: Vec<&str> =
        asked.iter().map(|asked| asked.header("idempotency-key").unwrap()).collect();
    assert_eq!(keys.len(), 3);
    assert!(keys[0].len() == 32 && keys.iter().all(|key| *key == keys[0]), "{keys:?}");
    let body = json!({ "to": ["07700 900123"], "body": "Your table is ready" }).to_string();
    assert!(asked.iter().all(|asked| asked.body == body));
    assert_eq!(asked[0].line(), "POST /api/v1/messages HTTP/1.1");
    assert_eq!(asked[0].header("authorization"), Some("Bearer cc_test_of-the-script"));
}

#[tokio::test]
async fn two_sends_have_different_keys_unless_the_caller_gives_one() {
    let script = Script::start(vec![sent(), sent(), sent()]).await;
    let (client, request) = (client(&script), SendRequest::new("Hello").to("07700 900123"));
    client.message_send(&request).await.unwrap();
    client.message_send(&request).await.unwrap();
    let key = "booking-42".parse().unwrap();
    client.message_send(&request).idempotency_key(key).await.unwrap();
    let asked = script.asked();
    let key = |at: usize| asked[at].header("idempotency-key").unwrap();
    assert_ne!(key(0), key(1));
    assert_eq!(key(2), "booking-42");
}

#[tokio::test]
async fn a_call_that_is_not_safe_to_repeat_is_not_made_again_once_it_may_have_arrived() {
    let script = Script::start(vec![Turn::Break, sent()]).await;
    let id = "msg_1".parse().unwrap();
    let error = client(&script).message_cancel(&id).await.unwrap_err();
    assert!(matches!(error, Error::NoAnswer { arrival: Arrival::Perhaps, .. }), "{error:?}");
    assert_eq!(script.asked().len(), 1);
    let turns = vec![refused(503, "Retry-After: 0\r\n", "unavailable"), sent()];
    let script = Script::start(turns).await;
    let error = client(&script).message_cancel(&id).await.unwrap_err();
    assert_eq!(error.code(), Some(&ErrorCode::Unavailable));
    assert_eq!(script.asked().len(), 1);
}

#[tokio::test]
async fn a_refusal_has_all_that_the_answer_said_and_is_not_tried_again() {
    let script =
        Script::start(vec![refused(402, "X-Request-Id: req_1\r\n", "insufficient_credit")]).await;
    let request = SendRequest::new("Hello").to("07700 900123");
    let error = client(&script).message_send(&request).await.unwrap_err();
    assert_eq!(error.to_string(), "the balance is 3, and this send costs 12");
    let refusal = error.refusal().unwrap();
    assert_eq!((refusal.status, &refusal.code), (402, &ErrorCode::InsufficientCredit));
    assert_eq!(refusal.details["needed"], 12);
    assert_eq!(refusal.request_id.as_deref(), Some("req_1"));
    let explained = format!("{}/docs/errors#insufficient_credit", script.url);
    assert_eq!(refusal.doc_url.as_deref(), Some(explained.as_str()));
}

#[tokio::test]
async fn a_server_that_asks_for_a_longer_wait_than_allowed_is_not_waited_for() {
    let script = Script::start(vec![refused(429, "Retry-After: 3\r\n", "rate_limited")]).await;
    let error = client(&script).balance_get().await.unwrap_err();
    let asked = error.refusal().unwrap().retry_after;
    assert_eq!(
        (error.code(), asked),
        (Some(&ErrorCode::RateLimited), Some(Duration::from_secs(3)))
    );
}

#[tokio::test]
async fn an_error_page_of_a_proxy_and_an_unreadable_answer_are_named() {
    let page = || Turn::Answer(404, "", "<h1>Not here</h1>".to_owned());
    let script = Script::start(vec![page(), Turn::Answer(200, "", "{}".to_owned())]).await;
    let client = client(&script);
    let error = client.balance_get().await.unwrap_err();
    assert!(matches!(error, Error::NotTheApi { status: 404, .. }), "{error:?}");
    let error = client.balance_get().await.unwrap_err();
    assert!(matches!(error, Error::Unreadable(_)), "{error:?}");
}

#[tokio::test]
async fn debug_output_of_the_client_has_no_key_number_or_text() {
    let client = Client::new("http://127.0.0.1:9", &ApiKey::from(KEY)).unwrap();
    let request = SendRequest::new("Your table is ready").to("07700 900123");
    let call = client.message_send(&request);
    let filter =
        sms_client::message::MessageFilter { q: Some("07700 900123".into()), ..Default::default() };
    let error = Client::with_retries("http://127.0.0.1:9", &ApiKey::from(KEY), Retries::none())
        .unwrap()
        .message_list(&filter)
        .page()
        .await
        .unwrap_err();
    let shown = format!("{client:?} {request:?} {call:?} {filter:?} {error:?} {error}");
    for secret in [KEY, "900123", "table"] {
        assert!(!shown.contains(secret), "{shown}");
    }
}

#[test]
fn an_address_is_that_of_a_server_with_or_without_the_path_of_the_api() {
    let server = |text: &str| {
        let client = Client::new(text, &ApiKey::from(KEY));
        client.map(|client| client.server().to_owned()).map_err(|error| error.to_string())
    };
    for text in
        ["http://sms.example.com", "http://sms.example.com/", "http://sms.example.com/api/v1/"]
    {
        assert_eq!(server(text).unwrap(), "http://sms.example.com");
    }
    assert_eq!(server("http://example.com/sms").unwrap(), "http://example.com/sms");
    for text in ["sms.example.com", "ftp://sms.example.com", "", "http://sms.example.com?x=1"] {
        assert!(server(text).unwrap_err().contains("is not the address of a server"), "{text}");
    }
    // A password in it would be shown in errors.
    let error = server("http://ada:1815@sms.example.com").unwrap_err();
    assert!(error.contains("no name or password") && !error.contains("1815"), "{error}");
    assert!(Client::new("http://sms.example.com", &ApiKey::from("a b")).is_err());
}
