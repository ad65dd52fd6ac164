//! `POST /contacts/import`: many contacts at once.

use poem::http::Method;
use serde_json::{Value, json};

use crate::contact::{contact, path};
use crate::message_send::{keys, numbers};
use crate::rig::{Account, Rig};

async fn import(account: &Account, body: Value) -> Value {
    account.live.post("/contacts/import", body).await.ok()
}

#[tokio::test]
async fn the_result_of_every_row_is_reported() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let known =
        json!({ "phone": "07700 900123", "first_name": "Ann", "custom": { "town": "Bath" } });
    let known = account.live.post("/contacts", known).await.created();
    let same = contact(&account, "07700 900124").await;
    let list = account.live.post("/lists", json!({ "name": "New" })).await.created();
    let rows = json!([
        { "phone": "07700 900123", "last_name": "not this" },
        { "phone": "07700 900125", "email": "c@example.com" },
        { "phone": "020 7946 0123" },
        { "phone": "nobody" },
        { "phone": "07700 900123", "first_name": "", "custom": { "points": 5, "town": "" } },
        { "phone": "07700 900124" },
        { "phone": "07700 900126", "email": "x" },
        { "phone": "07700 900127", "custom": { "Bad": 1 } },
        { "phone": "07700 900128", "notes": "x".repeat(2_001) },
    ]);
    let result = import(&account, json!({ "rows": rows, "list_id": list["id"] })).await;
    let fields = ["created", "updated", "unchanged", "invalid", "added_to_list", "rows"];
    assert_eq!(keys(&result), fields);
    let told = result["rows"].as_array().unwrap();
    assert_eq!(keys(&told[0]), ["row", "phone", "outcome", "contact_id", "error"]);
    let totals = json!([1, 1, 1, 5, 3]);
    let shown: Vec<&Value> = fields[..5].iter().map(|field| &result[field]).collect();
    assert_eq!(json!(shown), totals);
    let made = &told[1]["contact_id"];
    let expected = [
        (0, "+447700900123", "duplicate", &known["id"]),
        (1, "+447700900125", "created", made),
        (2, "+442079460123", "invalid", &Value::Null),
        (3, "nobody", "invalid", &Value::Null),
        (4, "+447700900123", "updated", &known["id"]),
        (5, "+447700900124", "unchanged", &same["id"]),
        (6, "+447700900126", "invalid", &Value::Null),
        (7, "+447700900127", "invalid", &Value::Null),
        (8, "+447700900128", "invalid", &Value::Null),
    ];
    for (told, (row, phone, outcome, contact)) in told.iter().zip(expected) {
        let shown = (&told["row"], &told["phone"], &told["outcome"], &told["contact_id"]);
        assert_eq!(shown, (&json!(row), &json!(phone), &json!(outcome), contact));
        assert_eq!(told["error"].is_string(), outcome == "invalid", "{told}");
    }
    let read = account.live.get(&path("/contacts", &known)).await.ok();
    assert_eq!((&read["first_name"], &read["last_name"]), (&json!("Ann"), &Value::Null));
    assert_eq!(read["custom"], json!({ "points": 5, "town": "Bath" }));
    assert_eq!(read["list_ids"], json!([list["id"]]));
    let list = account.live.get(&path("/lists", &list)).await.ok();
    assert_eq!(list["contact_count"], 3);
}

#[tokio::test]
async fn a_row_without_the_shape_of_a_contact_fails_the_request() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let rows = json!([
        { "phone": "07700 900123" }, {}, { "phone": 5 }, 5, { "phone": "x", "first_name": [] },
        { "phone": "x", "custom": { "a": [] } },
    ]);
    let body = json!({ "rows": rows, "list_id": 5 });
    let mistakes = account.live.post("/contacts/import", body).await.mistakes();
    let named: Vec<(&str, &str)> =
        mistakes.iter().map(|(field, code)| (field.as_str(), code.as_str())).collect();
    let expected = [
        ("rows[1].phone", "required"),
        ("rows[2].phone", "wrong_type"),
        ("rows[3]", "wrong_type"),
        ("rows[4].first_name", "wrong_type"),
        ("rows[5].custom.a", "wrong_type"),
        ("list_id", "wrong_type"),
    ];
    assert_eq!(named, expected);
    account.live.post("/contacts/import", json!({})).await.mistake("rows", "required");
    assert_eq!(account.live.get("/contacts").await.ok(), json!([]));
}

#[tokio::test]
async fn an_import_to_an_unknown_list_is_404_and_writes_nothing() {
    let rig = Rig::new().await;
    let (account, other) = (rig.account(0).await, rig.account(0).await);
    let theirs = other.live.post("/lists", json!({ "name": "x" })).await.created();
    for id in [theirs["id"].clone(), json!(format!("lst_{}", "0".repeat(26))), json!("x")] {
        let body = json!({ "rows": [{ "phone": "07700 900123" }], "list_id": id });
        let refused = account.live.post("/contacts/import", body).await.refused(404, "not_found");
        assert_eq!(refused, json!({ "resource": "list", "id": id }));
    }
    assert_eq!(account.live.get("/contacts").await.ok(), json!([]));
    let nothing = import(&account, json!({ "rows": [], "list_id": null })).await;
    assert_eq!((&nothing["rows"], &nothing["created"]), (&json!([]), &json!(0)));
}

#[tokio::test]
async fn an_import_has_up_to_20_000_rows() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let row = |phone: String| json!({ "phone": phone });
    let mut rows: Vec<Value> = numbers(20_000).into_iter().map(row).collect();
    let result = import(&account, json!({ "rows": rows })).await;
    assert_eq!((&result["created"], &result["invalid"]), (&json!(20_000), &json!(0)));
    assert_eq!(result["rows"].as_array().unwrap().len(), 20_000);
    rows.push(json!({ "phone": "07701 900000" }));
    let over = account.live.post("/contacts/import", json!({ "rows": rows })).await;
    over.mistake("rows", "too_many");
    let again = import(&account, json!({ "rows": rows[..20_000] })).await;
    assert_eq!((&again["created"], &again["unchanged"]), (&json!(0), &json!(20_000)));
}

#[tokio::test]
async fn an_import_may_have_8_mb_and_no_more() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let body = |bytes: usize| {
        let text = json!({ "rows": [{ "phone": "07700 900123" }], "pad": "" }).to_string();
        text.replace("\"pad\":\"\"", &format!("\"pad\":\"{}\"", "x".repeat(bytes - text.len())))
    };
    let send = async |bytes| {
        let ask = account.live.ask(Method::POST, "/contacts/import").bytes(body(bytes));
        ask.send().await
    };
    send(8 * 1_048_576).await.assert(200);
    send(8 * 1_048_576 + 1).await.refused(413, "payload_too_large");
    let ask = account.live.ask(Method::POST, "/contacts").bytes(body(1_048_577));
    ask.send().await.refused(413, "payload_too_large");
}

#[tokio::test]
async fn the_contacts_of_an_account_use_at_most_1000_custom_names() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let row = |n: usize, names: std::ops::Range<usize>| {
        let custom: serde_json::Map<_, _> =
            names.map(|name| (format!("f{name}"), json!(true))).collect();
        json!({ "phone": format!("07700 900{n:03}"), "custom": custom })
    };
    let rows: Vec<Value> = (0..20).map(|n| row(n, n * 50..n * 50 + 50)).collect();
    let full = account.live.post("/contacts/import", json!({ "rows": rows })).await.ok();
    assert_eq!(full["created"], 20);
    let fields = account.live.get("/contacts/fields").await.ok();
    assert_eq!(fields.as_array().unwrap().len(), 1_000);

    account.live.post("/contacts", row(100, 1_000..1_001)).await.mistake("custom", "too_many");
    let made = account.live.post("/contacts", row(100, 999..1_000)).await.created();
    let patch = json!({ "custom": { "another": 1 } });
    let refused = account.live.patch(&path("/contacts", &made), patch).await;
    refused.mistake("custom", "too_many");
    let rows = json!({ "rows": [row(101, 1_000..1_001), row(102, 0..1)] });
    let imported = account.live.post("/contacts/import", rows).await.ok();
    assert_eq!((&imported["invalid"], &imported["created"]), (&json!(1), &json!(1)));
    assert_eq!(imported["rows"][0]["outcome"], "invalid");
    let error = imported["rows"][0]["error"].as_str().unwrap();
    assert!(error.contains("at most 1000 different names"), "{error}");

    // The only contact that uses f50 to f99.
    let patch = json!({ "custom": { "f50": null, "another": 1 } });
    let listed = account.live.get("/contacts?q=07700900001").await.ok();
    account.live.patch(&path("/contacts", &listed[0]), patch).await.ok();
    let fields = account.live.get("/contacts/fields").await.ok();
    assert_eq!(fields.as_array().unwrap().len(), 1_000);
    assert_eq!(fields[0], "another");
}
