//! An SMSC that throttles, disconnects and does not answer: no message is lost, messages that may
//! have been sent are marked so, and every message ends with the correct status.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sms_test_smsc::Smsc;

use crate::smpp_world::{World, details, history, on_both_stores};

on_both_stores! {
    messages_that_are_throttled_wait_and_are_delivered
    a_connection_that_breaks_off_within_a_window_loses_no_message_and_names_those_in_doubt
    a_message_in_doubt_is_undelivered_where_that_is_the_setting
    a_message_that_the_network_refuses_fails_and_is_refunded
}

const MAIN: &str = "{route=\"main\"}";

fn ten_numbers() -> String {
    (0..10).map(|n| format!("07700 90012{n}")).collect::<Vec<_>>().join(",")
}

/// How often the SMSC saw each number.
fn seen(smsc: &Smsc) -> BTreeMap<String, usize> {
    let mut seen = BTreeMap::new();
    for text in smsc.seen("text") {
        *seen.entry(text["to"].to_string()).or_default() += 1;
    }
    seen
}

async fn messages_that_are_throttled_wait_and_are_delivered(store: Option<&str>) {
    let smsc = Smsc::start().await;
    smsc.answers(json!({ "throttle": 7, "after": "text" })).await;
    let world = World::new(store, &smsc, &[]).await;
    for id in world.send(&ten_numbers(), "Hello").await {
        let message = world.until(&id, "delivered").await;
        assert_eq!(history(&message).last(), Some(&"delivered"));
    }
    assert!(seen(&smsc).values().all(|times| *times == 1), "throttled messages have not left");
    assert_eq!(seen(&smsc).len(), 10);
    let throttled = "sms_smpp_submits_total{route=\"main\",outcome=\"throttled\"}";
    assert!((world.metric(throttled).await - 7.0).abs() < 0.1);
    assert!(world.metric(&format!("sms_smpp_ambiguous_messages_total{MAIN}")).await < 0.1);
}

async fn a_connection_that_breaks_off_within_a_window_loses_no_message_and_names_those_in_doubt(
    store: Option<&str>,
) {
    let smsc = Smsc::start().await;
    // Three are seen and none is answered; those after them are.
    smsc.answers(json!({ "drop_after": 3, "after": "text" })).await;
    let world = World::new(store, &smsc, &[("SMS_ROUTE_MAIN_WINDOW", "4")]).await;
    let ids = world.send(&ten_numbers(), "Hello").await;
    let mut in_doubt = 0_usize;
    for id in &ids {
        let message = world.until(id, "delivered").await;
        if details(&message).iter().any(|detail| detail.contains("may have been sent")) {
            in_doubt += 1;
        }
    }
    assert!((3..=4).contains(&in_doubt), "{in_doubt} of a window of 4");
    let counted = world.metric(&format!("sms_smpp_ambiguous_messages_total{MAIN}")).await;
    assert_eq!(counted.to_string(), in_doubt.to_string(), "all of them are counted");
    let seen = seen(&smsc);
    assert_eq!(seen.len(), 10, "no text is lost: {seen:?}");
    let twice = seen.values().filter(|times| **times > 1).count();
    assert!((3..=in_doubt).contains(&twice), "{twice} of {in_doubt} in doubt: {seen:?}");
    assert_eq!(seen.values().max(), Some(&2));
    assert_eq!(world.get("/balance").await["credits"], 90);
}

async fn a_message_in_doubt_is_undelivered_where_that_is_the_setting(store: Option<&str>) {
    let smsc = Smsc::start().await;
    smsc.answers(json!({ "drop_after": 1 })).await;
    let setting = [("SMS_ROUTE_MAIN_UNANSWERED", "undelivered")];
    let world = World::new(store, &smsc, &setting).await;
    let id = world.send_one("Hello").await;
    let message = world.until(&id, "undelivered").await;
    assert_eq!(message["error_code"], "network_error");
    assert!(
        details(&message).iter().any(|detail| detail.contains("may have been sent")),
        "{message}"
    );
    assert_eq!(world.get("/balance").await["credits"], 99, "it may have left: no refund");
    assert_eq!(smsc.seen("text").len(), 1);
    assert!(world.metric(&format!("sms_smpp_ambiguous_messages_total{MAIN}")).await > 0.9);
}

async fn a_message_that_the_network_refuses_fails_and_is_refunded(store: Option<&str>) {
    let smsc = Smsc::start().await;
    smsc.answers(json!({ "refuse": 11 })).await;
    let world = World::new(store, &smsc, &[]).await;
    let id = world.send_one("Hello").await;
    let message: Value = world.until(&id, "failed").await;
    assert_eq!(message["error_code"], "unknown_subscriber");
    assert_eq!(world.get("/balance").await["credits"], 100);
}
