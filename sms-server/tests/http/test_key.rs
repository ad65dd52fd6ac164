//! Test keys: everything happens, nothing is sent, nothing is charged.

use serde_json::{Value, json};

use crate::message_send::numbers;
use crate::rig::{Client, Reply, Rig};

async fn send(client: &Client, to: Value) -> Reply {
    client.post("/messages", json!({ "to": to, "body": "Hello" })).await
}

#[tokio::test]
async fn a_test_message_is_free_and_delivered_within_seconds() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let events = json!(["message.sent", "message.delivered"]);
    let hook = json!({ "url": "https://example.com/hook", "events": events });
    account.live.post("/webhooks", hook).await.assert(201);
    let long = json!({ "to": "07700 900123", "body": "a".repeat(161) });
    let reply = account.test.post("/messages", long).await.assert(201);
    let meta = json!({ "credits": 0, "balance": 10, "replayed": false, "test": true });
    assert_eq!(reply.json["meta"], meta);
    let text = &reply.json["data"]["messages"][0];
    assert_eq!((&text["segments"], &text["credits"]), (&json!(2), &json!(0)));
    assert_eq!((&text["route"], &text["test"]), (&json!("test"), &json!(true)));
    let path = format!("/messages/{}", text["id"].as_str().unwrap());
    let mut seen = Vec::new();
    for _ in 0..5 {
        rig.work().await;
        seen.push(account.test.get(&path).await.ok()["status"].as_str().unwrap().to_owned());
        rig.clock.advance(std::time::Duration::from_secs(1));
    }
    assert_eq!(seen, ["queued", "sent", "sent", "delivered", "delivered"]);
    let told = rig.hooks.take_events();
    let kinds: Vec<&Value> = told.iter().map(|event| &event["type"]).collect();
    assert_eq!(kinds, ["message.sent", "message.delivered"]);
    assert_eq!(account.balance().await, 10);
}

#[tokio::test]
async fn a_test_send_needs_no_credit() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    send(&account.test, json!("07700 900123")).await.assert(201);
    send(&account.live, json!("07700 900123")).await.refused(402, "insufficient_credit");
}

#[tokio::test]
async fn a_test_request_names_at_most_50_numbers() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    send(&account.test, json!(numbers(51))).await.refused(422, "test_limit_exceeded");
    assert_eq!(account.live.get("/messages").await.ok(), json!([]));
    let reply = send(&account.test, json!(numbers(50))).await.assert(201);
    assert_eq!(reply.json["data"]["messages"].as_array().unwrap().len(), 50);
    let twice: Vec<String> = [numbers(50), numbers(50)].concat();
    send(&account.test, json!(twice)).await.assert(201);
    // What is no number is none of the fifty.
    let nonsense = [numbers(1), vec!["nonsense".to_owned(); 51]].concat();
    let reply = send(&account.test, json!(nonsense)).await.assert(201);
    assert_eq!(reply.json["data"]["rejected"].as_array().unwrap().len(), 51);
}

#[tokio::test]
async fn an_account_makes_at_most_300_test_messages_an_hour() {
    let rig = Rig::new().await;
    let account = rig.account(1_000).await;
    let other_key = rig.key(account.id, sms_core::account::Mode::Test).await;
    for round in 0..6 {
        let client = if round % 2 == 0 { &account.test } else { &other_key };
        send(client, json!(numbers(50))).await.assert(201);
        rig.clock.advance(std::time::Duration::from_mins(1));
    }
    // The first 50 were made six minutes ago.
    let refused = send(&account.test, json!("07700 900123")).await;
    let wait: u64 = refused.header("retry-after").parse().unwrap();
    refused.refused(429, "rate_limited");
    assert_eq!(wait, 54 * 60);
    send(&account.live, json!("07700 900123")).await.assert(201);
    rig.clock.advance(std::time::Duration::from_secs(wait - 1));
    send(&account.test, json!("07700 900123")).await.refused(429, "rate_limited");
    rig.clock.advance(std::time::Duration::from_secs(1));
    send(&account.test, json!(numbers(50))).await.assert(201);
    send(&account.test, json!("07700 900123")).await.refused(429, "rate_limited");
    let other = rig.account(0).await;
    send(&other.test, json!("07700 900123")).await.assert(201);
}

#[tokio::test]
async fn rejected_numbers_use_up_nothing() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    for _ in 0..10 {
        send(&account.test, json!("nonsense, +1 202 555 0100")).await.assert(201);
    }
    for _ in 0..6 {
        send(&account.test, json!(numbers(50))).await.assert(201);
    }
    send(&account.test, json!("07700 900123")).await.refused(429, "rate_limited");
}

#[tokio::test]
async fn a_scheduled_test_message_counts_its_seconds_from_when_it_is_due() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let request =
        json!({ "to": "07700 900123", "body": "x", "schedule_at": "2026-11-21T07:08:00Z" });
    let data = account.test.post("/messages", request).await.created();
    let path = format!("/messages/{}", data["messages"][0]["id"].as_str().unwrap());
    rig.pass(49).await;
    assert_eq!(account.test.get(&path).await.ok()["status"], "scheduled");
    rig.pass(10).await;
    let text = account.test.get(&path).await.ok();
    assert_eq!(text["status"], "delivered");
    assert!(text["sent_at"].as_str().unwrap() >= "2026-11-21T07:08:01");
    assert!(text["sent_at"].as_str().unwrap() < "2026-11-21T07:08:02.2");
}
