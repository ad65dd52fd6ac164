//! Sends to contacts and lists, and the merge fields they fill.

use serde_json::{Value, json};
use sms_core::account::Mode;
use sms_core::contact::ContactInput;

use crate::contact::{contact, path};
use crate::list::{add, list};
use crate::message_send::numbers;
use crate::rig::{Account, Rig};

async fn person(account: &Account, phone: &str, first_name: &str, custom: Value) -> Value {
    let input = json!({ "phone": phone, "first_name": first_name, "custom": custom });
    account.live.post("/contacts", input).await.created()
}

/// Sends, and sees that the quote said what the send does; the answer's data.
async fn send(account: &Account, request: Value) -> Value {
    let quote = account.live.post("/messages/quote", request.clone()).await.ok();
    let sent = account.live.post("/messages", request).await.assert(201);
    let data = &sent.json["data"];
    assert_eq!(sent.json["meta"]["credits"], quote["credits"]);
    assert_eq!(data["rejected"], quote["rejected"]);
    let messages = data["messages"].as_array().unwrap();
    assert_eq!(json!(messages.len()), quote["recipients"]);
    assert_eq!(messages.first().map_or(&Value::Null, |text| &text["body"]), &quote["preview"]);
    data.clone()
}

fn column<'a>(sent: &'a Value, field: &str) -> Vec<&'a Value> {
    sent["messages"].as_array().unwrap().iter().map(|text| &text[field]).collect()
}

#[tokio::test]
async fn numbers_contacts_and_the_list_are_texted_in_this_order_and_each_number_once() {
    let rig = Rig::new().await;
    let account = rig.account(100).await;
    let mut people = Vec::new();
    for n in 1..=6 {
        people.push(contact(&account, &format!("07700 90010{n}")).await);
    }
    let made = list(&account, "VIP").await;
    let on = [5, 3, 1].map(|n: usize| people[n - 1]["id"].clone());
    add(&account, &made, json!({ "contact_ids": on })).await;
    let request = json!({
        "to": "07700 900106, 07700 900200, 020 7946 0123",
        "contact_ids": [people[3]["id"], people[1]["id"], people[5]["id"], people[3]["id"]],
        "list_id": made["id"],
        "body": "x",
    });
    let sent = send(&account, request.clone()).await;
    let texted = ["6", "200", "4", "2", "1", "3", "5"]
        .map(|n| if n == "200" { "+447700900200".to_owned() } else { format!("+44770090010{n}") });
    assert_eq!(json!(column(&sent, "to")), json!(texted));
    let contacts = [Some(6), None, Some(4), Some(2), Some(1), Some(3), Some(5)]
        .map(|n: Option<usize>| n.map_or(&Value::Null, |n| &people[n - 1]["id"]));
    assert_eq!(column(&sent, "contact_id"), contacts);
    let rejected = json!([
        { "to": "+442079460123", "reason": "not_mobile" },
        { "to": "+447700900106", "reason": "duplicate" },
        { "to": "+447700900104", "reason": "duplicate" },
    ]);
    assert_eq!(sent["rejected"], rejected);
    // On the list, and a contact named: once more a duplicate.
    let request = json!({ "contact_ids": [people[0]["id"]], "list_id": made["id"], "body": "x" });
    let sent = send(&account, request).await;
    assert_eq!(sent["rejected"], json!([{ "to": "+447700900101", "reason": "duplicate" }]));
    assert_eq!(column(&sent, "to").len(), 3);
}

#[tokio::test]
async fn merge_fields_are_filled_from_contacts_however_they_are_named() {
    let rig = Rig::new().await;
    let account = rig.account(100).await;
    let ann = person(&account, "07700 900101", "Ann", json!({ "points": 5, "vip": true })).await;
    let bea = person(&account, "07700 900102", "Bea", json!({ "ratio": 0.5, "phone": "no" })).await;
    let made = list(&account, "VIP").await;
    add(&account, &made, json!({ "contact_ids": [bea["id"]] })).await;
    let body = "{first_name}|{full_name}|{phone}|{points}|{vip}|{ratio}|{nobody}|{Points}";
    let request = json!({
        "to": "07700 900103", "contact_ids": [ann["id"]], "list_id": made["id"], "body": body,
    });
    let sent = send(&account, request).await;
    let bodies = json!([
        "||+447700900103||||{nobody}|{Points}",
        "Ann|Ann|+447700900101|5|true||{nobody}|{Points}",
        "Bea|Bea|+447700900102|||0.5|{nobody}|{Points}",
    ]);
    assert_eq!(json!(column(&sent, "body")), bodies);
    let by_number = json!({ "to": "07700 900101", "body": "Hi {first_name}: {points}" });
    let sent = send(&account, by_number).await;
    assert_eq!(column(&sent, "body"), ["Hi Ann: 5"]);
    assert_eq!(column(&sent, "contact_id"), [&ann["id"]]);
}

#[tokio::test]
async fn a_name_is_a_field_while_any_contact_uses_it() {
    let rig = Rig::new().await;
    let (account, other) = (rig.account(100).await, rig.account(100).await);
    let ann = person(&account, "07700 900101", "Ann", json!({ "points": 5 })).await;
    let body = async |account: &Account| {
        let sent = send(account, json!({ "to": "07700 900102", "body": "{points}." })).await;
        sent["messages"][0]["body"].clone()
    };
    assert_eq!(body(&account).await, ".");
    assert_eq!(body(&other).await, "{points}.");
    account.live.delete(&path("/contacts", &ann)).await.assert(204);
    assert_eq!(body(&account).await, "{points}.");
}

#[tokio::test]
async fn each_message_is_measured_and_charged_by_what_it_says() {
    let rig = Rig::new().await;
    let account = rig.account(100).await;
    let long = person(&account, "07700 900101", &"a".repeat(100), json!({})).await;
    let short = person(&account, "07700 900102", "ж", json!({})).await;
    let none = contact(&account, "07700 900103").await;
    let ids = [&long["id"], &short["id"], &none["id"]];
    let request =
        json!({ "contact_ids": ids, "body": format!("{}{{first_name}}", "x".repeat(60)) });
    let sent = send(&account, request).await;
    assert_eq!(json!(column(&sent, "segments")), json!([1, 1, 1]));
    assert_eq!(json!(column(&sent, "encoding")), json!(["gsm7", "ucs2", "gsm7"]));
    let request = json!({ "contact_ids": ids, "body": "{first_name}" });
    let sent = send(&account, request).await;
    assert_eq!(sent["rejected"], json!([{ "to": "+447700900103", "reason": "empty_body" }]));
    let request =
        json!({ "contact_ids": ids, "body": format!("{}{{first_name}}", "x".repeat(1_501)) });
    let sent = send(&account, request).await;
    let too_long = json!([
        { "to": "+447700900101", "reason": "too_long" },
        { "to": "+447700900102", "reason": "too_long" },
    ]);
    assert_eq!(sent["rejected"], too_long);
}

#[tokio::test]
async fn unknown_contacts_and_lists_are_404_and_nothing_is_sent() {
    let rig = Rig::new().await;
    let (account, other) = (rig.account(100).await, rig.account(100).await);
    let own = contact(&account, "07700 900101").await;
    let theirs = contact(&other, "07700 900102").await;
    let their_list = list(&other, "VIP").await;
    for (request, resource, id) in [
        (json!({ "contact_ids": [own["id"], theirs["id"]] }), "contact", &theirs["id"]),
        (json!({ "list_id": their_list["id"] }), "list", &their_list["id"]),
    ] {
        let mut request = request;
        request["body"] = json!("x");
        for path in ["/messages", "/messages/quote"] {
            let refused = account.live.post(path, request.clone()).await.refused(404, "not_found");
            assert_eq!(refused, json!({ "resource": resource, "id": id }));
        }
    }
    assert_eq!(account.live.get("/messages").await.ok(), json!([]));
}

#[tokio::test]
async fn an_empty_list_is_a_send_to_nobody() {
    let rig = Rig::new().await;
    let account = rig.account(100).await;
    let made = list(&account, "VIP").await;
    let sent = send(&account, json!({ "list_id": made["id"], "body": "x" })).await;
    assert_eq!((&sent["messages"], &sent["rejected"]), (&json!([]), &json!([])));
    assert_eq!(account.balance().await, 100);
}

#[tokio::test]
async fn a_test_key_messages_a_list_of_fifty_and_no_more() {
    let rig = Rig::new().await;
    let account = rig.account(100).await;
    let made = list(&account, "VIP").await;
    let phones = numbers(51);
    add(&account, &made, json!({ "phones": phones[..50] })).await;
    let to_list = json!({ "list_id": made["id"], "body": "x" });
    account.test.post("/messages", to_list.clone()).await.assert(201);
    let union = json!({ "to": phones[0], "list_id": made["id"], "body": "x" });
    account.test.post("/messages", union).await.assert(201);
    let over = json!({ "to": phones[50], "list_id": made["id"], "body": "x" });
    account.test.post("/messages", over).await.refused(422, "test_limit_exceeded");
    add(&account, &made, json!({ "phones": [phones[50]] })).await;
    for path in ["/messages", "/messages/quote"] {
        account.test.post(path, to_list.clone()).await.refused(422, "test_limit_exceeded");
    }
    account.live.post("/messages", to_list).await.assert(201);
}

#[tokio::test]
async fn one_send_goes_to_a_list_of_up_to_100_000() {
    let rig = Rig::new().await;
    let account = rig.account(100).await;
    let made = list(&account, "Everybody").await;
    let handle = rig.sms.account(account.id, Mode::Live);
    let id = made["id"].as_str().unwrap().parse().unwrap();
    for part in 0..5 {
        let rows = (part * 20_000..(part + 1) * 20_000).map(|n| format!("+4477{n:08}"));
        let rows = rows.map(ContactInput::new).collect();
        handle.contacts_import(rows, Some(id)).await.unwrap();
    }
    let to_list = json!({ "list_id": made["id"], "body": "{phone}" });
    let quote = account.live.post("/messages/quote", to_list.clone()).await.ok();
    assert_eq!((&quote["recipients"], &quote["credits"]), (&json!(100_000), &json!(100_000)));
    assert_eq!(quote["preview"], "+447700000000");
    add(&account, &made, json!({ "phones": ["07701 900000"] })).await;
    for path in ["/messages", "/messages/quote"] {
        account.live.post(path, to_list.clone()).await.mistake("list_id", "too_many");
    }
}

#[tokio::test]
async fn opted_out_contacts_of_a_list_are_rejected() {
    let rig = Rig::new().await;
    let account = rig.account(100).await;
    let made = list(&account, "VIP").await;
    add(&account, &made, json!({ "phones": ["07700 900907", "07700 900123"] })).await;
    let to_list = json!({ "list_id": made["id"], "body": "x" });
    send(&account, to_list.clone()).await;
    rig.pass(10).await;
    let sent = send(&account, to_list).await;
    assert_eq!(sent["rejected"], json!([{ "to": "+447700900907", "reason": "opted_out" }]));
    assert_eq!(column(&sent, "to"), ["+447700900123"]);
}

#[tokio::test]
async fn a_replay_answers_as_before_whatever_became_of_the_list() {
    let rig = Rig::new().await;
    let account = rig.account(100).await;
    let made = list(&account, "VIP").await;
    add(&account, &made, json!({ "phones": ["07700 900123"] })).await;
    let request = json!({ "list_id": made["id"], "body": "x" });
    let send = async || {
        let ask = account.live.ask(poem::http::Method::POST, "/messages").json(&request);
        ask.header("Idempotency-Key", "k").send().await
    };
    let first = send().await.created();
    add(&account, &made, json!({ "phones": ["07700 900124"] })).await;
    assert_eq!(send().await.ok(), first);
    account.live.delete(&path("/lists", &made)).await.assert(204);
    assert_eq!(send().await.ok(), first);
}
