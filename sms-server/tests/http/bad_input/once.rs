//! `Idempotency-Key` on every operation that makes something.

use poem::http::Method;
use serde_json::{Map, Value, json};

use super::stage::{Operation, Stage};
use crate::rig::{Client, Reply};

/// What makes something and answers 200, because what it makes has no address of its own.
const ANSWER_200: &[&str] = &["campaign_send", "contact_import", "credits_adjust"];

fn makes_something(operation: &Operation<'_>) -> bool {
    let created = operation.item["responses"].get("201").is_some();
    let id = operation.id.as_str();
    operation.method == Method::POST && (created || ANSWER_200.contains(&id))
}

async fn ask(operation: &Operation<'_>, key: &str, body: &Map<String, Value>) -> Reply {
    let ask = operation.client.ask(operation.method.clone(), &operation.path);
    let body = serde_json::to_vec(body).unwrap();
    ask.header("Idempotency-Key", key).bytes(body).send().await
}

async fn ask_another(client: &Client, path: &str, key: &str, body: Value) -> Reply {
    client.ask(Method::POST, path).json(&body).header("Idempotency-Key", key).send().await
}

#[tokio::test]
async fn every_operation_that_makes_something_takes_an_idempotency_key() {
    let stage = Stage::new().await;
    let operations = stage.operations();
    let makers: Vec<_> = operations.iter().filter(|one| makes_something(one)).collect();
    assert!(makers.len() >= 16, "{}", makers.len());
    for operation in makers {
        let parameters = operation.item["parameters"].as_array();
        let takes_a_key = parameters
            .into_iter()
            .flatten()
            .any(|parameter| parameter["name"] == "Idempotency-Key" && parameter["in"] == "header");
        assert!(takes_a_key, "{} must take an Idempotency-Key", operation.id);
        let responses = &operation.item["responses"];
        assert!(responses.get("409").is_some(), "{} must list 409", operation.id);
        assert!(responses.get("200").is_some(), "{} must list 200", operation.id);
    }
}

#[tokio::test]
async fn a_retry_of_any_operation_repeats_the_first_answer_and_does_nothing() {
    let stage = Stage::new().await;
    let joined = json!({ "contact_ids": [stage.contact] });
    stage.live.post(&format!("/lists/{}/contacts", stage.list), joined).await.assert(200);
    for operation in stage.operations().iter().filter(|one| makes_something(one)) {
        let id = operation.id.as_str();
        let mut body = operation.good_body();
        if id == "campaign_create" {
            body.insert("list_id".to_owned(), json!(stage.list));
        }
        let mut first = ask(operation, id, &body).await;
        assert!((200..300).contains(&first.status), "{id}: {} {}", first.status, first.text());
        let state = stage.state().await;
        let again = ask(operation, id, &body).await.assert(200);
        assert_eq!(again.json["meta"]["replayed"], true, "{id}");
        if id == "api_key_create" {
            // Only its hash is stored, so the key is shown once.
            first.json["data"]["key"] = Value::Null;
        }
        assert_eq!(again.json["data"], first.json["data"], "{id}");
        assert_eq!(stage.state().await, state, "{id}");
        let (client, path) = (operation.client, operation.path.as_str());
        let is_an_accounts = std::ptr::eq(client, &raw const stage.live);
        let (path, other) = match (is_an_accounts, id) {
            (true, "template_create") => ("/lists", json!({ "name": "a" })),
            (true, _) => ("/templates", json!({ "name": "a", "body": "b" })),
            (false, "account_create") => (path, json!({ "name": "Other" })),
            (false, _) => ("/accounts", json!({ "name": "a" })),
        };
        let refused = ask_another(client, path, id, other).await.assert(409);
        assert_eq!(refused.json["error"]["code"], "idempotency_conflict", "{id}");
        assert_eq!(stage.state().await, state, "{id}");
    }
}

#[tokio::test]
async fn a_retry_of_a_webhook_shows_its_present_secret_and_none_once_it_is_deleted() {
    let stage = Stage::new().await;
    let hook = json!({ "url": "https://example.com/till", "events": ["message.sent"] });
    let ask = || ask_another(&stage.live, "/webhooks", "till", hook.clone());
    let first = ask().await.assert(201);
    let path = format!("/webhooks/{}", first.json["data"]["id"].as_str().unwrap());
    assert_eq!(ask().await.assert(200).json["data"], first.json["data"]);
    let change = json!({ "rotate_secret": true, "enabled": false });
    let rotated = stage.live.patch(&path, change).await.ok();
    let again = ask().await.assert(200);
    assert_eq!(again.json["data"]["secret"], rotated["secret"]);
    assert_ne!(rotated["secret"], first.json["data"]["secret"]);
    assert_eq!(again.json["data"]["enabled"], true);
    stage.live.delete(&path).await.assert(204);
    ask().await.assert(404);
}

#[tokio::test]
async fn a_retry_of_a_launch_shows_the_campaign_as_its_launch_left_it() {
    let stage = Stage::new().await;
    let joined = json!({ "contact_ids": [stage.contact] });
    stage.live.post(&format!("/lists/{}/contacts", stage.list), joined).await.assert(200);
    let path = format!("/campaigns/{}", stage.campaign);
    let launch = format!("{path}/send");
    let due = json!({ "schedule_at": "2026-12-24T10:00:00Z" });
    let ask = || ask_another(&stage.live, &launch, "spring", due.clone());
    let first = ask().await.assert(200);
    assert_eq!(first.json["meta"]["replayed"], false);
    assert_eq!(first.json["data"]["status"], "scheduled");
    stage.live.post(&format!("{path}/cancel"), json!({})).await.assert(200);
    let again = ask().await.assert(200);
    assert_eq!(again.json["data"], first.json["data"]);
    let now = stage.live.get(&path).await.ok();
    assert_eq!(now["status"], "cancelled");
    let other = ask_another(&stage.live, &launch, "spring", json!({})).await.assert(409);
    assert_eq!(other.json["error"]["code"], "idempotency_conflict");
}
