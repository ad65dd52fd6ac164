//! `/keywords`: words that trigger a reply.

use std::time::Duration;

use serde_json::{Value, json};

use crate::contact::path;
use crate::conversation::{OURS, inbox, receive};
use crate::list::list;
use crate::message_send::keys;
use crate::rig::{Account, Rig};

async fn keyword(account: &Account, body: Value) -> Value {
    account.live.post("/keywords", body).await.created()
}

#[tokio::test]
async fn a_keyword_is_made_read_changed_and_deleted() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let list = list(&account, "Regulars").await;
    let input = json!({
        "keyword": "piZZa2", "reply": "Yum 🍕", "add_to_list_id": list["id"], "match_count": 9,
    });
    let reply = account.live.post("/keywords", input).await.assert(201);
    assert_eq!(reply.json["meta"], Value::Null);
    let mut expected = json!({
        "id": reply.json["data"]["id"], "keyword": "PIZZA2", "reply": "Yum 🍕",
        "add_to_list_id": list["id"], "enabled": true, "match_count": 0, "last_matched_at": null,
        "created_at": "2026-11-21T07:07:10.123Z", "updated_at": "2026-11-21T07:07:10.123Z",
    });
    let made = &reply.json["data"];
    assert_eq!((made, keys(made)), (&expected, keys(&expected)));
    assert!(made["id"].as_str().unwrap().starts_with("kw_"));
    let at = path("/keywords", made);
    assert_eq!(account.test.get(&at).await.ok(), expected);
    for (change, shown) in [
        (json!({ "keyword": "pie" }), json!({ "keyword": "PIE" })),
        (json!({ "enabled": false }), json!({ "enabled": false })),
        (json!({ "reply": "" }), json!({ "reply": null })),
        (json!({ "reply": "Mmh", "enabled": true }), json!({ "reply": "Mmh", "enabled": true })),
        (
            json!({ "reply": null, "add_to_list_id": null }),
            json!({ "reply": null, "add_to_list_id": null }),
        ),
        (json!({}), json!({})),
    ] {
        rig.clock.advance(Duration::from_secs(1));
        let after = account.live.patch(&at, change.clone()).await.ok();
        for (field, value) in shown.as_object().unwrap() {
            expected[field] = value.clone();
        }
        assert!(after["updated_at"].as_str() > expected["updated_at"].as_str());
        expected["updated_at"] = after["updated_at"].clone();
        assert_eq!(after, expected, "{change}");
        assert_eq!(account.live.get(&at).await.ok(), expected);
    }
    account.live.delete(&at).await.assert(204);
    account.live.get(&at).await.refused(404, "not_found");
    account.live.patch(&at, json!({})).await.refused(404, "not_found");
    account.live.delete(&at).await.refused(404, "not_found");
}

#[tokio::test]
async fn a_keywords_fields_have_their_limits() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let longest = json!({ "keyword": "x".repeat(20), "reply": "👋".repeat(1_600) });
    let made = keyword(&account, longest).await;
    assert_eq!(made["reply"].as_str().unwrap().chars().count(), 1_600);
    keyword(&account, json!({ "keyword": "7" })).await;
    let at = path("/keywords", &made);
    for (field, value, code) in [
        ("keyword", json!("x".repeat(21)), "too_long"),
        ("keyword", json!(""), "too_short"),
        ("keyword", json!("a b"), "invalid_format"),
        ("keyword", json!("caf\u{e9}"), "invalid_format"),
        ("keyword", json!("STOP!"), "invalid_format"),
        ("keyword", json!(5), "wrong_type"),
        ("reply", json!("x".repeat(1_601)), "too_long"),
        ("reply", json!("a\u{0}"), "invalid_character"),
        ("reply", json!(["x"]), "wrong_type"),
        ("add_to_list_id", json!(5), "wrong_type"),
        ("enabled", json!("yes"), "wrong_type"),
    ] {
        let mut body = json!({ "keyword": "pizza" });
        body[field] = value.clone();
        account.live.post("/keywords", body).await.mistake(field, code);
        account.live.patch(&at, json!({ field: value })).await.mistake(field, code);
    }
    account.live.post("/keywords", json!({})).await.mistake("keyword", "required");
    account.live.patch(&at, json!({ "keyword": null })).await.mistake("keyword", "wrong_type");
    account.live.patch(&at, json!({ "enabled": null })).await.mistake("enabled", "wrong_type");
    let nulls = json!({ "keyword": "n", "reply": null, "add_to_list_id": null, "enabled": null });
    assert_eq!(keyword(&account, nulls).await["enabled"], true);
}

#[tokio::test]
async fn reserved_words_and_words_in_use_are_refused() {
    let rig = Rig::new().await;
    let (account, other) = (rig.account(0).await, rig.account(0).await);
    let made = keyword(&account, json!({ "keyword": "pizza" })).await;
    let at = path("/keywords", &made);
    for word in
        ["STOP", "stopall", "Unsubscribe", "CANCEL", "end", "Quit", "OPTOUT", "START", "unstop"]
    {
        let body = json!({ "keyword": word, "add_to_list_id": "nothing" });
        for reply in [
            account.live.post("/keywords", body.clone()).await,
            account.live.patch(&at, body).await,
        ] {
            assert_eq!(reply.refused(422, "reserved_keyword"), Value::Null, "{word}");
        }
    }
    for word in ["REVOKE", "remove"] {
        keyword(&account, json!({ "keyword": word })).await;
    }
    account
        .live
        .post("/keywords", json!({ "keyword": "Pizza" }))
        .await
        .refused(409, "keyword_exists");
    let pasta = keyword(&account, json!({ "keyword": "pasta" })).await;
    let taken = json!({ "keyword": "PIZZA" });
    let pasta = path("/keywords", &pasta);
    account.live.patch(&pasta, taken.clone()).await.refused(409, "keyword_exists");
    account.live.patch(&at, taken.clone()).await.assert(200);
    keyword(&other, taken).await;
    // An invalid word is reported before one that is in use.
    let body = json!({ "keyword": "pizza", "reply": 5 });
    account.live.post("/keywords", body).await.mistake("reply", "wrong_type");
}

#[tokio::test]
async fn an_unknown_list_is_named_and_a_deleted_one_cleared() {
    let rig = Rig::new().await;
    let (account, other) = (rig.account(0).await, rig.account(0).await);
    let (regulars, others) = (list(&account, "Regulars").await, list(&other, "Others").await);
    let input = json!({ "keyword": "pizza", "add_to_list_id": regulars["id"] });
    let made = keyword(&account, input).await;
    let at = path("/keywords", &made);
    for id in
        [others["id"].clone(), json!("lst_"), json!(""), json!(format!("lst_{}", "0".repeat(26)))]
    {
        let details = json!({ "resource": "list", "id": id });
        let body = json!({ "keyword": "pasta", "add_to_list_id": id });
        let refused = account.live.post("/keywords", body).await.refused(404, "not_found");
        assert_eq!(refused, details);
        let body = json!({ "add_to_list_id": id });
        assert_eq!(account.live.patch(&at, body).await.refused(404, "not_found"), details);
    }
    account.live.delete(&path("/lists", &regulars)).await.assert(204);
    assert_eq!(account.live.get(&at).await.ok()["add_to_list_id"], Value::Null);
}

#[tokio::test]
async fn keywords_are_listed_newest_first_page_by_page() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let mut made = Vec::new();
    for n in 0..30 {
        made.insert(0, keyword(&account, json!({ "keyword": format!("w{n}") })).await);
        rig.clock.advance(Duration::from_millis(n % 2));
    }
    for limit in [1, 7, 30, 100] {
        assert_eq!(account.live.pages("/keywords", limit).await, made);
    }
    let page = account.live.get("/keywords").await.assert(200);
    assert_eq!(page.json["data"].as_array().unwrap().len(), 25);
    let cursor = page.json["meta"]["next_cursor"].as_str().unwrap();
    keyword(&account, json!({ "keyword": "newer" })).await;
    account.live.delete(&path("/keywords", &made[24])).await.assert(204);
    let rest = account.live.get(&format!("/keywords?cursor={cursor}")).await.assert(200);
    assert_eq!(rest.json, json!({ "data": made[25..], "meta": { "next_cursor": null } }));
    for (query, field, code) in [
        ("limit=0", "limit", "out_of_range"),
        ("limit=101", "limit", "out_of_range"),
        ("cursor=x", "cursor", "invalid_format"),
    ] {
        account.live.get(&format!("/keywords?{query}")).await.mistake(field, code);
    }
}

#[tokio::test]
async fn a_message_that_matches_is_answered_and_its_sender_put_on_the_list() {
    let rig = Rig::new().await;
    let account = inbox(&rig, 10).await;
    let regulars = list(&account, "Regulars").await;
    let kinds = ["message.received", "message.sent"];
    let hook = json!({ "url": "https://example.com/hook", "events": kinds });
    account.live.post("/webhooks", hook).await.assert(201);
    let input = json!({
        "keyword": "pizza", "reply": "Half price today", "add_to_list_id": regulars["id"],
    });
    let made = keyword(&account, input).await;
    let text = receive(&rig, "07700 900123", "Pizza!!!").await;
    let contacts = format!("{}/contacts", path("/lists", &regulars));
    let member = account.live.get(&contacts).await.ok()[0].clone();
    assert_eq!((&member["phone"], &member["id"]), (&json!("+447700900123"), &text["contact_id"]));
    let now = account.live.get(&path("/keywords", &made)).await.ok();
    let at = json!("2026-11-21T07:07:10.123Z");
    assert_eq!((&now["match_count"], &now["last_matched_at"]), (&json!(1), &at));
    rig.work().await;
    let thread = account.live.get("/conversations/07700900123").await.ok();
    let answer = &thread["messages"][1];
    assert_eq!((&answer["body"], &answer["status"]), (&json!("Half price today"), &json!("sent")));
    assert_eq!((&answer["from"], &answer["contact_id"]), (&text["to"], &text["contact_id"]));
    assert_eq!((&answer["credits"], account.balance().await), (&json!(1), 9));
    let kinds: Vec<Value> =
        rig.hooks.take_events().iter().map(|event| event["type"].clone()).collect();
    assert_eq!(kinds, ["message.received", "message.sent"]);
    receive(&rig, "07700 900123", "STOP").await;
    receive(&rig, "07700 900123", "pizza").await;
    assert_eq!(account.balance().await, 9, "nothing goes to who opted out");
}

#[tokio::test]
async fn a_loop_of_automatic_replies_ends() {
    let rig = Rig::new().await;
    let account = inbox(&rig, 100).await;
    // The simulated phone at this number sends back what it gets.
    keyword(&account, json!({ "keyword": "echo", "reply": "Echo!" })).await;
    account.send("07700 900908", "echo").await;
    rig.pass(120).await;
    assert_eq!(account.balance().await, 89, "one text and ten replies");
    rig.pass(60).await;
    assert_eq!(account.balance().await, 89);
    let number = json!({ "from": "07700 900908", "to": OURS, "body": "echo" });
    rig.clock.advance(Duration::from_hours(1));
    rig.operator().post("/inbound", number).await.assert(201);
    assert_eq!(account.balance().await, 88, "the next hour it is answered again");
}

#[tokio::test]
async fn a_keyword_can_be_tried_with_a_test_key() {
    let rig = Rig::new().await;
    let account = inbox(&rig, 5).await;
    keyword(&account, json!({ "keyword": "echo", "reply": "Tried it" })).await;
    let request = json!({ "to": "07700 900908", "body": "echo" });
    account.test.post("/messages", request).await.assert(201);
    rig.pass(20).await;
    let thread = account.live.get("/conversations/07700900908").await.ok();
    let messages = thread["messages"].as_array().unwrap();
    let bodies: Vec<_> = messages.iter().map(|text| text["body"].as_str().unwrap()).collect();
    assert_eq!(bodies, ["echo", "echo", "Tried it", "Tried it"]);
    assert!(messages.iter().all(|text| text["test"] == true));
    assert_eq!(account.balance().await, 5);
}
