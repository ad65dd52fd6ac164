//! `/sender-ids`: asking for sender names, and sending under them.

use std::time::Duration;

use serde_json::{Value, json};

use crate::described::accepts;
use crate::message_send::keys;
use crate::rig::{Account, Rig, SHARED_NUMBER};

pub(crate) async fn ask(account: &Account, value: &str) -> Value {
    account.live.post("/sender-ids", json!({ "value": value })).await.created()
}

pub(crate) async fn decide(rig: &Rig, name: &Value, decision: &str) -> Value {
    let path = format!("/sender-ids/{}/{decision}", name["id"].as_str().unwrap());
    rig.operator().call(&path).await.ok()
}

#[tokio::test]
async fn a_name_waits_for_review() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let input = json!({ "value": "Bistro & Co", "purpose": "Bookings 🐦", "status": "approved" });
    let reply = account.live.post("/sender-ids", input).await.assert(201);
    assert_eq!(reply.json["meta"], Value::Null);
    let made = &reply.json["data"];
    let expected = json!({
        "id": made["id"],
        "value": "Bistro & Co",
        "purpose": "Bookings 🐦",
        "status": "pending",
        "reason": null,
        "created_at": "2026-11-21T07:07:10.123Z",
        "reviewed_at": null,
    });
    assert_eq!((made, keys(made)), (&expected, keys(&expected)));
    assert!(made["id"].as_str().unwrap().starts_with("snd_"));
    let listed = account.test.get("/sender-ids").await.assert(200);
    assert_eq!(listed.json, json!({ "data": [expected], "meta": null }));
    assert_eq!(ask(&account, "Till").await["purpose"], Value::Null);
}

#[tokio::test]
async fn names_are_listed_newest_first() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let mut made = Vec::new();
    for n in 0..30 {
        made.insert(0, ask(&account, &format!("Till {n}")).await);
        rig.clock.advance(Duration::from_millis(n % 2));
    }
    assert_eq!(account.live.get("/sender-ids").await.ok(), json!(made));
}

#[tokio::test]
async fn a_value_has_3_to_11_characters_that_networks_let_through() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let document = &rig.documents().api;
    let schema = &document["components"]["schemas"]["SenderNameInput"];
    let described = |body: &Value| accepts(document, schema, body);
    for good in ["abc", "Bistro & Co", "A-1", "x.y", "O_o", "0123456789a"] {
        assert_eq!(ask(&account, good).await["value"], good);
        assert!(described(&json!({ "value": good })), "{good}");
    }
    let bad = async |body: Value| account.live.post("/sender-ids", body).await;
    for (value, code) in [
        (json!("ab"), "too_short"),
        (json!(""), "too_short"),
        (json!("Bistro & Com"), "too_long"),
        (json!("123"), "invalid_format"),
        (json!("Café"), "invalid_format"),
        (json!(" abc"), "invalid_format"),
        (json!("abc "), "invalid_format"),
        (json!("a\nb"), "invalid_format"),
        (json!("a\u{0}b"), "invalid_character"),
        (json!(["abc"]), "wrong_type"),
        (Value::Null, "required"),
    ] {
        let body = json!({ "value": value });
        assert!(!described(&body), "the document says so, too: {body}");
        bad(body).await.mistake("value", code);
    }
    bad(json!({})).await.mistake("value", "required");
    let longest = json!({ "value": "Purpose", "purpose": "é".repeat(500) });
    account.live.post("/sender-ids", longest).await.assert(201);
    let both = json!({ "value": "x", "purpose": "é".repeat(501) });
    let named = [("value", "too_short"), ("purpose", "too_long")];
    let named = named.map(|(field, code)| (field.to_owned(), code.to_owned()));
    assert_eq!(bad(both).await.mistakes(), named);
    assert_eq!(account.live.get("/sender-ids").await.ok().as_array().unwrap().len(), 7);
}

#[tokio::test]
async fn a_name_is_asked_for_once_unless_it_was_rejected() {
    let rig = Rig::new().await;
    let (account, other) = (rig.account(0).await, rig.account(0).await);
    let refused = async |value: &str| {
        let reply = account.live.post("/sender-ids", json!({ "value": value })).await;
        assert_eq!(reply.refused(409, "sender_exists"), Value::Null);
    };
    let first = ask(&account, "Bistro").await;
    refused("Bistro").await;
    refused("BISTRO").await;
    decide(&rig, &first, "approve").await;
    refused("bistro").await;
    ask(&other, "Bistro").await;
    decide(&rig, &first, "reject").await;
    let again = ask(&account, "BISTRO").await;
    refused("Bistro").await;
    let listed = account.live.get("/sender-ids").await.ok();
    let statuses: Vec<&Value> =
        listed.as_array().unwrap().iter().map(|name| &name["status"]).collect();
    assert_eq!(statuses, ["pending", "rejected"]);
    assert_eq!(listed[0], again);
}

#[tokio::test]
async fn only_an_approved_name_sends() {
    let rig = Rig::new().await;
    let (account, other) = (rig.account(10).await, rig.account(10).await);
    let request = |sender: &str| json!({ "to": "07700 900123", "body": "x", "sender": sender });
    let refused = async |account: &Account, sender: &str| {
        for client in [&account.live, &account.test] {
            for path in ["/messages", "/messages/quote"] {
                let reply = client.post(path, request(sender)).await;
                assert_eq!(reply.refused(422, "sender_not_approved"), Value::Null);
            }
        }
    };
    let name = ask(&account, "Bistro").await;
    refused(&account, "Bistro").await;
    decide(&rig, &name, "approve").await;
    for sender in ["Bistro", "BISTRO", "bistro"] {
        account.live.post("/messages/quote", request(sender)).await.assert(200);
        for client in [&account.live, &account.test] {
            let sent = client.post("/messages", request(sender)).await.created();
            let message = &sent["messages"][0];
            assert_eq!(
                (&message["sender"], &message["from"]),
                (&json!("Bistro"), &json!(SHARED_NUMBER))
            );
        }
    }
    for sender in ["Bistr", "Bistro ", "", "x"] {
        refused(&account, sender).await;
    }
    refused(&other, "Bistro").await;
    decide(&rig, &name, "reject").await;
    refused(&account, "Bistro").await;
    assert_eq!((account.balance().await, other.balance().await), (7, 10));
}

#[tokio::test]
async fn the_opt_out_line_of_a_sender_name_says_which_number_to_message() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    decide(&rig, &ask(&account, "Bistro").await, "approve").await;
    let request = json!({
        "to": "07700 900123", "body": "Sale", "sender": "Bistro", "append_opt_out": true,
    });
    let quote = account.live.post("/messages/quote", request.clone()).await.ok();
    let sent = account.live.post("/messages", request).await.created();
    let expected = format!("Sale\nText STOP to {SHARED_NUMBER} to opt out");
    assert_eq!(
        (&sent["messages"][0]["body"], &quote["preview"]),
        (&json!(expected), &json!(expected))
    );
}

#[tokio::test]
async fn a_rejected_name_carries_nothing_that_still_waits() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let name = ask(&account, "Bistro").await;
    decide(&rig, &name, "approve").await;
    let send = async || {
        let request = json!({ "to": "07700 900123", "body": "x", "sender": "Bistro" });
        let sent = account.live.post("/messages", request).await.created();
        format!("/messages/{}", sent["messages"][0]["id"].as_str().unwrap())
    };
    let left = send().await;
    rig.pass(5).await;
    let waiting = send().await;
    decide(&rig, &name, "reject").await;
    rig.pass(5).await;
    let left = account.live.get(&left).await.ok();
    assert_eq!((&left["status"], &left["sender"]), (&json!("delivered"), &json!("Bistro")));
    let failed = account.live.get(&waiting).await.ok();
    assert_eq!(failed["status"], "failed");
    assert_eq!(failed["error_code"], "sender_not_approved");
    let told = &failed["events"].as_array().unwrap().last().unwrap()["detail"];
    assert_eq!(told, "The sender name was rejected before the message was sent.");
    assert_eq!(account.balance().await, 9, "the waiting message is refunded");
}

#[tokio::test]
async fn a_retry_may_spell_the_sender_otherwise_and_is_answered_after_a_rejection() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let name = ask(&account, "Bistro").await;
    decide(&rig, &name, "approve").await;
    let send = async |sender: &str| {
        let request = json!({ "to": "07700 900123", "body": "x", "sender": sender });
        let ask = account.live.ask(poem::http::Method::POST, "/messages").json(&request);
        ask.header("Idempotency-Key", "k").send().await
    };
    let first = send("Bistro").await.created();
    assert_eq!(send("BISTRO").await.ok(), first);
    decide(&rig, &name, "reject").await;
    assert_eq!(send("Bistro").await.ok(), first);
    assert_eq!(account.balance().await, 9);
}
