//! `POST /messages`: what is accepted, what is refused, and what it costs.

use std::sync::Arc;

use poem::http::Method;
use serde_json::{Value, json};
use sms_core::account::{AccountChange, AccountStatus};
use sms_core::ids::AccountId;
use sms_http::rate_limit::Gcra;
use sms_store_memory::MemoryStore;

use crate::rig::{Rig, SHARED_NUMBER};

/// The fields of a Message, in the order of the specification.
pub(crate) const MESSAGE_FIELDS: [&str; 27] = [
    "id",
    "direction",
    "status",
    "to",
    "from",
    "contact_number",
    "body",
    "encoding",
    "segments",
    "credits",
    "route",
    "sender",
    "client_ref",
    "batch_id",
    "campaign_id",
    "contact_id",
    "error_code",
    "error_message",
    "test",
    "scheduled_at",
    "sent_at",
    "delivered_at",
    "failed_at",
    "cancelled_at",
    "received_at",
    "read_at",
    "created_at",
];

const BATCH_FIELDS: [&str; 5] =
    ["batch_id", "messages", "rejected", "unknown_fields", "blank_fields"];

pub(crate) fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

/// So many different numbers.
pub(crate) fn numbers(count: usize) -> Vec<String> {
    (0..count).map(|index| format!("07700 9{index:05}")).collect()
}

async fn set_status(rig: &Rig, account: AccountId, status: AccountStatus) {
    let change = AccountChange { status: Some(status), ..AccountChange::default() };
    rig.sms.operator().account_update(account, change).await.unwrap();
}

#[tokio::test]
async fn a_send_answers_with_its_batch_its_messages_and_what_it_took() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let request = json!({ "to": "07700 900123", "body": "Hello", "client_ref": "booking-42" });
    let reply = account.live.post("/messages", request).await.assert(201);
    assert_eq!(keys(&reply.json), ["data", "meta"]);
    assert_eq!(keys(&reply.json["data"]), BATCH_FIELDS);
    let meta = json!({ "credits": 1, "balance": 9, "replayed": false, "test": false });
    assert_eq!(reply.json["meta"], meta);
    let batch = reply.json["data"]["batch_id"].as_str().unwrap();
    let message = &reply.json["data"]["messages"][0];
    assert_eq!(keys(message), MESSAGE_FIELDS);
    let id = message["id"].as_str().unwrap();
    assert!(id.starts_with("msg_") && id.len() == 30 && batch.starts_with("bat_"), "{message}");
    let expected = json!({
        "id": id,
        "direction": "outbound",
        "status": "queued",
        "to": "+447700900123",
        "from": SHARED_NUMBER,
        "contact_number": "+447700900123",
        "body": "Hello",
        "encoding": "gsm7",
        "segments": 1,
        "credits": 1,
        "route": "simulator",
        "sender": null,
        "client_ref": "booking-42",
        "batch_id": batch,
        "campaign_id": null,
        "contact_id": null,
        "error_code": null,
        "error_message": null,
        "test": false,
        "scheduled_at": null,
        "sent_at": null,
        "delivered_at": null,
        "failed_at": null,
        "cancelled_at": null,
        "received_at": null,
        "read_at": null,
        "created_at": "2026-11-21T07:07:10.123Z",
    });
    assert_eq!(*message, expected);
}

#[tokio::test]
async fn numbers_are_taken_in_every_common_format_and_given_back_in_e164() {
    let rig = Rig::new().await;
    let account = rig.account(100).await;
    for written in [
        "07700 900123",
        "07700-900-123",
        "(07700) 900123",
        "+44 7700 900123",
        "+44 (0)7700 900123",
        "0044 7700 900123",
        "447700900123",
        "7700900123",
        "07700\u{a0}900\u{2011}123",
        "\u{feff}07700.900.123\u{200b}",
        "０７７００ ９００１２３",
    ] {
        let data = account.send(written, "x").await;
        assert_eq!(data["messages"][0]["to"], "+447700900123", "{written}");
    }
}

#[tokio::test]
async fn recipients_are_split_checked_and_reported_in_the_order_given() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let to = json!([
        "07700 900123, 07700 900124\n07700 900125",
        "+447700900123",
        "020 7946 0018",
        "+1 202 555 0100",
        "nonsense",
        "07700 900126",
    ]);
    let reply = account.live.post("/messages", json!({ "to": to, "body": "x" })).await.assert(201);
    let data = &reply.json["data"];
    let texted: Vec<&Value> =
        data["messages"].as_array().unwrap().iter().map(|message| &message["to"]).collect();
    assert_eq!(texted, ["+447700900123", "+447700900124", "+447700900125", "+447700900126"]);
    let rejected = json!([
        { "to": "+447700900123", "reason": "duplicate" },
        { "to": "+442079460018", "reason": "not_mobile" },
        { "to": "+12025550100", "reason": "unsupported_destination" },
        { "to": "nonsense", "reason": "invalid_number" },
    ]);
    assert_eq!(data["rejected"], rejected);
    assert_eq!((&reply.json["meta"]["credits"], account.balance().await), (&json!(4), 6));
}

#[tokio::test]
async fn a_send_that_reaches_nobody_is_accepted_and_free() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let request = json!({ "to": ["nonsense"], "body": "x" });
    let reply = account.live.post("/messages", request).await.assert(201);
    assert_eq!(reply.json["data"]["messages"], json!([]));
    assert_eq!(reply.json["data"]["rejected"].as_array().unwrap().len(), 1);
    assert_eq!((&reply.json["meta"]["credits"], account.balance().await), (&json!(0), 10));
}

#[tokio::test]
async fn parts_are_counted_and_charged() {
    let rig = Rig::new().await;
    let account = rig.account(10_000).await;
    for (body, encoding, parts) in [
        ("a".repeat(160), "gsm7", 1),
        ("a".repeat(161), "gsm7", 2),
        ("€".repeat(80), "gsm7", 1),
        ("]".repeat(153), "gsm7", 3),
        ("д".repeat(70), "ucs2", 1),
        ("д".repeat(71), "ucs2", 2),
        (format!("{}😀{}", "д".repeat(66), "д".repeat(66)), "ucs2", 3),
        ("a".repeat(1_600), "gsm7", 11),
        ("д".repeat(700), "ucs2", 11),
    ] {
        let before = account.balance().await;
        let data = account.send("07700 900123", &body).await;
        let message = &data["messages"][0];
        assert_eq!((&message["encoding"], &message["segments"]), (&json!(encoding), &json!(parts)));
        assert_eq!(message["credits"], parts);
        assert_eq!(before - account.balance().await, parts);
    }
}

#[tokio::test]
async fn messages_that_are_too_long_or_empty_once_merged_are_rejected_one_by_one() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    for (body, reason) in [
        ("д".repeat(701), "too_long"),
        (" \n\t".to_owned(), "empty_body"),
        ("\u{2800}\u{3164}\u{115f}\u{1160}".to_owned(), "empty_body"),
        ("\u{34f}\u{fe0f}\u{e0100}\u{7}".to_owned(), "empty_body"),
        ("{email}".to_owned(), "empty_body"),
    ] {
        let data = account.send(json!(["07700 900123"]), &body).await;
        assert_eq!(data["rejected"], json!([{ "to": "+447700900123", "reason": reason }]));
        assert_eq!(data["messages"], json!([]));
    }
    let over = json!({ "to": "07700 900123", "body": "a".repeat(1_590), "append_opt_out": true });
    let data = account.live.post("/messages", over).await.created();
    assert_eq!(data["rejected"][0]["reason"], "too_long");
    assert_eq!(account.balance().await, 10);
}

#[tokio::test]
async fn a_recipient_that_is_no_number_is_shown_and_kept_up_to_its_first_100_characters() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let request = json!({ "to": "x".repeat(900_000), "body": "Hello" });
    let rejected = json!([{ "to": "x".repeat(100), "reason": "invalid_number" }]);
    let quote = account.live.post("/messages/quote", request.clone()).await.ok();
    assert_eq!(quote["rejected"], rejected);
    for status in [201, 200] {
        let ask = account.live.ask(Method::POST, "/messages").json(&request);
        let sent = ask.header("Idempotency-Key", "k").send().await.assert(status);
        assert_eq!(sent.json["data"]["rejected"], rejected);
    }
}

#[tokio::test]
async fn merge_fields_without_a_value_vanish_and_unknown_words_stay() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let data = account.send("07700 900123", "Hi {first_name}! {voucher} {").await;
    assert_eq!(data["messages"][0]["body"], "Hi ! {voucher} {");
}

#[tokio::test]
async fn the_opt_out_line_stands_on_a_line_of_its_own() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let request = json!({ "to": "07700 900123", "body": "Sale", "append_opt_out": true });
    let data = account.live.post("/messages", request).await.created();
    assert_eq!(data["messages"][0]["body"], "Sale\nReply STOP to opt out");
}

#[tokio::test]
async fn all_missing_fields_are_named_at_once() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let nothing = account.live.post("/messages", json!({})).await.mistakes();
    let required = |field: &str| (field.to_owned(), "required".to_owned());
    assert_eq!(nothing, [required("to"), required("body")]);
    let blank = json!({ "to": " ,\n", "body": "", "contact_ids": [], "sender": null });
    let blank = account.live.post("/messages", blank).await.mistakes();
    assert_eq!(blank, [required("to"), required("body")]);
    let long = json!({
        "to": numbers(1_001),
        "body": "a".repeat(1_601),
        "client_ref": "r".repeat(65),
        "schedule_at": "2026-11-21T07:00:00Z",
        "append_opt_out": "yes",
    });
    let ask = account.live.ask(Method::POST, "/messages").json(&long);
    let named = ask.header("Idempotency-Key", &"k".repeat(201)).send().await.mistakes();
    let mut fields: Vec<&str> = named.iter().map(|(field, _)| field.as_str()).collect();
    fields.sort_unstable();
    let expected = ["Idempotency-Key", "append_opt_out", "body", "client_ref", "schedule_at", "to"];
    assert_eq!(fields, expected);
}

#[tokio::test]
async fn each_limit_is_kept_and_one_past_it_refused() {
    let rig = Rig::new().await;
    let account = rig.account(100_000).await;
    let send = async |change: Value| {
        let mut request = json!({ "to": "07700 900123", "body": "x" });
        request.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        account.live.post("/messages", request).await
    };
    assert_eq!(
        send(json!({ "to": numbers(1_000) })).await.created()["messages"][999]["to"],
        "+447700900999"
    );
    send(json!({ "to": numbers(1_001) })).await.mistake("to", "too_many");
    send(json!({ "to": numbers(1_000).join(",") })).await.assert(201);
    send(json!({ "to": numbers(1_001).join("\n") })).await.mistake("to", "too_many");
    send(json!({ "body": "é".repeat(1_600) })).await.assert(201);
    send(json!({ "body": "é".repeat(1_601) })).await.mistake("body", "too_long");
    send(json!({ "client_ref": "é".repeat(64) })).await.assert(201);
    send(json!({ "client_ref": "é".repeat(65) })).await.mistake("client_ref", "too_long");
}

#[tokio::test]
async fn a_schedule_is_up_to_a_year_ahead_and_the_last_minute_means_now() {
    let rig = Rig::new().await;
    let account = rig.account(100).await;
    let send = async |at: &str| {
        let request = json!({ "to": "07700 900123", "body": "x", "schedule_at": at });
        account.live.post("/messages", request).await
    };
    for (at, status, scheduled) in [
        ("2026-11-21T09:07:11.5+02:00", "scheduled", json!("2026-11-21T07:07:11.500Z")),
        ("2027-11-21T07:07:10.123Z", "scheduled", json!("2027-11-21T07:07:10.123Z")),
        ("2026-11-21T07:07:10.123Z", "queued", Value::Null),
        ("2026-11-21T07:06:10.123Z", "queued", Value::Null),
    ] {
        let data = send(at).await.created();
        let message = &data["messages"][0];
        assert_eq!((&message["status"], &message["scheduled_at"]), (&json!(status), &scheduled));
        assert_eq!(message["credits"], 1, "taken on acceptance");
    }
    for at in ["2026-11-21T07:06:10.122Z", "2027-11-21T07:07:10.124Z", "0001-01-01T00:00:00Z"] {
        send(at).await.mistake("schedule_at", "out_of_range");
    }
    for at in ["tomorrow", "2026-11-21", "2026-11-21T07:07:10", "1795244830", ""] {
        send(at).await.mistake("schedule_at", "invalid_format");
    }
}

#[tokio::test]
async fn too_little_credit_is_402_and_sends_nothing() {
    let rig = Rig::new().await;
    let account = rig.account(3).await;
    let to = ["07700 900123", "07700 900124"];
    let request = json!({ "to": to, "body": "a".repeat(161) });
    let reply = account.live.post("/messages", request).await;
    let details = reply.refused(402, "insufficient_credit");
    assert_eq!(details, json!({ "needed": 4, "balance": 3 }));
    assert_eq!(account.balance().await, 3);
    assert_eq!(account.live.get("/messages").await.ok(), json!([]));
    account.send(json!(["07700 900123", "07700 900124", "07700 900125"]), "x").await;
    assert_eq!(account.balance().await, 0);
}

#[tokio::test]
async fn a_pending_account_sends_with_its_test_key_alone() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    set_status(&rig, account.id, AccountStatus::Pending).await;
    let request = json!({ "to": "07700 900123", "body": "x" });
    account.live.post("/messages", request.clone()).await.refused(403, "account_pending");
    account.test.post("/messages", request.clone()).await.assert(201);
    account.live.post("/messages/quote", request).await.assert(200);
    account.live.post("/messages", json!({ "to": 5 })).await.refused(422, "validation_failed");
}

#[tokio::test]
async fn a_suspended_account_sends_with_neither_key() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    set_status(&rig, account.id, AccountStatus::Suspended).await;
    let request = json!({ "to": "07700 900123", "body": "x" });
    for client in [&account.live, &account.test] {
        client.post("/messages", request.clone()).await.refused(403, "account_suspended");
        client.post("/messages/quote", request.clone()).await.assert(200);
        client.post("/messages", json!({})).await.refused(422, "validation_failed");
    }
    assert_eq!(account.live.get("/messages").await.ok(), json!([]));
}

#[tokio::test]
async fn an_id_that_names_nothing_is_404_and_says_which() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let id = |prefix: &str| format!("{prefix}_{}", "0".repeat(26));
    for (field, resource, id, value) in [
        ("contact_ids", "contact", id("con"), json!([id("con")])),
        ("contact_ids", "contact", "x".to_owned(), json!(["x"])),
        ("contact_ids", "contact", id("msg"), json!([id("msg")])),
        ("list_id", "list", id("lst"), json!(id("lst"))),
        ("list_id", "list", String::new(), json!("")),
        ("template_id", "template", id("tpl"), json!(id("tpl"))),
        ("template_id", "template", "é".to_owned(), json!("é")),
    ] {
        let mut request = json!({ "to": "07700 900123", "body": "x" });
        request[field] = value;
        for path in ["/messages", "/messages/quote"] {
            let details = account.live.post(path, request.clone()).await.refused(404, "not_found");
            assert_eq!(details, json!({ "resource": resource, "id": id }), "{path} {field}");
        }
    }
}

#[tokio::test]
async fn a_sender_name_must_be_approved() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let request = json!({ "to": "07700 900123", "body": "x", "sender": "Bookings" });
    account.live.post("/messages", request).await.refused(422, "sender_not_approved");
    // What the request names has to exist first, and its fields have to be right before that.
    let template = format!("tpl_{}", "0".repeat(26));
    let request = json!({ "to": "07700 900123", "template_id": template, "sender": "Bookings" });
    account.live.post("/messages", request).await.refused(404, "not_found");
    let request = json!({ "body": "x", "template_id": template, "sender": "Bookings" });
    account.live.post("/messages", request).await.mistake("to", "required");
}

#[tokio::test]
async fn a_priority_is_normal_or_bulk_and_a_quote_ignores_it() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let with =
        |priority: Value| json!({ "to": "07700 900123", "body": "Hello", "priority": priority });
    for priority in ["normal", "bulk"] {
        account.live.post("/messages", with(json!(priority))).await.created();
        account.live.post("/messages/quote", with(json!(priority))).await.ok();
    }
    for path in ["/messages", "/messages/quote"] {
        let wrong = account.live.post(path, with(json!("Bulk"))).await;
        wrong.mistake("priority", "unknown_value");
        account.live.post(path, with(json!(5))).await.mistake("priority", "wrong_type");
    }
}

#[tokio::test]
async fn unknown_fields_are_ignored_and_null_is_the_same_as_absent() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let request = json!({
        "to": "07700 900123", "body": "x", "status": "delivered", "credits": -5, "test": true,
        "contact_ids": null, "list_id": null, "template_id": null, "sender": null,
        "schedule_at": null, "client_ref": null, "append_opt_out": null, "track_links": null,
    });
    let data = account.live.post("/messages", request).await.created();
    assert_eq!((&data["messages"][0]["status"], account.balance().await), (&json!("queued"), 9));
}

#[tokio::test]
async fn without_any_number_to_send_from_a_send_is_409() {
    let rig = Rig::bare(Arc::new(MemoryStore::new()), Gcra::new(1_000, 1_000));
    let account = rig.account(10).await;
    let request = json!({ "to": "07700 900123", "body": "x" });
    for path in ["/messages", "/messages/quote"] {
        account.live.post(path, request.clone()).await.refused(409, "no_number");
    }
}
