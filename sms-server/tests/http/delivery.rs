//! `/webhooks/{id}/deliveries`: what became of each event, and sending it again.

use std::time::Duration;

use serde_json::{Value, json};

use crate::message_send::{keys, numbers};
use crate::rig::Rig;
use crate::webhook::endpoint;

const FIELDS: [&str; 11] = [
    "id",
    "event_id",
    "event_type",
    "status",
    "attempts",
    "last_status_code",
    "last_error",
    "last_attempt_at",
    "next_attempt_at",
    "delivered_at",
    "created_at",
];

#[tokio::test]
async fn a_delivery_shows_the_result_of_an_event() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let (path, _) = endpoint(&account, &["message.sent"]).await;
    account.send("07700 900904", "x").await;
    rig.pass(1).await;
    let sent = rig.hooks.take();
    let event: Value = serde_json::from_str(sent[0].body.as_str()).unwrap();
    let reply = account.live.get(&format!("{path}/deliveries")).await.assert(200);
    assert_eq!(reply.json["meta"], json!({ "next_cursor": null }));
    let delivery = &reply.json["data"][0];
    assert_eq!(keys(delivery), FIELDS);
    let expected = json!({
        "id": sent[0].delivery.to_string(),
        "event_id": event["id"],
        "event_type": "message.sent",
        "status": "delivered",
        "attempts": 1,
        "last_status_code": 200,
        "last_error": null,
        "last_attempt_at": "2026-11-21T07:07:11.123Z",
        "next_attempt_at": null,
        "delivered_at": "2026-11-21T07:07:11.123Z",
        "created_at": "2026-11-21T07:07:11.123Z",
    });
    assert_eq!(*delivery, expected);
    assert!(expected["id"].as_str().unwrap().starts_with("whd_"));
}

#[tokio::test]
async fn a_failing_delivery_is_tried_seven_times_and_then_given_up() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let (path, _) = endpoint(&account, &["message.sent"]).await;
    rig.hooks.break_down();
    account.send("07700 900904", "x").await;
    rig.pass(1).await;
    let read = async || account.live.get(&format!("{path}/deliveries")).await.ok()[0].take();
    let first = read().await;
    assert_eq!((&first["status"], &first["attempts"]), (&json!("pending"), &json!(1)));
    assert_eq!(
        (&first["last_status_code"], &first["last_error"]),
        (&json!(500), &json!("http_status"))
    );
    assert!(first["next_attempt_at"].as_str().unwrap() >= "2026-11-21T07:08:11.123Z");
    assert!(first["next_attempt_at"].as_str().unwrap() <= "2026-11-21T07:08:17.123Z");
    for minutes in [1, 5, 30, 120, 360, 720] {
        let wait = Duration::from_mins(minutes);
        rig.hooks.take();
        rig.clock.advance(wait.saturating_sub(Duration::from_millis(1)));
        rig.work().await;
        assert!(rig.hooks.take().is_empty(), "never before {minutes} minutes");
        rig.clock.advance(wait / 10 + Duration::from_millis(1));
        rig.work().await;
        assert_eq!(rig.hooks.take().len(), 1, "at most a tenth after {minutes} minutes");
    }
    let last = read().await;
    assert_eq!((&last["status"], &last["attempts"]), (&json!("given_up"), &json!(7)));
    assert_eq!(last["next_attempt_at"], Value::Null);
    let endpoint = account.live.get("/webhooks").await.ok();
    assert_eq!(endpoint[0]["consecutive_failures"], 7);
}

#[tokio::test]
async fn an_endpoint_that_asks_for_time_is_left_alone_and_loses_nothing() {
    let rig = Rig::new().await;
    let account = rig.account(1_000).await;
    let (path, _) = endpoint(&account, &["message.sent"]).await;
    rig.hooks.ask_to_wait(Duration::from_secs(20));
    account.send(json!(numbers(200)), "x").await;
    rig.pass(1).await;
    let asked = rig.hooks.take().len();
    assert!(asked > 0);
    rig.pass(19).await;
    assert!(rig.hooks.take().is_empty(), "nothing is sent in a pause");
    let shown = &account.live.get("/webhooks").await.ok()[0];
    assert_eq!((&shown["enabled"], &shown["consecutive_failures"]), (&json!(true), &json!(1)));
    let first = &account.live.get(&format!("{path}/deliveries")).await.ok()[0];
    assert_eq!(first["status"], "pending");
    rig.hooks.recover();
    rig.pass(70).await;
    let sent = rig.hooks.take();
    assert_eq!(sent.len(), 200, "each is delivered once");
    let shown = &account.live.get("/webhooks").await.ok()[0];
    assert_eq!((&shown["enabled"], &shown["consecutive_failures"]), (&json!(true), &json!(0)));
}

#[tokio::test]
async fn every_attempt_carries_the_same_id_and_body() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    endpoint(&account, &["message.sent"]).await;
    rig.hooks.break_down();
    account.send("07700 900904", "x").await;
    rig.pass(1).await;
    rig.clock.advance(Duration::from_mins(2));
    rig.work().await;
    let sent = rig.hooks.take();
    assert_eq!(sent.len(), 2);
    assert_eq!((sent[0].delivery, &sent[0].body), (sent[1].delivery, &sent[1].body));
}

#[tokio::test]
async fn an_endpoint_that_fails_a_hundred_times_in_a_row_is_switched_off() {
    let rig = Rig::new().await;
    let account = rig.account(1_000).await;
    let (path, _) = endpoint(&account, &["message.sent"]).await;
    rig.hooks.break_down();
    let to = |count: usize| -> Vec<String> {
        (0..count).map(|index| format!("07700 901{index:03}")).collect()
    };
    account.send(json!(to(99)), "x").await;
    rig.pass(1).await;
    let endpoint = account.live.get("/webhooks").await.ok();
    assert_eq!(
        (&endpoint[0]["enabled"], &endpoint[0]["consecutive_failures"]),
        (&json!(true), &json!(99))
    );
    account.send("07700 901999", "x").await;
    rig.pass(1).await;
    let endpoint = account.live.get("/webhooks").await.ok();
    assert_eq!(
        (&endpoint[0]["enabled"], &endpoint[0]["consecutive_failures"]),
        (&json!(false), &json!(100))
    );
    assert_eq!(endpoint[0]["disabled_reason"], "consecutive_failures");
    let log = account.live.pages(&format!("{path}/deliveries"), 100).await;
    assert!(log.iter().all(|delivery| delivery["status"] == "given_up"), "nothing waits for it");
    assert!(log.iter().any(|delivery| delivery["last_error"] == "endpoint_off"));
    let on = account.live.patch(&path, json!({ "enabled": true })).await.ok();
    assert_eq!((&on["consecutive_failures"], &on["disabled_reason"]), (&json!(0), &Value::Null));
    rig.hooks.recover();
    rig.hooks.take();
    account.send("07700 900904", "x").await;
    rig.pass(1).await;
    assert_eq!(rig.hooks.take().len(), 1);
}

#[tokio::test]
async fn a_delivery_can_be_redelivered_whatever_its_status() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let (path, _) = endpoint(&account, &["message.sent"]).await;
    account.send("07700 900904", "x").await;
    rig.pass(1).await;
    let first = rig.hooks.take();
    let retry = format!("{path}/deliveries/{}/retry", first[0].delivery);
    rig.clock.advance(Duration::from_secs(5));
    let again = account.live.call(&retry).await.ok();
    assert_eq!(keys(&again), FIELDS);
    assert_eq!((&again["status"], &again["attempts"]), (&json!("delivered"), &json!(2)));
    assert_eq!(again["last_attempt_at"], "2026-11-21T07:07:16.123Z");
    let second = rig.hooks.take();
    assert_eq!((second[0].delivery, &second[0].body), (first[0].delivery, &first[0].body));
    account.live.patch(&path, json!({ "enabled": false })).await.assert(200);
    account.live.call(&retry).await.assert(200);
    assert_eq!(rig.hooks.take().len(), 1, "also to an endpoint that is off");
}

#[tokio::test]
async fn a_delivery_is_found_under_its_own_endpoint_alone() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let (one, _) = endpoint(&account, &["message.sent"]).await;
    let (other, _) = endpoint(&account, &["message.failed"]).await;
    account.send("07700 900904", "x").await;
    rig.pass(1).await;
    let delivery = rig.hooks.take()[0].delivery;
    let unknown = format!("whd_{}", "0".repeat(26));
    for path in [
        format!("{other}/deliveries/{delivery}/retry"),
        format!("{one}/deliveries/{unknown}/retry"),
        format!("{one}/deliveries/x/retry"),
        format!("/webhooks/x/deliveries/{delivery}/retry"),
        format!("/webhooks/{delivery}/deliveries/{delivery}/retry"),
    ] {
        account.live.call(&path).await.refused(404, "not_found");
    }
    assert!(rig.hooks.take().is_empty());
    assert_eq!(account.live.get(&format!("{other}/deliveries")).await.ok(), json!([]));
}

#[tokio::test]
async fn deliveries_are_listed_newest_first_in_whole_pages() {
    let rig = Rig::new().await;
    let account = rig.account(100).await;
    let (path, _) = endpoint(&account, &["message.sent", "message.delivered"]).await;
    account.send(json!(numbers(20)), "x").await;
    rig.pass(5).await;
    let list = format!("{path}/deliveries");
    let all = account.live.pages(&list, 100).await;
    assert_eq!(all.len(), 40);
    let ids: Vec<&str> = all.iter().map(|delivery| delivery["id"].as_str().unwrap()).collect();
    assert!(ids.is_sorted_by(|newer, older| newer > older));
    for limit in [1, 7, 20, 39] {
        assert_eq!(account.live.pages(&list, limit).await, all);
    }
    let wrong = account.live.get(&format!("{list}?limit=0&cursor=x")).await.mistakes();
    assert_eq!(wrong.len(), 2);
}

#[tokio::test]
async fn deliveries_are_kept_for_thirty_days() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let (path, _) = endpoint(&account, &["message.sent"]).await;
    account.send("07700 900904", "x").await;
    rig.pass(1).await;
    let count = async || {
        rig.sms.tidy(1_000).await.unwrap();
        account.live.get(&format!("{path}/deliveries")).await.ok().as_array().unwrap().len()
    };
    rig.clock.advance(Duration::from_hours(30 * 24) - Duration::from_millis(1));
    assert_eq!(count().await, 1);
    rig.clock.advance(Duration::from_secs(1));
    assert_eq!(count().await, 0);
}

#[tokio::test]
async fn what_is_delivered_is_the_message_as_the_api_shows_it() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    endpoint(&account, &["message.sent", "message.delivered"]).await;
    let request = json!({ "to": "07700 900123", "body": "Hi", "client_ref": "booking-42" });
    account.live.post("/messages", request).await.assert(201);
    rig.pass(1).await;
    let sent = rig.hooks.take_events();
    let shown = account.live.get("/messages").await.ok();
    assert_eq!(keys(&sent[0]), ["id", "type", "created_at", "data"]);
    assert_eq!(sent[0]["data"], shown[0]);
    assert_eq!(sent[0]["created_at"], "2026-11-21T07:07:11.123Z");
    rig.pass(2).await;
    let delivered = rig.hooks.take_events();
    let shown = account.live.get("/messages").await.ok();
    assert_eq!(delivered[0]["data"], shown[0]);
    assert_eq!(delivered[0]["data"]["client_ref"], "booking-42");
}
