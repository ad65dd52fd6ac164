//! Messages submitted to a real SMSC, and the effect of its delivery receipts.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use sms_core::clock::{Clock, SystemClock};
use sms_test_smsc::Smsc;

use crate::server::receiver;
use crate::smpp_world::{NUMBER, World, history, on_both_stores};
use crate::socket::bounded;

on_both_stores! {
    a_message_leaves_by_the_smsc_and_a_signed_webhook_tells_of_its_receipt
    a_long_message_is_delivered_when_all_of_its_segments_are
    a_long_message_is_undelivered_when_one_of_its_segments_is
    receipts_find_their_messages_however_they_come
}

async fn a_message_leaves_by_the_smsc_and_a_signed_webhook_tells_of_its_receipt(
    store: Option<&str>,
) {
    let smsc = Smsc::start().await;
    let world = World::new(store, &smsc, &[]).await;
    let (receiver, mut received) = receiver().await;
    let url = format!("http://{}/hook", receiver.addr);
    let hook = json!({ "url": url, "events": ["message.delivered"] });
    let secret = world.post("/webhooks", &hook).await["secret"].as_str().unwrap().to_owned();

    let id = world.send_one("Your table is ready").await;
    let left = smsc.until("text", 1).await.remove(0);
    assert_eq!((&left["from"], &left["to"]), (&json!(NUMBER), &json!("447700900123")));
    assert_eq!(left["words"], "Your table is ready");
    world.until(&id, "sent").await;
    smsc.receipt(json!({ "id": left["id"], "state": "DELIVRD", "form": "text" })).await;

    let message = world.message(&id).await;
    assert_eq!(history(&message), ["queued", "sending", "sent", "delivered"]);
    assert_eq!(message["route"], "main");
    let (headers, body) = bounded(received.recv()).await.unwrap();
    let now = SystemClock.now().to_chrono().timestamp();
    let signature = headers["x-connect-signature"].to_str().unwrap();
    assert_eq!(sms_webhooks::verify(&secret, signature, &body, now), Ok(()));
    let event: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!((&event["type"], &event["data"]["id"]), (&json!("message.delivered"), &json!(id)));
}

/// Sends a message of ten segments; its id, and the ids that the SMSC gave the segments.
async fn ten_parts(world: &World, smsc: &Smsc) -> (String, Vec<Value>) {
    let id = world.send_one(&"Ten parts. ".repeat(126)).await;
    let parts = smsc.until("text", 10).await;
    let message = world.until(&id, "sent").await;
    assert_eq!((&message["segments"], parts.len()), (&json!(10), 10));
    (id, parts.into_iter().map(|mut part| part["id"].take()).collect())
}

async fn a_long_message_is_delivered_when_all_of_its_segments_are(store: Option<&str>) {
    let smsc = Smsc::start().await;
    let world = World::new(store, &smsc, &[]).await;
    let (id, parts) = ten_parts(&world, &smsc).await;
    for part in &parts[1..] {
        smsc.receipt(json!({ "id": part, "state": "DELIVRD", "form": "both" })).await;
        smsc.receipt(json!({ "id": part, "state": "DELIVRD", "form": "both" })).await;
    }
    assert_eq!(world.message(&id).await["status"], "sent", "one is missing");
    smsc.receipt(json!({ "id": parts[0], "state": "DELIVRD", "form": "both" })).await;
    let message = world.message(&id).await;
    assert_eq!(history(&message), ["queued", "sending", "sent", "delivered"]);
}

async fn a_long_message_is_undelivered_when_one_of_its_segments_is(store: Option<&str>) {
    let smsc = Smsc::start().await;
    let world = World::new(store, &smsc, &[]).await;
    let (id, parts) = ten_parts(&world, &smsc).await;
    smsc.receipt(json!({ "id": parts[0], "state": "DELIVRD", "form": "text" })).await;
    let absent = json!({ "id": parts[4], "state": "UNDELIV", "form": "text", "err": "027" });
    smsc.receipt(absent).await;
    for part in &parts[5..] {
        smsc.receipt(json!({ "id": part, "state": "DELIVRD", "form": "text" })).await;
    }
    let message = world.message(&id).await;
    assert_eq!(history(&message), ["queued", "sending", "sent", "undelivered"]);
    assert_eq!(message["error_code"], "absent_subscriber");
    assert_eq!(world.get("/balance").await["credits"], 90, "it left: nothing is refunded");
}

async fn receipts_find_their_messages_however_they_come(store: Option<&str>) {
    let smsc = Smsc::start().await;
    let world = World::new(store, &smsc, &[]).await;
    // Before the answer that names the text.
    smsc.answers(json!({ "before": "text" })).await;
    let early = world.send_one("early").await;
    world.until(&early, "delivered").await;
    smsc.answers(json!({})).await;
    let mut messages = Vec::new();
    for words in ["one", "two", "three"] {
        let id = world.send_one(words).await;
        world.until(&id, "sent").await;
        messages.push((id, smsc.id_of(words).await));
    }
    let receipt = async |text: usize, state: &str, form: &str| {
        smsc.receipt(json!({ "id": messages[text].1, "state": state, "form": form })).await;
        world.message(&messages[text].0).await["status"].as_str().unwrap().to_owned()
    };
    // Not in order; first that they are under way; cut short; of messages that nobody sent.
    assert_eq!(receipt(2, "ENROUTE", "both").await, "sent");
    assert_eq!(receipt(2, "DELIVRD", "tlv").await, "delivered");
    assert_eq!(receipt(0, "ACCEPTD", "text").await, "sent");
    assert_eq!(receipt(0, "DELIVRD", "corrupt").await, "sent", "it says nothing");
    smsc.receipt(json!({ "id": "999999", "state": "DELIVRD", "form": "text" })).await;
    assert_eq!(receipt(0, "EXPIRED", "text").await, "undelivered");
    assert_eq!(world.message(&messages[0].0).await["error_code"], "expired");
    // Twice, and better news later.
    assert_eq!(receipt(1, "DELIVRD", "text").await, "delivered");
    let once = world.message(&messages[1].0).await;
    assert_eq!(receipt(1, "DELIVRD", "both").await, "delivered");
    assert_eq!(receipt(1, "UNDELIV", "text").await, "delivered");
    assert_eq!(world.message(&messages[1].0).await, once, "repeated and later news change nothing");
    // The first came before its message's answer: it was recorded before that or after. The one
    // of a message that nobody sent waits for its message.
    let count = async |what| {
        let name = format!("sms_smpp_arrivals_total{{route=\"main\",what=\"{what}\"}}");
        world.metric(&name).await.to_string()
    };
    let (early, delivered) = (count("receipt_early").await, count("receipt_delivered").await);
    let counted = (early.as_str(), delivered.as_str());
    assert!([("2", "3"), ("1", "4")].contains(&counted), "early and delivered: {counted:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_send_to_many_fills_the_window_and_all_of_it_is_delivered() {
    let smsc = Smsc::start().await;
    smsc.answers(json!({ "after": "text", "reorder": 4 })).await;
    let world = World::new(None, &smsc, &[("SMS_ROUTE_MAIN_WINDOW", "8")]).await;
    let numbers: Vec<String> = (0..40).map(|n| format!("07700 9001{n:02}")).collect();
    let ids = world.send(&numbers.join(","), "Hello").await;
    for id in &ids {
        world.until(id, "delivered").await;
    }
    let to = smsc.seen("text").into_iter().map(|text| text["to"].to_string());
    assert_eq!(to.collect::<BTreeSet<String>>().len(), 40);
    assert_eq!(smsc.seen("text").len(), 40, "each left once");
    let accepted = "sms_smpp_submits_total{route=\"main\",outcome=\"accepted\"}";
    assert!((world.metric(accepted).await - 40.0).abs() < 0.1);
    let answers = world.metric("sms_smpp_answer_seconds_count{route=\"main\"}").await;
    assert!((answers - 40.0).abs() < 0.1, "{answers}");
}
