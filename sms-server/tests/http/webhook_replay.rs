//! `/webhooks/{id}/replay`: what an endpoint missed is sent again.

use std::sync::Arc;

use poem::http::Method;
use serde_json::{Value, json};
use sms_core::webhook::replay::PORTION;
use sms_http::rate_limit::Gcra;
use sms_store_sqlite::SqliteStore;

use crate::fresh::Folder;
use crate::rig::{Account, Rig};
use crate::webhook::{EVENTS, endpoint};

const START: &str = "00000000000000000000000000";

/// An account with messages that were sent and delivered before it had an endpoint.
async fn late(rig: &Rig, messages: u32) -> (Account, String) {
    let account = rig.account(100).await;
    for number in 0..messages {
        account.send(format!("07700 900{:03}", 100 + number), "Hello").await;
        rig.pass(5).await;
    }
    let (path, _) = endpoint(&account, &EVENTS).await;
    (account, path)
}

async fn replay(account: &Account, path: &str, input: Value) -> Value {
    account.live.post(&format!("{path}/replay"), input).await.ok()
}

/// The events of the account's log, oldest first, as webhooks are sent them, with positions.
async fn log(account: &Account) -> Vec<(Value, String)> {
    let mut events = account.live.pages(&format!("/events?after={START}"), 100).await;
    let position = |event: &mut Value| event.as_object_mut().unwrap().shift_remove("position");
    let with_position = |event: &mut Value| {
        let position = position(event).unwrap().as_str().unwrap().to_owned();
        (event.clone(), position)
    };
    events.iter_mut().map(with_position).collect()
}

#[tokio::test]
async fn a_replay_sends_a_new_endpoint_the_events_before_it() {
    let rig = Rig::new().await;
    let (account, path) = late(&rig, 3).await;
    let log = log(&account).await;
    assert_eq!(rig.hooks.take_events(), Vec::<Value>::new());
    let answer = replay(&account, &path, json!({ "after": START })).await;
    let last = &log.last().unwrap().1;
    assert_eq!(answer, json!({ "events": 6, "position": last, "has_more": false }));
    rig.pass(1).await;
    let expected: Vec<Value> = log.into_iter().map(|(event, _)| event).collect();
    assert_eq!(rig.hooks.take_events(), expected, "each once, in order, with its first id");
    rig.pass(5).await;
    assert_eq!(rig.hooks.take_events(), Vec::<Value>::new());
    let deliveries = account.live.get(&format!("{path}/deliveries")).await.ok();
    assert_eq!(deliveries.as_array().unwrap().len(), 6);
}

#[tokio::test]
async fn a_replay_of_many_events_goes_on_in_portions_behind_new_ones() {
    let rig = Rig::new().await;
    let (account, _) = half_way(&rig).await;
    account.send("07700 900300", "Hello").await;
    rig.work().await;
    let new = rig.hooks.take_events();
    assert_eq!(new[0]["data"]["contact_number"], "+447700900300", "{new:?}");
    rig.pass(20).await;
    let rest = rig.hooks.take_events();
    let replayed = rest.iter().filter(|event| event["data"]["to"] != "+447700900300").count();
    assert_eq!(PORTION.get() + replayed, 240);
}

#[tokio::test]
async fn a_replay_begins_at_an_event_or_a_time_and_takes_the_types_that_are_named() {
    let rig = Rig::new().await;
    let (account, path) = late(&rig, 4).await;
    let log = log(&account).await;
    let at = |place: usize| log[place].0["created_at"].as_str().unwrap();
    let (from, to) = (at(2), at(6));
    for (input, expected) in [
        (json!({ "after": log[1].1 }), 2..8),
        (json!({ "after": log[1].0["id"] }), 2..8),
        (json!({ "from": from }), 2..8),
        (json!({ "from": from, "to": to }), 2..6),
        (json!({ "after": START, "to": to }), 0..6),
        (json!({ "from": "2001-01-01T00:00:00Z" }), 0..8),
        (json!({ "from": "2101-01-01T00:00:00Z" }), 0..0),
        (json!({ "after": START, "to": "2001-01-01T00:00:00Z" }), 0..0),
    ] {
        for types in [None, Some(["message.delivered"])] {
            let mut input = input.clone();
            let mut wanted: Vec<_> = log[expected.clone()].to_vec();
            if let Some(types) = types {
                input["types"] = json!(types);
                wanted.retain(|(event, _)| event["type"] == types[0]);
            }
            let answer = replay(&account, &path, input.clone()).await;
            assert_eq!(answer["events"], wanted.len(), "{input}");
            assert_eq!(answer["position"], json!(wanted.last().map(|last| &last.1)), "{input}");
            rig.pass(1).await;
            let wanted: Vec<Value> = wanted.into_iter().map(|(event, _)| event).collect();
            assert_eq!(rig.hooks.take_events(), wanted, "{input}");
        }
    }
}

#[tokio::test]
async fn an_endpoint_gets_what_it_missed_while_it_was_disabled() {
    let rig = Rig::new().await;
    let (account, path) = late(&rig, 0).await;
    account.live.patch(&path, json!({ "enabled": false })).await.ok();
    account.send("07700 900123", "Hello").await;
    rig.pass(5).await;
    let input = json!({ "after": START });
    let disabled = account.live.post(&format!("{path}/replay"), input.clone()).await;
    disabled.refused(409, "webhook_disabled");
    let backwards = json!({ "from": "2026-11-21T07:00:00Z", "to": "2026-11-21T07:00:00Z" });
    let invalid = account.live.post(&format!("{path}/replay"), backwards).await;
    invalid.mistake("to", "out_of_range");
    account.live.patch(&path, json!({ "enabled": true })).await.ok();
    assert_eq!(replay(&account, &path, input).await["events"], 2);
    rig.pass(1).await;
    assert_eq!(rig.hooks.take_events().len(), 2);
}

/// An endpoint that has received the first portion of the 240 events of a replay.
async fn half_way(rig: &Rig) -> (Account, String) {
    let account = rig.account(1_000).await;
    let to: Vec<String> = (100..220).map(|number| format!("07700 900{number}")).collect();
    account.send(to, "Hello").await;
    rig.pass(5).await;
    let (path, _) = endpoint(&account, &EVENTS).await;
    assert_eq!(replay(&account, &path, json!({ "after": START })).await["events"], 240);
    rig.work().await;
    assert_eq!(rig.hooks.take_events().len(), PORTION.get(), "the first portion");
    (account, path)
}

#[tokio::test]
async fn a_replay_goes_on_after_a_restart() {
    let folder = Folder::new("replay-restart");
    let rate = Gcra::new(1_000_000, 1_000_000);
    let open = || Arc::new(SqliteStore::open(format!("{}/sms.db", folder.path())).unwrap());
    let rig = Rig::with(open(), rate).await;
    let (account, path) = half_way(&rig).await;
    let log = log(&account).await;
    let token = account.live.token.clone().unwrap();
    drop((rig, account));
    let rig = Rig::bare(open(), rate);
    rig.pass(60).await;
    let received = rig.hooks.take_events();
    let rest: Vec<Value> = log.into_iter().skip(PORTION.get()).map(|(event, _)| event).collect();
    assert_eq!(rest.len(), 240 - PORTION.get());
    assert!(received == rest, "the rest, each once: {} events", received.len());
    let client = rig.client(Some(&token));
    let again = client.post(&format!("{path}/replay"), json!({ "after": START })).await.ok();
    assert_eq!(again["events"], 240, "the replay has ended");
}

#[tokio::test]
async fn a_replay_ends_with_its_endpoint() {
    let rig = Rig::new().await;
    let (account, path) = half_way(&rig).await;
    account.live.delete(&path).await.assert(204);
    rig.pass(60).await;
    assert_eq!(rig.hooks.take_events(), Vec::<Value>::new());
    let (account, path) = half_way(&rig).await;
    account.live.patch(&path, json!({ "enabled": false })).await.ok();
    rig.pass(60).await;
    account.live.patch(&path, json!({ "enabled": true })).await.ok();
    rig.pass(60).await;
    assert_eq!(rig.hooks.take_events(), Vec::<Value>::new(), "nor is it taken up again");
}

#[tokio::test]
async fn an_endpoint_shows_how_far_its_replay_has_come() {
    let rig = Rig::new().await;
    let (account, path) = half_way(&rig).await;
    let log = log(&account).await;
    let shown = async || account.live.get("/webhooks").await.ok()[0]["replay"].clone();
    let (sent, last) = (&log[PORTION.get() - 1].1, &log.last().unwrap().1);
    assert_eq!(shown().await, json!({ "position": sent, "until": last }));
    let disabled = account.live.patch(&path, json!({ "enabled": false })).await.ok();
    assert_eq!((&disabled["replay"], shown().await), (&Value::Null, Value::Null));
}

#[tokio::test]
async fn one_replay_to_an_endpoint_is_under_way_at_a_time() {
    let rig = Rig::new().await;
    let (account, path) = late(&rig, 1).await;
    let input = json!({ "after": START });
    replay(&account, &path, input.clone()).await;
    let second = account.live.post(&format!("{path}/replay"), input.clone()).await;
    second.refused(409, "replay_under_way");
    let unknown = json!({ "after": "evt_00000000000000000000000001" });
    let invalid = account.live.post(&format!("{path}/replay"), unknown).await;
    invalid.mistake("after", "unknown_value");
    rig.pass(1).await;
    assert_eq!(replay(&account, &path, input).await["events"], 2);
}

#[tokio::test]
async fn a_replay_begins_once_for_its_idempotency_key() {
    let rig = Rig::new().await;
    let (account, path) = late(&rig, 1).await;
    let (replay, input) = (format!("{path}/replay"), json!({ "after": START }));
    let post = async |input: Value| {
        let ask = account.live.ask(Method::POST, &replay).header("Idempotency-Key", "k1");
        ask.json(&input).send().await
    };
    let first = post(input.clone()).await.assert(200);
    assert_eq!(first.json["meta"], Value::Null);
    rig.pass(2).await;
    assert_eq!(rig.hooks.take_events().len(), 2);
    let again = post(input).await.assert(200);
    assert_eq!(again.json["data"], first.json["data"]);
    assert_eq!(again.json["meta"], json!({ "replayed": true }));
    rig.pass(2).await;
    assert_eq!(rig.hooks.take_events(), Vec::<Value>::new());
    let other = async || post(json!({ "from": "2001-01-01T00:00:00Z" })).await;
    other().await.refused(409, "idempotency_conflict");
    account.live.post(&replay, json!({ "after": START })).await.assert(200);
    // Another replay is under way.
    other().await.refused(409, "idempotency_conflict");
    account.live.patch(&path, json!({ "enabled": false })).await.ok();
    other().await.refused(409, "idempotency_conflict");
}

#[tokio::test]
async fn mistakes_are_named_and_other_accounts_see_no_endpoint() {
    let rig = Rig::new().await;
    let (account, _) = late(&rig, 0).await;
    let (path, _) = endpoint(&account, &["message.sent"]).await;
    let path = format!("{path}/replay");
    let time = "2026-11-21T07:00:00Z";
    for (input, field, code) in [
        (json!({}), "after", "required"),
        (json!({ "after": START, "from": time }), "from", "too_many"),
        (json!({ "after": "nonsense" }), "after", "invalid_format"),
        (json!({ "after": "msg_00000000000000000000000001" }), "after", "invalid_format"),
        (json!({ "after": "evt_00000000000000000000000001" }), "after", "unknown_value"),
        (json!({ "from": "yesterday" }), "from", "invalid_format"),
        (json!({ "from": time, "to": time }), "to", "out_of_range"),
        (json!({ "after": START, "types": [] }), "types", "too_few"),
        (json!({ "after": START, "types": ["message.failed"] }), "types", "unknown_value"),
    ] {
        account.live.post(&path, input).await.mistake(field, code);
    }
    let both = json!({ "from": time, "to": time, "types": ["message.failed"] });
    let both = account.live.post(&path, both).await.mistakes();
    let named = |field: &str, code: &str| (field.to_owned(), code.to_owned());
    assert_eq!(both, [named("to", "out_of_range"), named("types", "unknown_value")]);
    let stranger = rig.account(0).await;
    stranger.live.post(&path, json!({ "after": START })).await.refused(404, "not_found");
}
