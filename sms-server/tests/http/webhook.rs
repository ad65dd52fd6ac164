//! `/webhooks`: endpoints, their secrets, and their test.

use std::time::Duration;

use serde_json::{Value, json};

use crate::message_send::keys;
use crate::rig::{Account, Rig};

pub(crate) const EVENTS: [&str; 6] = [
    "message.sent",
    "message.delivered",
    "message.failed",
    "message.received",
    "opt_out.created",
    "link.clicked",
];

const FIELDS: [&str; 11] = [
    "id",
    "url",
    "events",
    "description",
    "enabled",
    "consecutive_failures",
    "disabled_reason",
    "replay",
    "last_delivered_at",
    "created_at",
    "updated_at",
];

pub(crate) fn input() -> Value {
    json!({ "url": "https://example.com/hook", "events": ["message.sent"] })
}

/// Makes an endpoint; its path and its secret.
pub(crate) async fn endpoint(account: &Account, events: &[&str]) -> (String, String) {
    let input = json!({ "url": "https://example.com/hook", "events": events });
    let made = account.live.post("/webhooks", input).await.created();
    let path = format!("/webhooks/{}", made["id"].as_str().unwrap());
    (path, made["secret"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn a_new_endpoint_has_a_secret_that_is_shown_only_once() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let input = json!({
        "url": "https://example.com/hook?x=1", "events": EVENTS, "description": "Bookings",
        "rotate_secret": true,
    });
    let reply = account.live.post("/webhooks", input).await.assert(201);
    assert_eq!(reply.json["meta"], Value::Null);
    let made = &reply.json["data"];
    let with_secret: Vec<&str> = FIELDS.into_iter().chain(["secret"]).collect();
    assert_eq!(keys(made), with_secret);
    let secret = made["secret"].as_str().unwrap();
    let rest = secret.strip_prefix("whsec_").and_then(|rest| rest.strip_suffix('=')).unwrap();
    assert!(
        rest.len() == 43 && rest.bytes().all(|b| b.is_ascii_alphanumeric() || b"+/".contains(&b))
    );
    let expected = json!({
        "id": made["id"],
        "url": "https://example.com/hook?x=1",
        "events": EVENTS,
        "description": "Bookings",
        "enabled": true,
        "consecutive_failures": 0,
        "disabled_reason": null,
        "replay": null,
        "last_delivered_at": null,
        "created_at": "2026-11-21T07:07:10.123Z",
        "updated_at": "2026-11-21T07:07:10.123Z",
    });
    let listed = account.test.get("/webhooks").await.assert(200);
    assert_eq!(listed.json, json!({ "data": [expected], "meta": null }));
    assert!(!listed.text().contains(secret));
}

#[tokio::test]
async fn endpoints_are_listed_newest_first() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let mut made = Vec::new();
    for _ in 0..3 {
        made.push(account.live.post("/webhooks", input()).await.created()["id"].clone());
        rig.clock.advance(std::time::Duration::from_millis(1));
    }
    made.reverse();
    let listed = account.live.get("/webhooks").await.ok();
    let ids: Vec<Value> =
        listed.as_array().unwrap().iter().map(|endpoint| endpoint["id"].clone()).collect();
    assert_eq!(ids, made);
}

#[tokio::test]
async fn an_account_has_up_to_ten_endpoints() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let mut last = Value::Null;
    for _ in 0..10 {
        last = account.live.post("/webhooks", input()).await.created();
    }
    account.live.post("/webhooks", input()).await.refused(409, "webhook_limit_reached");
    assert_eq!(account.live.get("/webhooks").await.ok().as_array().unwrap().len(), 10);
    let other = rig.account(0).await;
    other.live.post("/webhooks", input()).await.assert(201);
    let path = format!("/webhooks/{}", last["id"].as_str().unwrap());
    account.live.delete(&path).await.assert(204);
    account.live.post("/webhooks", input()).await.assert(201);
}

#[tokio::test]
async fn url_and_events_are_required_and_every_mistake_is_named() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let mistakes = async |body: Value| account.live.post("/webhooks", body).await.mistakes();
    let named = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
        pairs.iter().map(|(field, code)| ((*field).to_owned(), (*code).to_owned())).collect()
    };
    assert_eq!(mistakes(json!({})).await, named(&[("url", "required"), ("events", "required")]));
    let wrong = json!({
        "url": "", "events": [], "description": "d".repeat(501), "enabled": "yes",
    });
    let expected = named(&[
        ("url", "too_short"),
        ("events", "too_few"),
        ("description", "too_long"),
        ("enabled", "wrong_type"),
    ]);
    assert_eq!(mistakes(wrong).await, expected);
    let unknown = json!({
        "url": "https://example.com", "events": ["message.sent", "webhook.test", "message", 5],
    });
    let expected = named(&[
        ("events[1]", "unknown_value"),
        ("events[2]", "unknown_value"),
        ("events[3]", "wrong_type"),
    ]);
    assert_eq!(mistakes(unknown).await, expected);
}

#[tokio::test]
async fn an_address_that_must_not_be_called_is_refused() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let (path, _) = endpoint(&account, &["message.sent"]).await;
    for (url, code) in [
        ("nonsense", "invalid_format"),
        ("ftp://example.com/hook", "unsupported_scheme"),
        ("https://user:password@example.com/hook", "credentials_in_url"),
        ("http://127.0.0.1/hook", "forbidden_address"),
        ("https://nowhere.invalid/hook", "dns_failed"),
    ] {
        let mut body = input();
        body["url"] = json!(url);
        account.live.post("/webhooks", body).await.mistake("url", code);
        account.live.patch(&path, json!({ "url": url })).await.mistake("url", code);
    }
    let listed = account.live.get("/webhooks").await.ok();
    assert_eq!(listed.as_array().unwrap().len(), 1);
    assert_eq!(listed[0]["url"], "https://example.com/hook");
}

#[tokio::test]
async fn a_patch_changes_what_it_names_and_nothing_else() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let (path, _) = endpoint(&account, &["message.sent"]).await;
    let before = account.live.get("/webhooks").await.ok()[0].take();
    for change in [
        json!({ "description": "Bookings" }),
        json!({ "url": "https://example.com/other" }),
        json!({ "events": ["link.clicked", "message.sent", "message.sent"] }),
        json!({ "enabled": false }),
        json!({ "description": null }),
        json!({}),
    ] {
        rig.clock.advance(std::time::Duration::from_secs(1));
        let mut expected = account.live.get("/webhooks").await.ok()[0].take();
        for (field, value) in change.as_object().unwrap() {
            expected[field] = value.clone();
        }
        if change.get("events").is_some() {
            expected["events"] = json!(["message.sent", "link.clicked"]);
        }
        if change.get("enabled").is_some() {
            expected["disabled_reason"] = json!("disabled_by_owner");
        }
        let mut after = account.live.patch(&path, change.clone()).await.ok();
        assert_eq!(after["secret"], Value::Null);
        after.as_object_mut().unwrap().shift_remove("secret");
        expected["updated_at"] = after["updated_at"].clone();
        assert_eq!(after, expected, "{change}");
        assert_eq!(after["created_at"], before["created_at"]);
        assert_eq!(account.live.get("/webhooks").await.ok()[0], after);
    }
}

#[tokio::test]
async fn what_a_patch_cannot_clear_is_not_null() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let (path, _) = endpoint(&account, &["message.sent"]).await;
    let body = json!({
        "url": null, "events": null, "enabled": null, "rotate_secret": null,
        "expire_old_secret": null,
    });
    let mistakes = account.live.patch(&path, body).await.mistakes();
    let wrong: Vec<&str> = mistakes.iter().map(|(field, _)| field.as_str()).collect();
    assert_eq!(wrong, ["url", "events", "enabled", "rotate_secret", "expire_old_secret"]);
    account.live.patch(&path, json!({ "events": [] })).await.mistake("events", "too_few");
}

/// The secrets that sign the next delivery.
async fn signing(rig: &Rig, account: &Account) -> Vec<String> {
    account.send("07700 900904", "x").await;
    rig.pass(1).await;
    rig.hooks.take()[0].secrets.reveal().into_iter().map(str::to_owned).collect()
}

#[tokio::test]
async fn rotation_shows_a_new_secret_once_and_the_old_one_signs_for_another_day() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let (path, first) = endpoint(&account, &["message.sent"]).await;
    assert_eq!(signing(&rig, &account).await, [first.as_str()]);
    let kept = account.live.patch(&path, json!({ "rotate_secret": false })).await.ok();
    assert_eq!(kept["secret"], Value::Null);
    let rotated = account.live.patch(&path, json!({ "rotate_secret": true })).await.ok();
    let second = rotated["secret"].as_str().unwrap();
    assert!(second.starts_with("whsec_") && second != first);
    assert!(!account.live.get("/webhooks").await.text().contains("whsec_"));
    assert_eq!(signing(&rig, &account).await, [second, &first]);
    rig.clock.advance(Duration::from_hours(23));
    assert_eq!(signing(&rig, &account).await, [second, &first]);
    account.live.call(&format!("{path}/test")).await.ok();
    assert_eq!(rig.hooks.take()[0].secrets.reveal(), [second, &first]);
    rig.clock.advance(Duration::from_hours(1));
    assert_eq!(signing(&rig, &account).await, [second]);
}

#[tokio::test]
async fn an_old_secret_can_be_ended_at_once() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let (path, _) = endpoint(&account, &["message.sent"]).await;
    let both = json!({ "rotate_secret": true, "expire_old_secret": true });
    let rotated = account.live.patch(&path, both).await.ok();
    assert_eq!(signing(&rig, &account).await, [rotated["secret"].as_str().unwrap()]);
    let rotated = account.live.patch(&path, json!({ "rotate_secret": true })).await.ok();
    assert_eq!(signing(&rig, &account).await.len(), 2);
    let ended = account.live.patch(&path, json!({ "expire_old_secret": true })).await.ok();
    assert_eq!(ended["secret"], Value::Null, "no new secret is drawn");
    assert_eq!(signing(&rig, &account).await, [rotated["secret"].as_str().unwrap()]);
}

#[tokio::test]
async fn a_deleted_endpoint_is_gone_and_hears_nothing() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let (path, _) = endpoint(&account, &["message.sent"]).await;
    account.send("07700 900904", "x").await;
    account.live.delete(&path).await.assert(204);
    rig.pass(2).await;
    assert!(rig.hooks.take().is_empty());
    account.live.delete(&path).await.refused(404, "not_found");
    account.live.patch(&path, json!({})).await.refused(404, "not_found");
    account.live.call(&format!("{path}/test")).await.refused(404, "not_found");
    account.live.get(&format!("{path}/deliveries")).await.refused(404, "not_found");
}

#[tokio::test]
async fn a_test_says_what_the_endpoint_answered() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let (path, secret) = endpoint(&account, &["message.sent"]).await;
    account.live.patch(&path, json!({ "enabled": false })).await.assert(200);
    let told = account.live.call(&format!("{path}/test")).await.ok();
    let expected = json!({
        "delivered": true, "status_code": 200, "duration_ms": 12, "response_body": "thank you",
        "error": null,
    });
    assert_eq!(told, expected, "also of one that is switched off");
    let sent = rig.hooks.take();
    assert_eq!((sent.len(), sent[0].secrets.reveal()), (1, vec![secret.as_str()]));
    let event: Value = serde_json::from_str(sent[0].body.as_str()).unwrap();
    assert_eq!(keys(&event), ["id", "type", "created_at", "data"]);
    assert!(event["id"].as_str().unwrap().starts_with("evt_"));
    assert_eq!((&event["type"], &event["data"].is_object()), (&json!("webhook.test"), &true));
    let log = account.live.get(&format!("{path}/deliveries")).await.ok();
    assert_eq!(
        (&log[0]["event_type"], &log[0]["status"]),
        (&json!("webhook.test"), &json!("delivered"))
    );
}

#[tokio::test]
async fn a_test_that_fails_is_not_retried_and_does_not_count() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let (path, _) = endpoint(&account, &["message.sent"]).await;
    rig.hooks.break_down();
    let told = account.live.call(&format!("{path}/test")).await.ok();
    assert_eq!((&told["delivered"], &told["status_code"]), (&json!(false), &json!(500)));
    assert_eq!(
        (&told["error"], &told["response_body"]),
        (&json!("http_status"), &json!("thank you"))
    );
    rig.hooks.take();
    for _ in 0..24 {
        rig.clock.advance(std::time::Duration::from_hours(1));
        rig.work().await;
    }
    assert!(rig.hooks.take().is_empty());
    let endpoint = account.live.get("/webhooks").await.ok();
    assert_eq!(endpoint[0]["consecutive_failures"], 0);
    let log = account.live.get(&format!("{path}/deliveries")).await.ok();
    assert_eq!((&log[0]["status"], &log[0]["attempts"]), (&json!("given_up"), &json!(1)));
}

#[tokio::test]
async fn an_endpoint_gets_the_events_it_subscribes_to_only_while_it_is_enabled() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let (path, _) = endpoint(&account, &["message.delivered"]).await;
    account.send("07700 900123", "x").await;
    rig.pass(5).await;
    let told = rig.hooks.take_events();
    assert_eq!(told.len(), 1);
    assert_eq!(told[0]["type"], "message.delivered");
    let seen = account.live.get("/webhooks").await.ok();
    assert_eq!(seen[0]["last_delivered_at"], "2026-11-21T07:07:13.123Z");
    account.live.patch(&path, json!({ "enabled": false })).await.assert(200);
    account.send("07700 900123", "x").await;
    rig.pass(5).await;
    account.live.patch(&path, json!({ "enabled": true })).await.assert(200);
    rig.pass(60).await;
    assert!(rig.hooks.take().is_empty(), "what was raised meanwhile is not kept");
    account.send("07700 900123", "x").await;
    rig.pass(5).await;
    assert_eq!(rig.hooks.take().len(), 1);
}
