//! `/admin/v1/inbound`, `/unrouted` and `/receipts`: what networks bring in.

use std::time::Duration;

use poem::http::Method;
use serde_json::{Value, json};

use crate::message_send::{MESSAGE_FIELDS, keys};
use crate::rig::{Rig, SHARED_NUMBER};

fn text(body: &str) -> Value {
    json!({ "from": "07700 900123", "to": SHARED_NUMBER, "body": body })
}

#[tokio::test]
async fn a_message_to_a_shared_number_goes_to_the_account_that_last_wrote_to_the_sender() {
    let rig = Rig::new().await;
    let (one, other) = (rig.account(10).await, rig.account(10).await);
    one.send("07700 900123", "x").await;
    rig.pass(2).await;
    other.send("07700 900123", "x").await;
    rig.pass(2).await;
    let message = rig.operator().post("/inbound", text("Hello")).await.created();
    assert_eq!(keys(&message), MESSAGE_FIELDS);
    assert_eq!(
        (&message["direction"], &message["status"]),
        (&json!("inbound"), &json!("received"))
    );
    assert_eq!(
        (&message["from"], &message["to"]),
        (&json!("+447700900123"), &json!(SHARED_NUMBER))
    );
    assert_eq!((&message["credits"], &message["test"]), (&json!(0), &json!(false)));
    let path = format!("/messages/{}", message["id"].as_str().unwrap());
    other.live.get(&path).await.assert(200);
    one.live.get(&path).await.assert(404);
}

#[tokio::test]
async fn after_thirty_days_a_message_belongs_to_no_account() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    account.send("07700 900123", "x").await;
    rig.pass(2).await;
    rig.clock.advance(Duration::from_hours(31 * 24));
    assert_eq!(rig.operator().post("/inbound", text("late")).await.created(), Value::Null);
    assert_eq!(account.live.get("/messages?direction=inbound").await.ok(), json!([]));
    let unrouted = rig.operator().get("/unrouted").await.ok();
    assert_eq!(unrouted[0]["body"], "late");
}

#[tokio::test]
async fn a_message_that_belongs_to_no_account_is_kept_for_the_operator() {
    let rig = Rig::new().await;
    for body in ["first", "second д"] {
        let reply = rig.operator().post("/inbound", text(body)).await.assert(201);
        assert_eq!(reply.json, json!({ "data": null, "meta": null }));
        rig.clock.advance(Duration::from_secs(1));
    }
    let kept = rig.operator().pages("/unrouted", 1).await;
    let expected = json!({
        "id": kept[0]["id"],
        "from": "+447700900123",
        "to": SHARED_NUMBER,
        "body": "second д",
        "encoding": "ucs2",
        "segments": 1,
        "received_at": "2026-11-21T07:07:11.123Z",
    });
    assert_eq!(kept[0], expected);
    assert_eq!(keys(&kept[0]), keys(&expected));
    assert_eq!((kept.len(), &kept[1]["body"]), (2, &json!("first")));
}

#[tokio::test]
async fn a_dedicated_number_belongs_to_its_account() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let number = json!({ "phone_number": "07700 900003", "account_id": account.id.to_string() });
    rig.operator().post("/numbers", number).await.assert(201);
    let inbound = json!({ "from": "07700 900123", "to": "07700900003", "body": "Hi" });
    let message = rig.operator().post("/inbound", inbound).await.created();
    let seen = account.live.get(&format!("/messages/{}", message["id"].as_str().unwrap())).await;
    assert_eq!(seen.ok()["events"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn numbers_and_words_of_a_text_are_checked() {
    let rig = Rig::new().await;
    let body = json!({ "from": "a name that is too long", "to": "", "body": 5 });
    let mistakes = rig.operator().post("/inbound", body).await.mistakes();
    let fields: Vec<&str> = mistakes.iter().map(|(field, _)| field.as_str()).collect();
    assert_eq!(fields, ["from", "to", "body"]);
    rig.operator().post("/inbound", json!({})).await.assert(422);
    rig.operator().post("/inbound", text(&"x".repeat(39_015))).await.assert(201);
    rig.operator().post("/inbound", text(&"x".repeat(39_016))).await.mistake("body", "too_long");
    rig.operator().post("/inbound", text("")).await.assert(201);
    let abroad = json!({ "from": "+1 202 555 0100", "to": SHARED_NUMBER, "body": "x" });
    rig.operator().post("/inbound", abroad).await.assert(201);
}

#[tokio::test]
async fn receipts_move_a_message_forwards_only() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let sent = account.send("07700 900904", "x").await;
    rig.pass(1).await;
    let id = sent["messages"][0]["id"].as_str().unwrap();
    let record = async |status: &str, error: Value| {
        let receipt = json!({ "message_id": id, "status": status, "error_code": error });
        rig.operator().post("/receipts", receipt).await.ok()
    };
    let first = record("undelivered", json!("absent_subscriber")).await;
    assert_eq!(keys(&first), MESSAGE_FIELDS);
    assert_eq!(
        (&first["status"], &first["error_code"]),
        (&json!("undelivered"), &json!("absent_subscriber"))
    );
    assert_eq!(record("undelivered", json!("expired")).await, first, "a repeat changes nothing");
    let second = record("delivered", Value::Null).await;
    assert_eq!((&second["status"], &second["error_code"]), (&json!("delivered"), &Value::Null));
    assert_eq!(record("undelivered", Value::Null).await, second);
    assert_eq!(account.balance().await, 9);
}

#[tokio::test]
async fn a_receipt_without_a_reason_says_network_error() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let sent = account.send("07700 900904", "x").await;
    rig.pass(1).await;
    let receipt = json!({ "message_id": sent["messages"][0]["id"], "status": "undelivered" });
    let message = rig.operator().post("/receipts", receipt).await.ok();
    assert_eq!(message["error_code"], "network_error");
}

#[tokio::test]
async fn a_receipt_for_no_message_is_404_and_says_which() {
    let rig = Rig::new().await;
    for id in [format!("msg_{}", "0".repeat(26)), "x".to_owned()] {
        let receipt = json!({ "message_id": id, "status": "delivered" });
        let details = rig.operator().post("/receipts", receipt).await.refused(404, "not_found");
        assert_eq!(details, json!({ "resource": "message", "id": id }));
    }
    let wrong = json!({ "message_id": "", "status": "sent", "error_code": "opted_out" });
    assert_eq!(rig.operator().post("/receipts", wrong).await.mistakes().len(), 3);
}

#[tokio::test]
async fn the_routes_of_live_messages_are_listed() {
    let rig = Rig::new().await;
    let simulator = json!({
        "name": "simulator", "default": true, "state": "ready", "connections": null,
        "unmatched_receipts": 0, "advice": null,
    });
    assert_eq!(rig.operator().get("/routes").await.ok(), json!([simulator]));
    rig.client(None).ask_at(Method::GET, "/admin/v1/routes").send().await.assert(401);
    let receipts = |name: &str| format!("/routes/{name}/unmatched-receipts");
    assert_eq!(rig.operator().get(&receipts("simulator")).await.ok(), json!([]));
    rig.operator().get(&receipts("none")).await.refused(404, "not_found");
    let none = format!("{}?limit=0", receipts("simulator"));
    assert_eq!(rig.operator().get(&none).await.mistakes().len(), 1);
}

#[tokio::test]
async fn what_this_version_does_not_serve_is_404() {
    let rig = Rig::new().await;
    for path in ["/sender-ids/", "/nothing", "", "/accounts/"] {
        rig.operator().get(path).await.refused(404, "not_found");
    }
}
