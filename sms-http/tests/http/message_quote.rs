//! `POST /messages/quote`: what the same send would do and cost.

use serde_json::{Value, json};

use crate::message_send::{keys, numbers};
use crate::rig::Rig;

#[tokio::test]
async fn a_quote_says_what_a_send_would_do_and_does_nothing() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let request =
        json!({ "to": "07700 900123, 07700 900123, +1 202 555 0100", "body": "Grüße 😀" });
    let reply = account.live.post("/messages/quote", request).await.assert(200);
    assert_eq!(reply.json["meta"], Value::Null);
    let expected = json!({
        "recipients": 1,
        "rejected": [
            { "to": "+447700900123", "reason": "duplicate" },
            { "to": "+12025550100", "reason": "unsupported_destination" },
        ],
        "credits": 1,
        "encoding": "ucs2",
        "preview": "Grüße 😀",
        "balance": 10,
    });
    assert_eq!(reply.json["data"], expected);
    let fields = ["recipients", "rejected", "credits", "encoding", "preview", "balance"];
    assert_eq!(keys(&reply.json["data"]), fields);
    assert_eq!(account.live.get("/messages").await.ok(), json!([]));
    assert_eq!(account.balance().await, 10);
}

#[tokio::test]
async fn a_quote_for_nobody_has_no_preview() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let request = json!({ "to": "nonsense", "body": "x" });
    let quote = account.live.post("/messages/quote", request).await.ok();
    assert_eq!((&quote["recipients"], &quote["credits"]), (&json!(0), &json!(0)));
    assert_eq!((&quote["preview"], &quote["encoding"]), (&Value::Null, &json!("gsm7")));
}

#[tokio::test]
async fn the_quote_is_what_the_send_then_takes() {
    let rig = Rig::new().await;
    let account = rig.account(100_000).await;
    for request in [
        json!({ "to": "07700 900123", "body": "x" }),
        json!({ "to": numbers(50), "body": "a".repeat(161) }),
        json!({ "to": ["07700 900123", "07700900123", "bad"], "body": "д".repeat(135) }),
        json!({ "to": numbers(3), "body": "a".repeat(150), "append_opt_out": true }),
        json!({ "to": "07700 900123", "body": "a".repeat(1_600) }),
        json!({ "to": "07700 900123", "body": "д".repeat(701) }),
        json!({ "to": "07700 900123", "body": "{first_name}{custom}€]" }),
        json!({ "to": "07700 900123", "body": "x", "schedule_at": "2026-12-24T12:00:00Z" }),
    ] {
        let quote = account.live.post("/messages/quote", request.clone()).await.ok();
        let by_test = account.test.post("/messages/quote", request.clone()).await.ok();
        assert_eq!(quote, by_test, "a quote is the same with either kind of key");
        let sent = account.live.post("/messages", request.clone()).await.assert(201);
        assert_eq!(sent.json["meta"]["credits"], quote["credits"], "{request}");
        assert_eq!(sent.json["data"]["rejected"], quote["rejected"]);
        let messages = sent.json["data"]["messages"].as_array().unwrap();
        assert_eq!(json!(messages.len()), quote["recipients"]);
        let first = messages.first().map_or(&Value::Null, |text| &text["body"]);
        assert_eq!(*first, quote["preview"]);
        let left = quote["balance"].as_u64().unwrap() - quote["credits"].as_u64().unwrap();
        assert_eq!(account.balance().await, left);
    }
}

#[tokio::test]
async fn a_quote_does_not_ask_for_the_credit() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let request = json!({ "to": numbers(2), "body": "x" });
    let quote = account.live.post("/messages/quote", request).await.ok();
    assert_eq!((&quote["credits"], &quote["balance"]), (&json!(2), &json!(0)));
}

#[tokio::test]
async fn a_quote_is_refused_for_what_a_send_is_refused_for() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    for request in [json!({}), json!({ "to": 5, "body": true }), json!({ "to": "x" })] {
        let quoted = account.live.post("/messages/quote", request.clone()).await.mistakes();
        let sent = account.live.post("/messages", request).await.mistakes();
        assert_eq!(quoted, sent);
    }
    let many = json!({ "to": numbers(51), "body": "x" });
    account.test.post("/messages/quote", many).await.refused(422, "test_limit_exceeded");
}

#[tokio::test]
async fn an_idempotency_key_means_nothing_to_a_quote() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    for body in ["x", "y"] {
        let request = json!({ "to": "07700 900123", "body": body });
        let ask = account.live.ask(poem::http::Method::POST, "/messages/quote").json(&request);
        ask.header("Idempotency-Key", "k").send().await.assert(200);
    }
}

#[tokio::test]
async fn an_opt_out_is_reported_first_by_a_quote_and_by_a_send() {
    let rig = Rig::new().await;
    let account = rig.account(100).await;
    account.live.post("/opt-outs", json!({ "phone": "07700 900123" })).await.assert(201);
    // Neither recipient has a name, so the text is empty for both.
    let body = json!({ "to": ["07700 900123", "07700 900124"], "body": "{first_name}" });
    let expected = json!([
        { "to": "+447700900123", "reason": "opted_out" },
        { "to": "+447700900124", "reason": "empty_body" },
    ]);
    let quote = account.live.post("/messages/quote", body.clone()).await.ok();
    let sent = account.live.post("/messages", body).await.created();
    assert_eq!((&quote["rejected"], &sent["rejected"]), (&expected, &expected));
}
