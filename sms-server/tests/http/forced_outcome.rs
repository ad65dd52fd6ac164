//! The numbers that force an outcome, from the send to the webhook, with either kind of key.

use std::time::Duration;

use serde_json::{Value, json};

use crate::rig::{Account, Client, Rig};

/// The outcome of a message: its status, its error, the statuses of its history, its webhook
/// events, and its final cost.
struct Fate {
    number: &'static str,
    status: &'static str,
    error: Option<&'static str>,
    history: &'static [&'static str],
    told: &'static [&'static str],
    credits: u64,
}

const DELIVERED: &[&str] = &["queued", "sending", "sent", "delivered"];
const TOLD: &[&str] = &["message.sent", "message.delivered"];
const UNDELIVERED: &[&str] = &["queued", "sending", "sent", "undelivered"];

const FATES: [Fate; 8] = [
    Fate {
        number: "07700 900901",
        status: "failed",
        error: Some("rejected_by_network"),
        history: &["queued", "sending", "failed"],
        told: &["message.failed"],
        credits: 0,
    },
    Fate {
        number: "07700 900902",
        status: "undelivered",
        error: Some("unknown_subscriber"),
        history: UNDELIVERED,
        told: &["message.sent", "message.failed"],
        credits: 1,
    },
    Fate {
        number: "07700 900903",
        status: "undelivered",
        error: Some("absent_subscriber"),
        history: UNDELIVERED,
        told: &["message.sent", "message.failed"],
        credits: 1,
    },
    Fate {
        number: "07700 900904",
        status: "sent",
        error: None,
        history: &["queued", "sending", "sent"],
        told: &["message.sent"],
        credits: 1,
    },
    Fate {
        number: "07700 900905",
        status: "delivered",
        error: None,
        history: DELIVERED,
        told: TOLD,
        credits: 1,
    },
    Fate {
        number: "07700 900909",
        status: "delivered",
        error: None,
        history: DELIVERED,
        told: TOLD,
        credits: 1,
    },
    Fate {
        number: "07700 900910",
        status: "delivered",
        error: None,
        history: DELIVERED,
        told: TOLD,
        credits: 1,
    },
    Fate {
        number: "07700 900123",
        status: "delivered",
        error: None,
        history: DELIVERED,
        told: TOLD,
        credits: 1,
    },
];

async fn listening(rig: &Rig, credits: u32) -> Account {
    let account = rig.account(credits).await;
    let events = json!([
        "message.sent",
        "message.delivered",
        "message.failed",
        "message.received",
        "opt_out.created"
    ]);
    let hook = json!({ "url": "https://example.com/hook", "events": events });
    account.live.post("/webhooks", hook).await.assert(201);
    account
}

async fn send(client: &Client, number: &str) -> String {
    let request = json!({ "to": number, "body": "Hello" });
    let data = client.post("/messages", request).await.created();
    format!("/messages/{}", data["messages"][0]["id"].as_str().unwrap())
}

fn statuses(text: &Value) -> Vec<&str> {
    let events = text["events"].as_array().unwrap().iter();
    events.map(|event| event["status"].as_str().unwrap()).collect()
}

fn kinds(told: &[Value]) -> Vec<&str> {
    told.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn every_forced_outcome_comes_about_with_either_kind_of_key() {
    let rig = Rig::new().await;
    let account = listening(&rig, 100).await;
    for fate in &FATES {
        for client in [&account.live, &account.test] {
            let is_live = client.token == account.live.token;
            let before = account.balance().await;
            let path = send(client, fate.number).await;
            rig.pass(40).await;
            let text = client.get(&path).await.ok();
            let number = fate.number;
            assert_eq!(text["status"], fate.status, "{number}");
            assert_eq!(text["error_code"], json!(fate.error), "{number}");
            assert_eq!(text["error_message"].is_null(), fate.error.is_none());
            assert_eq!(statuses(&text), fate.history, "{number}");
            let mut told = rig.hooks.take_events();
            told.sort_by_key(|event| event["type"] != "message.sent");
            assert_eq!(kinds(&told), fate.told, "{number}");
            assert_eq!(told.last().unwrap()["data"]["error_code"], json!(fate.error));
            let cost = if is_live { fate.credits } else { 0 };
            assert_eq!(before - account.balance().await, cost, "{number}");
        }
    }
}

#[tokio::test]
async fn a_slow_delivery_takes_thirty_seconds_from_sent() {
    let rig = Rig::new().await;
    let account = listening(&rig, 1).await;
    let path = send(&account.live, "07700 900905").await;
    rig.pass(30).await;
    assert_eq!(account.live.get(&path).await.ok()["status"], "sent");
    rig.pass(1).await;
    assert_eq!(account.live.get(&path).await.ok()["status"], "delivered");
}

#[tokio::test]
async fn a_throttled_message_goes_at_the_third_attempt() {
    let rig = Rig::new().await;
    let account = listening(&rig, 1).await;
    let path = send(&account.live, "07700 900906").await;
    rig.pass(60).await;
    let text = account.live.get(&path).await.ok();
    assert_eq!(text["status"], "delivered");
    let attempts = statuses(&text).iter().filter(|status| **status == "sending").count();
    assert!(attempts >= 1, "{text}");
    assert!(text["sent_at"].as_str().unwrap() > "2026-11-21T07:07:13");
    assert_eq!(kinds(&rig.hooks.take_events()), TOLD);
}

#[tokio::test]
async fn a_message_throttled_forever_expires_and_is_refunded() {
    let rig = Rig::new().await;
    let account = listening(&rig, 5).await;
    let path = send(&account.live, "07700 900911").await;
    rig.pass(60).await;
    assert_eq!(account.balance().await, 4);
    for _ in 0..300 {
        rig.clock.advance(Duration::from_mins(5));
        rig.work().await;
    }
    let text = account.live.get(&path).await.ok();
    assert_eq!((&text["status"], &text["error_code"]), (&json!("failed"), &json!("expired")));
    assert_eq!(account.balance().await, 5);
    assert_eq!(kinds(&rig.hooks.take_events()), ["message.failed"]);
}

#[tokio::test]
async fn a_person_who_answers_stop_gets_no_more_messages() {
    let rig = Rig::new().await;
    let account = listening(&rig, 10).await;
    send(&account.live, "07700 900907").await;
    rig.pass(10).await;
    let told = rig.hooks.take_events();
    let mut sorted = kinds(&told);
    sorted.sort_unstable();
    let expected = ["message.delivered", "message.received", "message.sent", "opt_out.created"];
    assert_eq!(sorted, expected);
    let opt_out = told.iter().find(|event| event["type"] == "opt_out.created").unwrap();
    let fields = opt_out["data"].as_object().unwrap();
    let names: Vec<&String> = fields.keys().collect();
    assert_eq!(names, ["phone", "source", "note", "created_at"]);
    assert_eq!((&fields["phone"], &fields["source"]), (&json!("+447700900907"), &json!("sms")));
    let inbound = account.live.get("/messages?direction=inbound").await.ok();
    assert_eq!((&inbound[0]["body"], &inbound[0]["status"]), (&json!("STOP"), &json!("received")));
    let again = account.send("07700 900907", "still there?").await;
    let rejected = json!([{ "to": "+447700900907", "reason": "opted_out" }]);
    assert_eq!((&again["rejected"], account.balance().await), (&rejected, 9));
}

#[tokio::test]
async fn an_echo_comes_back_as_an_inbound_message() {
    let rig = Rig::new().await;
    let account = listening(&rig, 10).await;
    send(&account.test, "07700 900908").await;
    rig.pass(10).await;
    let inbound = account.live.get("/messages?direction=inbound").await.ok();
    let text = &inbound[0];
    assert_eq!((&text["body"], &text["from"]), (&json!("Hello"), &json!("+447700900908")));
    assert_eq!(text["to"], crate::rig::SHARED_NUMBER);
    assert_eq!(text["contact_number"], "+447700900908");
    assert_eq!((&text["credits"], &text["batch_id"]), (&json!(0), &Value::Null));
    assert!(text["received_at"].is_string() && text["read_at"].is_null());
    let told = rig.hooks.take_events();
    let received = told.iter().find(|event| event["type"] == "message.received").unwrap();
    assert_eq!(received["data"], *text);
}

#[tokio::test]
async fn a_number_that_opts_out_before_the_message_leaves_is_not_texted() {
    let rig = Rig::new().await;
    let account = listening(&rig, 10).await;
    send(&account.live, "07700 900123").await;
    rig.pass(5).await;
    let later = json!({ "to": "07700 900123", "body": "x", "schedule_at": "2026-11-21T08:00:00Z" });
    let data = account.live.post("/messages", later).await.created();
    let stop = json!({ "from": "07700 900123", "to": crate::rig::SHARED_NUMBER, "body": "Stop!" });
    rig.operator().post("/inbound", stop).await.assert(201);
    rig.clock.advance(Duration::from_hours(1));
    rig.work().await;
    let path = format!("/messages/{}", data["messages"][0]["id"].as_str().unwrap());
    let text = account.live.get(&path).await.ok();
    assert_eq!((&text["status"], &text["error_code"]), (&json!("failed"), &json!("opted_out")));
    assert_eq!(account.balance().await, 9);
}

#[tokio::test]
async fn messages_of_an_account_suspended_meanwhile_fail_and_are_refunded() {
    let rig = Rig::new().await;
    let account = listening(&rig, 10).await;
    let path = send(&account.live, "07700 900123").await;
    let suspend = json!({ "status": "suspended" });
    rig.operator().patch(&format!("/accounts/{}", account.id), suspend).await.assert(200);
    rig.pass(2).await;
    let text = account.live.get(&path).await.ok();
    assert_eq!(text["error_code"], "account_suspended");
    assert_eq!(account.balance().await, 10);
}
