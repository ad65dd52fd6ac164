//! `/contacts`: the address book.

use serde_json::{Value, json};

use crate::message_send::keys;
use crate::rig::{Account, Rig};

const FIELDS: [&str; 10] = [
    "id",
    "phone",
    "first_name",
    "last_name",
    "email",
    "notes",
    "custom",
    "opted_out",
    "created_at",
    "updated_at",
];

/// Makes a contact of this number; gives it back.
pub(crate) async fn contact(account: &Account, phone: &str) -> Value {
    account.live.post("/contacts", json!({ "phone": phone })).await.created()
}

/// The path of a thing under this prefix.
pub(crate) fn path(prefix: &str, thing: &Value) -> String {
    format!("{prefix}/{}", thing["id"].as_str().unwrap())
}

fn ids(things: &[Value]) -> Vec<Value> {
    things.iter().map(|thing| thing["id"].clone()).collect()
}

async fn found(account: &Account, query: &str) -> Vec<Value> {
    ids(account.live.get(&format!("/contacts?{query}")).await.ok().as_array().unwrap())
}

#[tokio::test]
async fn a_contact_is_made_read_and_listed_as_it_was_given() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let input = json!({
        "phone": "07700 900123",
        "first_name": "Ann",
        "last_name": "O'Néill",
        "email": "ann@example.com",
        "notes": "window seat\nplease",
        "custom": { "points": 5, "ratio": 0.1, "vip": true, "town": "Leeds", "gone": null },
        "id": "con_x",
        "unknown": [1],
    });
    let reply = account.live.post("/contacts", input).await.assert(201);
    assert_eq!(reply.json["meta"], Value::Null);
    let made = reply.json["data"].clone();
    assert_eq!(keys(&made), FIELDS);
    assert!(made["id"].as_str().unwrap().starts_with("con_"));
    let expected = json!({
        "id": made["id"],
        "phone": "+447700900123",
        "first_name": "Ann",
        "last_name": "O'Néill",
        "email": "ann@example.com",
        "notes": "window seat\nplease",
        "custom": { "points": 5, "ratio": 0.1, "town": "Leeds", "vip": true },
        "opted_out": false,
        "created_at": "2026-11-21T07:07:10.123Z",
        "updated_at": "2026-11-21T07:07:10.123Z",
    });
    assert_eq!(made, expected);
    let mut with_lists = expected.clone();
    with_lists["list_ids"] = json!([]);
    let read = account.test.get(&path("/contacts", &made)).await.assert(200);
    assert_eq!(read.json, json!({ "data": with_lists, "meta": null }));
    let listed = account.live.get("/contacts").await.assert(200);
    assert_eq!(listed.json, json!({ "data": [expected], "meta": { "next_cursor": null } }));
}

#[tokio::test]
async fn a_contact_of_which_only_the_number_is_known_has_nulls() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let blank = json!({
        "phone": "07700 900123", "first_name": "", "last_name": " ", "email": "", "notes": null,
        "custom": { "a": "", "b": " ", "c": null },
    });
    let made = account.live.post("/contacts", blank).await.created();
    for field in ["first_name", "last_name", "email", "notes"] {
        assert_eq!(made[field], Value::Null);
    }
    assert_eq!(made["custom"], json!({}));
    assert_eq!(account.live.get("/contacts/fields").await.ok(), json!([]));
}

#[tokio::test]
async fn a_number_is_a_contact_once() {
    let rig = Rig::new().await;
    let (account, other) = (rig.account(0).await, rig.account(0).await);
    let made = contact(&account, "07700 900123").await;
    let again = json!({ "phone": "+44 (0)7700 900123" });
    let details = account.live.post("/contacts", again).await.refused(409, "contact_exists");
    assert_eq!(details, json!({ "resource": "contact", "id": made["id"] }));
    contact(&other, "07700 900123").await;
    let second = contact(&account, "07700 900124").await;
    let taken = json!({ "phone": "07700900123", "first_name": "Bea" });
    let path = path("/contacts", &second);
    account.live.patch(&path, taken).await.refused(409, "contact_exists");
    assert_eq!(account.live.get(&path).await.ok()["first_name"], Value::Null);
    let same = account.live.patch(&path, json!({ "phone": "07700 900124" })).await.ok();
    assert_eq!(same["phone"], "+447700900124");
}

#[tokio::test]
async fn every_invalid_field_of_a_contact_is_named() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let fifty = |count: usize| -> Value {
        (0..count).map(|n| (format!("f{n}"), json!(n))).collect::<serde_json::Map<_, _>>().into()
    };
    let long = |count: usize| json!("é".repeat(count));
    for (field, fine, wrong, code) in [
        ("phone", json!("447700900124"), json!("020 7946 0123"), "invalid_format"),
        ("phone", json!("07700900124"), json!("+1 202 555 0123"), "invalid_format"),
        ("phone", json!("07700900124"), json!("nobody"), "invalid_format"),
        ("phone", json!("07700900124"), json!(447_700_900_123_u64), "wrong_type"),
        ("first_name", long(100), long(101), "too_long"),
        ("last_name", long(100), long(101), "too_long"),
        ("email", json!("a@b"), json!("a b@c"), "invalid_format"),
        ("notes", long(2_000), long(2_001), "too_long"),
        ("custom", fifty(50), fifty(51), "too_many"),
        ("custom", json!({ "a": "é".repeat(500) }), json!([]), "wrong_type"),
        ("custom", json!({ "a1_": 1 }), json!({ "A": 1 }), "invalid_format"),
    ] {
        let body = |value: Value| {
            let mut body = json!({ "phone": "07700 900124" });
            body[field] = value;
            body
        };
        account.live.post("/contacts", body(wrong.clone())).await.mistake(field, code);
        let made = account.live.post("/contacts", body(fine.clone())).await.created();
        let path = path("/contacts", &made);
        account.live.patch(&path, json!({ field: wrong })).await.mistake(field, code);
        account.live.patch(&path, json!({ field: fine })).await.assert(200);
        account.live.delete(&path).await.assert(204);
    }
    let values = json!({ "phone": "07700 900124", "custom": {
        "a": [1], "b": {}, "c": "é".repeat(501), "d": null,
    } });
    let mistakes = account.live.post("/contacts", values).await.mistakes();
    assert_eq!(mistakes[0], ("custom.a".to_owned(), "wrong_type".to_owned()));
    assert_eq!(mistakes[1], ("custom.b".to_owned(), "wrong_type".to_owned()));
    let long = json!({ "phone": "07700 900124", "custom": { "c": "é".repeat(501) } });
    account.live.post("/contacts", long).await.mistake("custom.c", "too_long");
    let both = json!({ "email": "x", "first_name": 5, "custom": { "A": 1 } });
    let named: Vec<String> = account
        .live
        .post("/contacts", both)
        .await
        .mistakes()
        .into_iter()
        .map(|mistake| mistake.0)
        .collect();
    assert_eq!(named, ["phone", "first_name", "email", "custom"]);
    assert_eq!(account.live.get("/contacts").await.ok(), json!([]));
}

#[tokio::test]
async fn a_patch_is_a_merge_and_null_clears() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let input = json!({
        "phone": "07700 900123", "first_name": "Ann", "last_name": "Lee", "email": "a@b",
        "notes": "x", "custom": { "points": 5, "town": "Leeds" },
    });
    let made = account.live.post("/contacts", input).await.created();
    let path = path("/contacts", &made);
    rig.pass(1).await;
    let patch = json!({
        "phone": "07700 900125", "last_name": null, "email": "",
        "custom": { "points": 6, "town": null, "size": "M" },
    });
    let after = account.live.patch(&path, patch).await.ok();
    assert_eq!(keys(&after), FIELDS);
    let expected = json!({
        "id": made["id"], "phone": "+447700900125", "first_name": "Ann", "last_name": null,
        "email": null, "notes": "x", "custom": { "points": 6, "size": "M" }, "opted_out": false,
        "created_at": "2026-11-21T07:07:10.123Z", "updated_at": "2026-11-21T07:07:11.123Z",
    });
    assert_eq!(after, expected);
    let cleared = json!({ "custom": null, "notes": null, "first_name": null });
    let after = account.live.patch(&path, cleared).await.ok();
    assert_eq!((&after["custom"], &after["notes"]), (&json!({}), &Value::Null));
    account.live.patch(&path, json!({ "phone": null })).await.mistake("phone", "wrong_type");
    let unknown = format!("/contacts/con_{}", "0".repeat(26));
    account.live.patch(&unknown, json!({})).await.refused(404, "not_found");
}

#[tokio::test]
async fn a_deleted_contact_is_gone_and_its_messages_stay() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let made = contact(&account, "07700 900123").await;
    let sent = account.send("07700 900123", "x").await;
    let path = path("/contacts", &made);
    let gone = account.live.delete(&path).await.assert(204);
    assert!(gone.bytes.is_empty());
    account.live.get(&path).await.refused(404, "not_found");
    account.live.delete(&path).await.refused(404, "not_found");
    let text = format!("/messages/{}", sent["messages"][0]["id"].as_str().unwrap());
    assert_eq!(account.live.get(&text).await.ok()["contact_id"], made["id"]);
    contact(&account, "07700 900123").await;
}

#[tokio::test]
async fn contacts_are_listed_newest_first_and_whole_while_more_are_made() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let mut made = Vec::new();
    for n in 10..37 {
        made.insert(0, contact(&account, &format!("07700 9001{n}")).await["id"].clone());
        rig.clock.advance(std::time::Duration::from_millis(n % 2));
    }
    assert_eq!(found(&account, "").await, made[..25], "25 by default");
    assert_eq!(ids(&account.live.pages("/contacts", 100).await), made);
    let mut seen = Vec::new();
    let mut next = "/contacts?limit=4".to_owned();
    for n in 10_u32.. {
        let reply = account.live.get(&next).await.assert(200);
        contact(&account, &format!("07700 9002{n}")).await;
        seen.extend(ids(reply.json["data"].as_array().unwrap()));
        let Some(cursor) = reply.json["meta"]["next_cursor"].as_str() else { break };
        next = format!("/contacts?limit=4&cursor={cursor}");
    }
    assert_eq!(seen, made);
    for (limit, status) in [("1", 200), ("100", 200), ("0", 422), ("101", 422)] {
        account.live.get(&format!("/contacts?limit={limit}")).await.assert(status);
    }
    account.live.get("/contacts?cursor=x").await.mistake("cursor", "invalid_format");
}

#[tokio::test]
async fn q_finds_numbers_names_and_email_and_list_id_those_on_a_list() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let make = async |phone: &str, first: &str, email: &str| {
        let input =
            json!({ "phone": phone, "first_name": first, "last_name": "Lee", "email": email });
        account.live.post("/contacts", input).await.created()["id"].clone()
    };
    let ann = make("07700 900123", "Ann", "ann@example.com").await;
    let bea = make("07700 900124", "BEA", "b.e.a@example.org").await;
    let none: Vec<Value> = Vec::new();
    for (q, expected) in [
        ("07700+900123", vec![ann.clone()]),
        ("%2B447700900124", vec![bea.clone()]),
        ("900", vec![bea.clone(), ann.clone()]),
        ("bea%20lee", vec![bea.clone()]),
        ("LEE", vec![bea.clone(), ann.clone()]),
        ("example.com", vec![ann.clone()]),
        ("%25", none.clone()),
        ("nobody", none.clone()),
        ("%20", vec![bea.clone(), ann.clone()]),
    ] {
        assert_eq!(found(&account, &format!("q={q}")).await, expected, "{q}");
    }
    let list = account.live.post("/lists", json!({ "name": "VIP" })).await.created();
    let on = format!("{}/contacts", path("/lists", &list));
    account.live.post(&on, json!({ "contact_ids": [ann] })).await.assert(200);
    let list_id = list["id"].as_str().unwrap();
    let expected = vec![ann];
    assert_eq!(found(&account, &format!("list_id={list_id}")).await, expected);
    assert_eq!(found(&account, &format!("list_id={list_id}&q=lee")).await, expected);
    assert_eq!(found(&account, &format!("list_id={list_id}&q=bea")).await, none);
    assert_eq!(found(&account, &format!("list_id=lst_{}", "0".repeat(26))).await, none);
    assert_eq!(found(&account, "list_id=x").await, none);
}

#[tokio::test]
async fn fields_are_the_names_in_use_sorted() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let make = async |phone: &str, custom: Value| {
        let input = json!({ "phone": phone, "custom": custom });
        account.live.post("/contacts", input).await.created()
    };
    let fields = async || account.live.get("/contacts/fields").await.assert(200).json;
    assert_eq!(fields().await, json!({ "data": [], "meta": null }));
    let one = make("07700 900123", json!({ "zip": 1, "a_b": 2, "ab": 3 })).await;
    make("07700 900124", json!({ "zip": 1, "first_name": "x" })).await;
    assert_eq!(fields().await["data"], json!(["a_b", "ab", "first_name", "zip"]));
    account.live.delete(&path("/contacts", &one)).await.assert(204);
    assert_eq!(fields().await["data"], json!(["first_name", "zip"]));
}

#[tokio::test]
async fn a_contact_that_messages_stop_is_opted_out() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let made = contact(&account, "07700 900907").await;
    account.send("07700 900907", "x").await;
    rig.pass(10).await;
    let read = account.live.get(&path("/contacts", &made)).await.ok();
    assert_eq!(read["opted_out"], true);
    assert_eq!(account.live.get("/contacts").await.ok()[0]["opted_out"], true);
}
