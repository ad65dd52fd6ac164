//! `/events`: the account's event log.

use std::sync::Arc;

use serde_json::{Value, json};
use sms_http::rate_limit::Gcra;
use sms_store_memory::MemoryStore;

use crate::rig::{Account, Rig};
use crate::webhook::{EVENTS, endpoint};

/// An account to which something of most kinds has happened.
async fn eventful(rig: &Rig) -> Account {
    let account = rig.account(100).await;
    for (to, body) in [("07700 900123", "Hello"), ("07700 900901", "Hello")] {
        account.send(to, body).await;
        rig.pass(5).await;
    }
    let stop = json!({ "from": "07700 900123", "to": crate::rig::SHARED_NUMBER, "body": "STOP" });
    rig.operator().post("/inbound", stop).await.assert(201);
    rig.pass(1).await;
    account
}

async fn listed(account: &Account, query: &str) -> Vec<Value> {
    account.live.get(&format!("/events?{query}")).await.ok().as_array().unwrap().clone()
}

fn without_position(event: &Value) -> Value {
    let mut event = event.clone();
    let position = event.as_object_mut().unwrap().shift_remove("position").unwrap();
    assert_eq!(position.as_str().unwrap().len(), 26);
    event
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn the_log_shows_events_as_webhooks_receive_them() {
    let rig = Rig::new().await;
    let account = rig.account(100).await;
    endpoint(&account, &EVENTS).await;
    account.send("07700 900123", "Hello").await;
    rig.pass(5).await;
    let stop = json!({ "from": "07700 900123", "to": crate::rig::SHARED_NUMBER, "body": "STOP" });
    rig.operator().post("/inbound", stop).await.assert(201);
    rig.pass(1).await;
    let events = listed(&account, "limit=100").await;
    let mut logged: Vec<String> =
        events.iter().map(|event| without_position(event).to_string()).collect();
    let mut sent: Vec<String> = rig.hooks.take_events().iter().map(Value::to_string).collect();
    assert!(sent.len() >= 4, "{sent:?}");
    logged.sort();
    sent.sort();
    assert_eq!(logged, sent);
    for event in &events {
        let path = format!("/events/{}", event["id"].as_str().unwrap());
        assert_eq!(&account.live.get(&path).await.ok(), event);
    }
}

#[tokio::test]
async fn events_are_logged_without_an_endpoint_and_read_from_a_position_oldest_first() {
    let rig = Rig::new().await;
    let account = eventful(&rig).await;
    let mut oldest_first = listed(&account, "limit=100").await;
    oldest_first.reverse();
    assert!(oldest_first.len() >= 5, "{oldest_first:?}");
    for (place, event) in oldest_first.iter().enumerate() {
        let after = event["position"].as_str().unwrap();
        assert_eq!(listed(&account, &format!("after={after}")).await, oldest_first[place + 1..]);
    }
    // The cursor of a page goes on in its direction, and then comes what is new.
    let first = oldest_first[0]["position"].as_str().unwrap();
    let mut followed = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = account.live.get(&format!("/events?after={first}&limit=2{cursor}")).await;
        let page = page.assert(200).json;
        followed.extend(page["data"].as_array().unwrap().iter().cloned());
        let Some(next) = page["meta"]["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(followed, oldest_first[1..]);
    let last = followed.last().unwrap()["position"].as_str().unwrap();
    let rest = format!("after={last}");
    assert_eq!(listed(&account, &rest).await, Vec::<Value>::new());
    account.send("07700 900124", "Hello again").await;
    rig.pass(1).await;
    assert_eq!(kinds(&listed(&account, &rest).await)[0], "message.sent");
}

#[tokio::test]
async fn types_select_events() {
    let rig = Rig::new().await;
    let account = eventful(&rig).await;
    let all = listed(&account, "limit=100").await;
    for types in ["message.sent", "opt_out.created,message.received", "link.clicked"] {
        let of_type = |event: &&Value| types.split(',').any(|one| event["type"] == one);
        let expected: Vec<Value> = all.iter().filter(of_type).cloned().collect();
        assert_eq!(expected.is_empty(), types == "link.clicked", "{types}");
        assert_eq!(listed(&account, &format!("types={types}&limit=100")).await, expected);
    }
}

#[tokio::test]
async fn mistakes_in_the_query_are_named() {
    let rig = Rig::new().await;
    let live = rig.account(0).await.live;
    let unknown = ["message.read", "webhook.test", "message.sent,", "message.sent,%20link.clicked"];
    for types in unknown {
        live.get(&format!("/events?types={types}")).await.mistake("types", "unknown_value");
    }
    let no_position = "0".repeat(12) + &"z".repeat(14);
    for bad in ["nonsense", "evt_00000000000000000000000000", &no_position] {
        live.get(&format!("/events?after={bad}")).await.mistake("after", "invalid_format");
        live.get(&format!("/events?cursor={bad}")).await.mistake("cursor", "invalid_format");
    }
}

#[tokio::test]
async fn any_position_may_be_named() {
    let rate = Gcra::new(1_000_000, 1_000_000);
    for rig in [Rig::new().await, Rig::with(Arc::new(MemoryStore::new()), rate).await] {
        let account = eventful(&rig).await;
        let all = listed(&account, "limit=100").await;
        let (first, last) = ("00000000000000000000000000", "7zzzzzzzzzzzzg000003zzzzzz");
        assert_eq!(listed(&account, &format!("after={first}&limit=100")).await.len(), all.len());
        assert_eq!(listed(&account, &format!("cursor={last}&limit=100")).await, all);
        for none in [format!("after={last}"), format!("cursor={first}")] {
            assert_eq!(listed(&account, &none).await, Vec::<Value>::new(), "{none}");
        }
    }
}

#[tokio::test]
async fn an_event_that_the_account_does_not_have_is_404() {
    let rig = Rig::new().await;
    let (own, other) = (eventful(&rig).await, rig.account(0).await);
    let id = listed(&own, "limit=1").await[0]["id"].as_str().unwrap().to_owned();
    let unknown = format!("evt_{}", "0".repeat(26));
    own.live.get(&format!("/events/{id}")).await.assert(200);
    other.live.get(&format!("/events/{id}")).await.refused(404, "not_found");
    for id in [unknown.as_str(), "nonsense", &id.replace("evt_", "msg_")] {
        own.live.get(&format!("/events/{id}")).await.refused(404, "not_found");
    }
    assert_eq!(listed(&other, "limit=100").await, Vec::<Value>::new());
}
