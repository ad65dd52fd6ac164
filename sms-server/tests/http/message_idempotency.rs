//! `Idempotency-Key`: a retry returns the first answer and sends nothing.

use poem::http::Method;
use serde_json::{Value, json};

use crate::rig::{Client, Reply, Rig};

async fn send(client: &Client, key: &str, request: &Value) -> Reply {
    let ask = client.ask(Method::POST, "/messages").json(request);
    ask.header("Idempotency-Key", key).send().await
}

fn request() -> Value {
    json!({ "to": ["07700 900123", "nonsense"], "body": "Hello", "client_ref": "a" })
}

#[tokio::test]
async fn a_retry_is_200_with_the_first_answer_though_the_messages_have_moved_on() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let first = send(&account.live, "k", &request()).await.assert(201);
    rig.pass(5).await;
    account.send("07700 900124", "another").await;
    let id = first.json["data"]["messages"][0]["id"].as_str().unwrap();
    let moved = account.live.get(&format!("/messages/{id}")).await.ok();
    assert_eq!(moved["status"], "delivered");
    let again = send(&account.live, "k", &request()).await.assert(200);
    assert_eq!(again.json["data"], first.json["data"]);
    let meta = json!({ "credits": 1, "balance": 9, "replayed": true, "test": false });
    assert_eq!(again.json["meta"], meta);
    assert_eq!(account.balance().await, 8);
    assert_eq!(account.live.pages("/messages", 100).await.len(), 2);
}

#[tokio::test]
async fn a_retry_of_a_cancelled_or_scheduled_send_shows_it_as_it_was() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let mut request = request();
    request["schedule_at"] = json!("2026-11-22T00:00:00Z");
    let first = send(&account.live, "k", &request).await.assert(201);
    let id = first.json["data"]["messages"][0]["id"].as_str().unwrap();
    account.live.call(&format!("/messages/{id}/cancel")).await.assert(200);
    let again = send(&account.live, "k", &request).await.assert(200);
    assert_eq!(again.json["data"], first.json["data"]);
    assert_eq!(account.balance().await, 10);
}

#[tokio::test]
async fn a_retry_after_the_scheduled_time_has_passed_is_still_a_retry() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let soon = rig.sms.now().plus(std::time::Duration::from_secs(30)).to_string();
    let mut request = request();
    request["schedule_at"] = json!(soon);
    let first = send(&account.live, "k", &request).await.assert(201);
    rig.pass(600).await;
    let again = send(&account.live, "k", &request).await.assert(200);
    assert_eq!(again.json["data"], first.json["data"]);
    send(&account.live, "another", &request).await.assert(422);
}

#[tokio::test]
async fn requests_are_compared_by_meaning() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    send(&account.live, "k", &request()).await.assert(201);
    let same = json!({
        "client_ref": "a", "body": "Hello", "to": "+44 7700 900123, nonsense",
        "track_links": false, "sender": null, "extra": 1,
    });
    send(&account.live, "k", &same).await.assert(200);
    for (field, value) in [
        ("to", json!("07700 900124")),
        ("body", json!("hello")),
        ("client_ref", json!("b")),
        ("client_ref", Value::Null),
        ("append_opt_out", json!(true)),
        ("priority", json!("normal")),
        ("schedule_at", json!("2026-12-01T00:00:00Z")),
    ] {
        let mut other = request();
        other[field] = value;
        send(&account.live, "k", &other).await.refused(409, "idempotency_conflict");
    }
    assert_eq!(account.balance().await, 9);
}

#[tokio::test]
async fn the_kind_of_key_belongs_to_the_request() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    send(&account.live, "k", &request()).await.assert(201);
    send(&account.test, "k", &request()).await.refused(409, "idempotency_conflict");
    let first = send(&account.test, "t", &request()).await.assert(201);
    let again = send(&account.test, "t", &request()).await.assert(200);
    assert_eq!(again.json["data"], first.json["data"]);
    assert_eq!(again.json["meta"]["test"], true);
    send(&account.live, "t", &request()).await.refused(409, "idempotency_conflict");
}

#[tokio::test]
async fn keys_are_an_accounts_own() {
    let rig = Rig::new().await;
    let (one, other) = (rig.account(10).await, rig.account(10).await);
    let first = send(&one.live, "k", &request()).await.assert(201);
    let second = send(&other.live, "k", &request()).await.assert(201);
    assert_ne!(first.json["data"]["batch_id"], second.json["data"]["batch_id"]);
    let mut different = request();
    different["body"] = json!("Bye");
    let third = rig.account(10).await;
    send(&third.live, "k", &different).await.assert(201);
}

#[tokio::test]
async fn only_an_accepted_send_is_kept() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    send(&account.live, "k", &request()).await.refused(402, "insufficient_credit");
    send(&account.live, "k", &json!({ "to": 5 })).await.refused(422, "validation_failed");
    let top_up = format!("/accounts/{}/credits", account.id);
    rig.operator().post(&top_up, json!({ "amount": 5 })).await.assert(200);
    send(&account.live, "k", &request()).await.assert(201);
}

#[tokio::test]
async fn a_send_that_reached_nobody_is_replayed_too() {
    let rig = Rig::new().await;
    let account = rig.account(5).await;
    let nobody = json!({ "to": "nonsense", "body": "x" });
    let first = send(&account.live, "k", &nobody).await.assert(201);
    let again = send(&account.live, "k", &nobody).await.assert(200);
    assert_eq!(again.json["data"], first.json["data"]);
    assert_eq!(again.json["meta"]["replayed"], true);
}

#[tokio::test]
async fn a_key_has_1_to_200_visible_characters() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    send(&account.live, &"k".repeat(200), &request()).await.assert(201);
    let refused = send(&account.live, &"k".repeat(201), &request()).await;
    refused.mistake("Idempotency-Key", "too_long");
    send(&account.live, "", &request()).await.mistake("Idempotency-Key", "empty");
    send(&account.live, "a\tb", &request()).await.mistake("Idempotency-Key", "invalid_character");
    send(&account.live, "é", &request()).await.mistake("Idempotency-Key", "invalid_character");
    let ask = account.live.ask(Method::POST, "/messages").json(&request());
    let twice = ask.header("Idempotency-Key", "a").header("Idempotency-Key", "b").send().await;
    twice.mistake("Idempotency-Key", "duplicate_key");
    assert_eq!(account.balance().await, 9);
}

#[tokio::test]
async fn many_at_once_are_sent_once() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..20 {
        let client = account.live.clone();
        tasks.spawn(async move { send(&client, "k", &request()).await });
    }
    let replies = tasks.join_all().await;
    assert_eq!(replies.iter().filter(|reply| reply.status == 201).count(), 1);
    assert_eq!(replies.iter().filter(|reply| reply.status == 200).count(), 19);
    for reply in &replies {
        assert_eq!(reply.json["data"], replies[0].json["data"]);
    }
    assert_eq!(account.balance().await, 9);
}

#[tokio::test]
async fn a_key_is_kept_for_seven_days() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let hours = |hours| std::time::Duration::from_hours(hours);
    send(&account.live, "k", &request()).await.assert(201);
    rig.clock.advance(hours(7 * 24).saturating_sub(std::time::Duration::from_millis(1)));
    rig.sms.tidy(1_000).await.unwrap();
    send(&account.live, "k", &request()).await.assert(200);
    rig.clock.advance(hours(1));
    rig.sms.tidy(1_000).await.unwrap();
    send(&account.live, "k", &request()).await.assert(201);
}
