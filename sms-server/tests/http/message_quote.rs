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
        "unknown_fields": [],
        "blank_fields": [],
        "credits": 1,
        "encoding": "ucs2",
        "preview": "Grüße 😀",
        "balance": 10,
    });
    assert_eq!(reply.json["data"], expected);
    let fields = [
        "recipients",
        "rejected",
        "unknown_fields",
        "blank_fields",
        "credits",
        "encoding",
        "preview",
        "balance",
    ];
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
        json!({ "to": numbers(3), "body": "{first_name|there}, {nosuch|all} {last_name}{phone}" }),
        json!({ "to": "07700 900123", "body": "x", "schedule_at": "2026-12-24T12:00:00Z" }),
    ] {
        let quote = account.live.post("/messages/quote", request.clone()).await.ok();
        let by_test = account.test.post("/messages/quote", request.clone()).await.ok();
        assert_eq!(quote, by_test, "a quote is the same with either kind of key");
        let sent = account.live.post("/messages", request.clone()).await.assert(201);
        assert_eq!(sent.json["meta"]["credits"], quote["credits"], "{request}");
        for told in ["rejected", "unknown_fields", "blank_fields"] {
            assert_eq!(sent.json["data"][told], quote[told], "{request}");
        }
        let messages = sent.json["data"]["messages"].as_array().unwrap();
        assert_eq!(json!(messages.len()), quote["recipients"]);
        let first = messages.first().map_or(&Value::Null, |text| &text["body"]);
        assert_eq!(*first, quote["preview"]);
        let left = quote["balance"].as_u64().unwrap() - quote["credits"].as_u64().unwrap();
        assert_eq!(account.balance().await, left);
    }
}

/// Two contacts with a first name, one of them with a town, and a number that is no contact.
async fn with_guests(rig: &Rig) -> (crate::rig::Account, Value) {
    let account = rig.account(100).await;
    let guests = [
        json!({ "phone": "07700 900101", "first_name": "Ann", "custom": { "town": "Leeds" } }),
        json!({ "phone": "07700 900102", "first_name": "Ben" }),
    ];
    for guest in guests {
        account.live.post("/contacts", guest).await.created();
    }
    (account, json!(["07700 900101", "07700 900102", "07700 900103"]))
}

#[tokio::test]
async fn unknown_fields_and_people_without_a_value_are_told() {
    let rig = Rig::new().await;
    let (account, to) = with_guests(&rig).await;
    for (body, unknown, blank, texts) in [
        (
            "Hi {first_name}, your {nosuch} in {town}",
            json!(["nosuch"]),
            json!([
                { "field": "first_name", "recipients": 1 },
                { "field": "town", "recipients": 2 },
            ]),
            [
                "Hi Ann, your {nosuch} in Leeds",
                "Hi Ben, your {nosuch} in ",
                "Hi , your {nosuch} in ",
            ],
        ),
        (
            "Hi {first_name|there} in {town|}{nosuch|!}",
            json!(["nosuch"]),
            json!([]),
            ["Hi Ann in Leeds!", "Hi Ben in !", "Hi there in !"],
        ),
        (
            "Hi {phone} {x",
            json!([]),
            json!([]),
            ["Hi +447700900101 {x", "Hi +447700900102 {x", "Hi +447700900103 {x"],
        ),
    ] {
        let request = json!({ "to": to, "body": body });
        let quote = account.live.post("/messages/quote", request.clone()).await.ok();
        assert_eq!((&quote["unknown_fields"], &quote["blank_fields"]), (&unknown, &blank));
        let ask = || account.live.ask(poem::http::Method::POST, "/messages").json(&request);
        let sent = ask().header("Idempotency-Key", body).send().await.created();
        assert_eq!((&sent["unknown_fields"], &sent["blank_fields"]), (&unknown, &blank));
        let sent_texts = sent["messages"].as_array().unwrap();
        let bodies: Vec<&str> =
            sent_texts.iter().map(|text| text["body"].as_str().unwrap()).collect();
        assert_eq!(bodies, texts);
        // A replay tells what the first answer told, whatever is known since.
        let town = json!({ "phone": "07700 900104", "custom": { "nosuch": "x" } });
        let contact = account.live.post("/contacts", town).await.created();
        let again = ask().header("Idempotency-Key", body).send().await.ok();
        assert_eq!((&again["unknown_fields"], &again["blank_fields"]), (&unknown, &blank));
        let path = format!("/contacts/{}", contact["id"].as_str().unwrap());
        account.live.delete(&path).await.assert(204);
    }
}

#[tokio::test]
async fn segments_are_counted_on_the_text_with_its_fallback() {
    let rig = Rig::new().await;
    let (account, to) = with_guests(&rig).await;
    // With its fallback the text has 161 septets for the one without a name.
    let body = format!("{{first_name|you}}{}", "a".repeat(156));
    let longer = format!("{{first_name|friend}}{}", "a".repeat(155));
    for (body, credits) in [(body, 3), (longer, 4)] {
        let request = json!({ "to": to, "body": body });
        let quote = account.live.post("/messages/quote", request).await.ok();
        assert_eq!(quote["credits"], credits, "{body}");
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
