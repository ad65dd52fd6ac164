//! `/admin/v1/accounts/{id}/credits` and `/ledger`.

use poem::http::Method;
use serde_json::{Value, json};

use crate::message_send::keys;
use crate::rig::Rig;

const MOST: i64 = (1 << 53) - 1;
/// Half of it, so that there is room for refunds.
const MOST_TOPPED_UP: i64 = MOST / 2;

#[tokio::test]
async fn credits_are_added_and_taken_back_and_the_ledger_says_why() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let path = format!("/accounts/{}", account.id);
    for (amount, note, balance) in [(5, json!("invoice 7"), 15), (-15, Value::Null, 0)] {
        let body = json!({ "amount": amount, "note": note });
        let reply = rig.operator().post(&format!("{path}/credits"), body).await.assert(200);
        assert_eq!(reply.json, json!({ "data": { "balance": balance }, "meta": null }));
        assert_eq!(account.balance().await, balance);
    }
    let ledger = rig.operator().get(&format!("{path}/ledger")).await.assert(200);
    let entries = &ledger.json["data"];
    let fields = [
        "id",
        "kind",
        "amount",
        "balance_after",
        "message_id",
        "batch_id",
        "campaign_id",
        "number_id",
        "note",
        "created_at",
    ];
    assert_eq!(keys(&entries[0]), fields);
    assert!(entries[0]["id"].as_str().unwrap().starts_with("led_"));
    let told: Vec<[&Value; 4]> = entries
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| [&entry["kind"], &entry["amount"], &entry["balance_after"], &entry["note"]])
        .collect();
    assert_eq!(told[0], [&json!("adjustment"), &json!(-15), &json!(0), &Value::Null]);
    assert_eq!(told[1], [&json!("top_up"), &json!(5), &json!(15), &json!("invoice 7")]);
    assert_eq!(told[2][..3], [&json!("top_up"), &json!(10), &json!(10)]);
}

#[tokio::test]
async fn sends_and_refunds_are_booked_with_what_they_belong_to() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let sent = account.send(json!(["07700 900901", "07700 900123"]), "x").await;
    rig.pass(1).await;
    let ledger = rig.operator().get(&format!("/accounts/{}/ledger", account.id)).await.ok();
    let (refund, send) = (&ledger[0], &ledger[1]);
    assert_eq!((&send["kind"], &send["amount"]), (&json!("send"), &json!(-2)));
    assert_eq!(send["batch_id"], sent["batch_id"]);
    assert_eq!((&refund["kind"], &refund["amount"]), (&json!("refund"), &json!(1)));
    assert_eq!(refund["message_id"], sent["messages"][0]["id"]);
    assert_eq!(refund["balance_after"], 9);
}

#[tokio::test]
async fn a_new_account_has_the_same_bound() {
    let rig = Rig::new().await;
    let make = async |credits: i64| {
        rig.operator().post("/accounts", json!({ "name": "Bookings", "credits": credits })).await
    };
    make(MOST_TOPPED_UP).await.assert(201);
    make(MOST_TOPPED_UP + 1).await.refused(409, "balance_out_of_range");
}

#[tokio::test]
async fn a_balance_never_leaves_its_bounds() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let path = format!("/accounts/{}/credits", account.id);
    for amount in [-11, -MOST, MOST_TOPPED_UP - 9, MOST] {
        let reply = rig.operator().post(&path, json!({ "amount": amount })).await;
        reply.refused(409, "balance_out_of_range");
        assert_eq!(account.balance().await, 10);
    }
    rig.operator().post(&path, json!({ "amount": MOST_TOPPED_UP - 10 })).await.assert(200);
    assert_eq!(account.live.get("/balance").await.ok()["credits"], MOST_TOPPED_UP);
    rig.operator().post(&path, json!({ "amount": 1 })).await.assert(409);
    rig.operator().post(&path, json!({ "amount": -MOST_TOPPED_UP })).await.assert(200);
}

#[tokio::test]
async fn an_amount_is_a_whole_number_other_than_zero() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let path = format!("/accounts/{}/credits", account.id);
    let cases = [
        (json!(0), "out_of_range"),
        (json!(-0.0), "out_of_range"),
        (json!(MOST + 1), "out_of_range"),
        (json!(-MOST - 1), "out_of_range"),
        (json!(u64::MAX), "out_of_range"),
        (json!(1e300), "out_of_range"),
        (json!(1.5), "wrong_type"),
        (json!("5"), "wrong_type"),
        (Value::Null, "required"),
    ];
    for (amount, code) in cases {
        let reply = rig.operator().post(&path, json!({ "amount": amount })).await;
        reply.mistake("amount", code);
    }
    let long = json!({ "amount": 0, "note": "x".repeat(501) });
    assert_eq!(rig.operator().post(&path, long).await.mistakes().len(), 2);
    assert_eq!(account.balance().await, 10);
}

#[tokio::test]
async fn the_ledger_is_listed_newest_first_in_whole_pages() {
    let rig = Rig::new().await;
    let account = rig.account(1).await;
    let path = format!("/accounts/{}", account.id);
    for amount in 1..=20 {
        let body = json!({ "amount": amount });
        rig.operator().post(&format!("{path}/credits"), body).await.assert(200);
    }
    let ledger = format!("{path}/ledger");
    let all = rig.operator().pages(&ledger, 100).await;
    let amounts: Vec<i64> = all.iter().map(|entry| entry["amount"].as_i64().unwrap()).collect();
    assert_eq!(amounts, (1..=20).rev().chain([1]).collect::<Vec<i64>>());
    for limit in [1, 4, 20, 21] {
        assert_eq!(rig.operator().pages(&ledger, limit).await, all);
    }
}

#[tokio::test]
async fn a_retried_top_up_with_a_key_is_booked_once() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let path = format!("/accounts/{}/credits", account.id);
    let top_up = async |key: &str, body: Value| {
        let ask = rig.operator().ask(Method::POST, &path).json(&body);
        ask.header("Idempotency-Key", key).send().await
    };
    let first = top_up("k", json!({ "amount": 5 })).await.assert(200);
    assert_eq!(first.json, json!({ "data": { "balance": 15 }, "meta": null }));
    top_up("other", json!({ "amount": 5 })).await.assert(200);
    let again = top_up("k", json!({ "amount": 5, "note": null })).await.assert(200);
    assert_eq!(again.json, json!({ "data": { "balance": 15 }, "meta": { "replayed": true } }));
    assert_eq!(account.balance().await, 20);
    for other in [json!({ "amount": 6 }), json!({ "amount": 5, "note": "x" })] {
        let refused = top_up("k", other).await.assert(409);
        assert_eq!(refused.json["error"]["code"], "idempotency_conflict");
    }
    let elsewhere = rig.account(0).await;
    let path = format!("/accounts/{}/credits", elsewhere.id);
    let ask = rig.operator().ask(Method::POST, &path).json(&json!({ "amount": 5 }));
    ask.header("Idempotency-Key", "k").send().await.assert(409);
    // What was refused can be asked again with its key once it fits.
    top_up("late", json!({ "amount": -21 })).await.assert(409);
    top_up("more", json!({ "amount": 1 })).await.assert(200);
    top_up("late", json!({ "amount": -21 })).await.assert(200);
    assert_eq!((account.balance().await, elsewhere.balance().await), (0, 0));
}
