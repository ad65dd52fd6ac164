//! `/lists`: groups of contacts.

use serde_json::{Value, json};

use crate::contact::{contact, path};
use crate::message_send::keys;
use crate::rig::{Account, Rig};

/// Makes a list; gives it back.
pub(crate) async fn list(account: &Account, name: &str) -> Value {
    account.live.post("/lists", json!({ "name": name })).await.created()
}

/// Puts contacts and numbers on a list; gives what the answer's data hold.
pub(crate) async fn add(account: &Account, list: &Value, body: Value) -> Value {
    account.live.post(&format!("{}/contacts", path("/lists", list)), body).await.ok()
}

fn ids(things: &[Value]) -> Vec<Value> {
    things.iter().map(|thing| thing["id"].clone()).collect()
}

async fn members(account: &Account, list: &Value) -> Vec<Value> {
    account.live.pages(&format!("{}/contacts", path("/lists", list)), 2).await
}

#[tokio::test]
async fn a_list_is_made_read_changed_and_deleted() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let input = json!({ "name": "Regulars", "description": "every week", "contact_count": 5 });
    let reply = account.live.post("/lists", input).await.assert(201);
    assert_eq!(reply.json["meta"], Value::Null);
    let made = reply.json["data"].clone();
    let fields = ["id", "name", "description", "contact_count", "created_at", "updated_at"];
    assert_eq!(keys(&made), fields);
    let expected = json!({
        "id": made["id"], "name": "Regulars", "description": "every week", "contact_count": 0,
        "created_at": "2026-11-21T07:07:10.123Z", "updated_at": "2026-11-21T07:07:10.123Z",
    });
    assert_eq!(made, expected);
    let path = path("/lists", &made);
    assert_eq!(account.test.get(&path).await.ok(), expected);
    rig.pass(1).await;
    let renamed = account.live.patch(&path, json!({ "name": "VIP" })).await.ok();
    assert_eq!((&renamed["name"], &renamed["description"]), (&json!("VIP"), &json!("every week")));
    assert_eq!(renamed["updated_at"], "2026-11-21T07:07:11.123Z");
    let cleared = account.live.patch(&path, json!({ "description": null })).await.ok();
    assert_eq!((&cleared["name"], &cleared["description"]), (&json!("VIP"), &Value::Null));
    account.live.delete(&path).await.assert(204);
    account.live.get(&path).await.refused(404, "not_found");
    account.live.patch(&path, json!({ "name": "x" })).await.refused(404, "not_found");
    account.live.delete(&path).await.refused(404, "not_found");
}

#[tokio::test]
async fn a_lists_texts_have_limits() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let long = |count: usize| json!("é".repeat(count));
    let fine = json!({ "name": long(100), "description": long(500) });
    let made = account.live.post("/lists", fine).await.created();
    for (field, wrong, code) in [
        ("name", long(101), "too_long"),
        ("name", json!(""), "too_short"),
        ("name", json!(" "), "empty"),
        ("name", json!(5), "wrong_type"),
        ("description", long(501), "too_long"),
    ] {
        let mut body = json!({ "name": "x" });
        body[field] = wrong.clone();
        account.live.post("/lists", body).await.mistake(field, code);
        let patch = json!({ field: wrong });
        account.live.patch(&path("/lists", &made), patch).await.mistake(field, code);
    }
    account.live.post("/lists", json!({})).await.mistake("name", "required");
    let null = json!({ "name": null });
    account.live.patch(&path("/lists", &made), null).await.mistake("name", "wrong_type");
}

#[tokio::test]
async fn lists_are_listed_newest_first_and_whole_while_more_are_made() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let mut made = Vec::new();
    for n in 0..27 {
        made.insert(0, list(&account, &format!("List {n}")).await["id"].clone());
    }
    let first = account.live.get("/lists").await.assert(200);
    assert_eq!(ids(first.json["data"].as_array().unwrap()), made[..25]);
    let mut seen = Vec::new();
    let mut next = "/lists?limit=4".to_owned();
    loop {
        let reply = account.live.get(&next).await.assert(200);
        list(&account, "Newer").await;
        seen.extend(ids(reply.json["data"].as_array().unwrap()));
        let Some(cursor) = reply.json["meta"]["next_cursor"].as_str() else { break };
        next = format!("/lists?limit=4&cursor={cursor}");
    }
    assert_eq!(seen, made);
    for (limit, status) in [("1", 200), ("100", 200), ("0", 422), ("101", 422)] {
        account.live.get(&format!("/lists?limit={limit}")).await.assert(status);
    }
}

#[tokio::test]
async fn contacts_and_numbers_are_added_once_and_invalid_ones_are_reported() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let made = list(&account, "VIP").await;
    let known = contact(&account, "07700 900123").await;
    let nobody = format!("con_{}", "0".repeat(26));
    let body = json!({
        "contact_ids": [known["id"], nobody, "x", known["id"]],
        "phones": ["07700900123", "07700 900124", "+447700900124", "020 7946 0123", "nobody"],
    });
    let told = add(&account, &made, body.clone()).await;
    let invalid = json!([nobody, "x", "020 7946 0123", "nobody"]);
    assert_eq!(told, json!({ "added": 2, "invalid": invalid }));
    assert_eq!(add(&account, &made, body).await, json!({ "added": 0, "invalid": invalid }));
    assert_eq!(add(&account, &made, json!({})).await, json!({ "added": 0, "invalid": [] }));
    let on = members(&account, &made).await;
    assert_eq!((&on[0]["phone"], &on[1]), (&json!("+447700900124"), &known));
    assert_eq!(on.len(), 2);
    let read = account.live.get(&path("/lists", &made)).await.ok();
    assert_eq!(read["contact_count"], 2);
    let read = account.live.get(&path("/contacts", &known)).await.ok();
    assert_eq!(read["list_ids"], json!([made["id"]]));
}

#[tokio::test]
async fn a_lists_contacts_are_listed_newest_first_and_whole_while_more_are_added() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let made = list(&account, "VIP").await;
    let phones: Vec<String> = (10..37).map(|n| format!("07700 9001{n}")).collect();
    add(&account, &made, json!({ "phones": phones })).await;
    let base = format!("{}/contacts", path("/lists", &made));
    let all = account.live.pages(&base, 100).await;
    let listed: Vec<&str> = all.iter().map(|one| one["phone"].as_str().unwrap()).collect();
    let expected: Vec<String> = (10..37).rev().map(|n| format!("+4477009001{n}")).collect();
    assert_eq!(listed, expected);
    assert_eq!(account.live.get(&base).await.ok().as_array().unwrap()[..], all[..25]);
    let mut seen = Vec::new();
    let mut next = format!("{base}?limit=4");
    for n in 10_u32.. {
        let reply = account.live.get(&next).await.assert(200);
        add(&account, &made, json!({ "phones": [format!("07700 9002{n}")] })).await;
        seen.extend(reply.json["data"].as_array().unwrap().clone());
        let Some(cursor) = reply.json["meta"]["next_cursor"].as_str() else { break };
        next = format!("{base}?limit=4&cursor={cursor}");
    }
    assert_eq!(seen, all);
    for (limit, status) in [("1", 200), ("100", 200), ("0", 422), ("101", 422)] {
        account.live.get(&format!("{base}?limit={limit}")).await.assert(status);
    }
}

#[tokio::test]
async fn a_contact_is_taken_off_a_list_and_stays() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let made = list(&account, "VIP").await;
    let known = contact(&account, "07700 900123").await;
    add(&account, &made, json!({ "contact_ids": [known["id"]] })).await;
    let on = format!("{}/contacts/{}", path("/lists", &made), known["id"].as_str().unwrap());
    for _ in 0..2 {
        account.live.delete(&on).await.assert(204);
        assert_eq!(members(&account, &made).await, Vec::<Value>::new());
    }
    account.live.get(&path("/contacts", &known)).await.assert(200);
    let unknown = format!("{}/contacts/con_{}", path("/lists", &made), "0".repeat(26));
    account.live.delete(&unknown).await.refused(404, "not_found");
}

#[tokio::test]
async fn a_deleted_list_leaves_its_contacts_and_a_deleted_contact_leaves_its_lists() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let (one, two) = (list(&account, "One").await, list(&account, "Two").await);
    let (ann, bea) =
        (contact(&account, "07700 900123").await, contact(&account, "07700 900124").await);
    for list in [&one, &two] {
        add(&account, list, json!({ "contact_ids": [ann["id"], bea["id"]] })).await;
    }
    account.live.delete(&path("/lists", &one)).await.assert(204);
    let read = account.live.get(&path("/contacts", &ann)).await.ok();
    assert_eq!(read["list_ids"], json!([two["id"]]));
    account.live.delete(&path("/contacts", &ann)).await.assert(204);
    assert_eq!(members(&account, &two).await, [bea]);
    let read = account.live.get(&path("/lists", &two)).await.ok();
    assert_eq!(read["contact_count"], 1);
}
