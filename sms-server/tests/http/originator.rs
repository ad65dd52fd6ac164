//! Messages from short codes and names: where they are shown, and what cannot be done with them.

use serde_json::{Value, json};

use crate::conversation::{inbox, receive};
use crate::message_send::{MESSAGE_FIELDS, keys};
use crate::rig::{Rig, SHARED_NUMBER};

/// Names, and how they stand in a path.
const NAMES: [(&str, &str); 4] =
    [("ACME", "ACME"), ("60123", "60123"), ("A/C & Co", "A%2FC%20%26%20Co"), ("Café", "Caf%C3%A9")];

fn of<'a>(list: &'a Value, field: &str) -> Vec<&'a str> {
    list.as_array().unwrap().iter().map(|one| one[field].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_name_is_shown_as_it_came_and_finds_its_messages() {
    let rig = Rig::new().await;
    let account = inbox(&rig, 10).await;
    for (name, path) in NAMES {
        rig.clock.advance(std::time::Duration::from_secs(1));
        let message = receive(&rig, name, "Your code is 1234").await;
        assert_eq!(keys(&message), MESSAGE_FIELDS);
        assert_eq!((&message["from"], &message["contact_number"]), (&json!(name), &json!(name)));
        assert_eq!((&message["sender"], &message["contact_id"]), (&Value::Null, &Value::Null));
        let shown = format!("/messages/{}", message["id"].as_str().unwrap());
        assert_eq!(account.live.get(&shown).await.ok()["from"], name);
        let thread = account.live.get(&format!("/conversations/{path}")).await.ok();
        assert_eq!((&thread["contact_number"], &thread["contact"]), (&json!(name), &Value::Null));
        assert_eq!((&thread["messages"], &thread["opted_out"]), (&json!([message]), &json!(false)));
        let conversations = account.live.get(&format!("/conversations?q={path}")).await.ok();
        assert_eq!(of(&conversations, "contact_number"), [name]);
        let found = account.live.get(&format!("/messages?q={path}")).await.ok();
        assert_eq!(of(&found, "from"), [name]);
        let read = account.live.post(&format!("/conversations/{path}/read"), json!({})).await;
        assert_eq!(read.ok()["marked_read"], 1);
    }
    let all = account.live.get("/conversations").await.ok();
    assert_eq!(of(&all, "contact_number"), ["Café", "A/C & Co", "60123", "ACME"]);
    let events = account.live.get("/events?types=message.received").await.ok();
    let told = events.as_array().unwrap().iter().map(|event| &event["data"]["from"]);
    assert!(NAMES.iter().all(|(name, _)| told.clone().any(|from| from == name)), "{events}");
    // Case matters: another one is words.
    assert_eq!(account.live.get("/messages?q=acme").await.ok(), json!([]));
    receive(&rig, "07700 900123", "Is ACME you?").await;
    for q in ["acme", "ACME"] {
        let words = account.live.get(&format!("/messages?q={q}")).await.ok();
        assert_eq!(of(&words, "from"), ["+447700900123"], "the words go first");
    }
    for unknown in ["acme", "Nobody", "%00", "a%20name%20that%20is%20too%20long"] {
        account.live.get(&format!("/conversations/{unknown}")).await.assert(404);
        account.live.post(&format!("/conversations/{unknown}/read"), json!({})).await.assert(404);
    }
    let rows = account.live.get("/messages/export?bom=false").await.assert(200).text();
    assert!(rows.contains(",A/C & Co,Your code"), "{rows}");
}

#[tokio::test]
async fn a_name_is_never_answered_opted_out_or_made_a_contact() {
    let rig = Rig::new().await;
    let account = inbox(&rig, 10).await;
    let keyword = json!({ "keyword": "PIE", "reply": "Apple or cherry?" });
    account.live.post("/keywords", keyword).await.assert(201);
    for body in ["STOP", "pie"] {
        receive(&rig, "ACME", body).await;
    }
    for path in ["/opt-outs", "/contacts", "/messages?direction=outbound"] {
        assert_eq!(account.live.get(path).await.ok(), json!([]), "{path}");
    }
    let request = json!({ "to": "ACME", "body": "Hello?" });
    let sent = account.live.post("/messages", request).await.created();
    let rejected = json!([{ "to": "ACME", "reason": "invalid_number" }]);
    assert_eq!((&sent["rejected"], &sent["messages"]), (&rejected, &json!([])));
}

#[tokio::test]
async fn on_a_shared_number_a_name_belongs_to_no_account() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    account.send("07700 900123", "x").await;
    rig.pass(2).await;
    let text = json!({ "from": "ACME", "to": SHARED_NUMBER, "body": "Hello" });
    assert_eq!(rig.operator().post("/inbound", text).await.created(), Value::Null);
    let unrouted = rig.operator().get("/unrouted").await.ok();
    assert_eq!((&unrouted[0]["from"], &unrouted[0]["to"]), (&json!("ACME"), &json!(SHARED_NUMBER)));
}
