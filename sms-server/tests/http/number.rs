//! `GET /numbers`, and the rent that an account sees taken.

use std::time::Duration;

use serde_json::{Value, json};

use crate::message_send::keys;
use crate::rig::{Account, Rig};

const DAY: Duration = Duration::from_hours(24);

/// The operator assigns a number to an account.
async fn assign(rig: &Rig, account: &Account, number: &str, rent: u64) -> Value {
    let body = json!({
        "phone_number": number, "account_id": account.id.to_string(),
        "rental_credits": rent, "monthly_credits": 40,
    });
    rig.operator().post("/numbers", body).await.created()
}

/// Kind, amount and balance of each entry of the ledger, newest first.
async fn ledger(rig: &Rig, account: &Account) -> Vec<(String, i64, u64)> {
    let path = format!("/accounts/{}/ledger", account.id);
    let line = |entry: &Value| {
        let kind = entry["kind"].as_str().unwrap().to_owned();
        (kind, entry["amount"].as_i64().unwrap(), entry["balance_after"].as_u64().unwrap())
    };
    rig.operator().pages(&path, 10).await.iter().map(line).collect()
}

#[tokio::test]
async fn an_account_sees_its_own_numbers_newest_first_with_either_key() {
    let rig = Rig::new().await;
    let (account, other) = (rig.account(100).await, rig.account(100).await);
    let none = account.live.get("/numbers").await.assert(200);
    assert_eq!((&none.json["data"], &none.json["meta"]), (&json!([]), &Value::Null));
    let first = assign(&rig, &account, "07700 900001", 30).await;
    assign(&rig, &other, "07700 900002", 0).await;
    let second = assign(&rig, &account, "07700 900003", 0).await;
    let expected = json!([
        {
            "id": second["id"],
            "phone_number": "+447700900003",
            "online": false,
            "rental_credits": 0,
            "monthly_credits": 40,
            "rental_charged_at": null,
            "assigned_at": "2026-11-21T07:07:10.123Z",
            "overdue_since": null,
            "overdue_credits": 0,
        },
        {
            "id": first["id"],
            "phone_number": "+447700900001",
            "online": false,
            "rental_credits": 30,
            "monthly_credits": 40,
            "rental_charged_at": "2026-11-21T07:07:10.123Z",
            "assigned_at": "2026-11-21T07:07:10.123Z",
            "overdue_since": null,
            "overdue_credits": 0,
        },
    ]);
    for client in [&account.live, &account.test] {
        let listed = client.get("/numbers").await.assert(200);
        assert_eq!((&listed.json["data"], &listed.json["meta"]), (&expected, &Value::Null));
        assert_eq!(keys(&listed.json["data"][0]), keys(&expected[0]));
    }
    let check_in = format!("/numbers/{}/check-in", first["id"].as_str().unwrap());
    rig.operator().call(&check_in).await.assert(204);
    let online = async || account.live.get("/numbers").await.ok()[1]["online"].clone();
    rig.clock.advance(Duration::from_mins(5));
    assert_eq!(online().await, true);
    rig.clock.advance(Duration::from_millis(1));
    assert_eq!(online().await, false);
}

#[tokio::test]
async fn rent_is_taken_when_a_number_is_assigned_and_every_thirty_days_from_then_on() {
    let rig = Rig::new().await;
    let account = rig.account(100).await;
    let number = assign(&rig, &account, "07700 900001", 30).await;
    assert_eq!(
        (account.balance().await, &number["rental_charged_at"]),
        (70, &number["assigned_at"])
    );
    rig.clock.advance(DAY * 29 + Duration::from_millis(86_399_999));
    rig.work().await;
    assert_eq!(account.balance().await, 70);
    rig.clock.advance(Duration::from_millis(1));
    rig.work().await;
    assert_eq!(account.balance().await, 40);
    let entry = &rig.operator().get(&format!("/accounts/{}/ledger", account.id)).await.ok()[0];
    let note = "+447700900001 for 30 days from 2026-12-21T07:07:10.123Z";
    assert_eq!((&entry["kind"], &entry["number_id"]), (&json!("rent"), &number["id"]));
    assert_eq!((&entry["note"], &entry["message_id"]), (&json!(note), &Value::Null));
    let listed = account.live.get("/numbers").await.ok();
    assert_eq!(listed[0]["rental_charged_at"], "2026-12-21T07:07:10.123Z");
}

#[tokio::test]
async fn months_of_downtime_are_made_up_for_as_far_as_the_credits_go() {
    let rig = Rig::new().await;
    let account = rig.account(70).await;
    assign(&rig, &account, "07700 900001", 30).await;
    rig.clock.advance(DAY * 95);
    rig.work().await;
    assert_eq!(account.balance().await, 10);
    let charged = async || account.live.get("/numbers").await.ok()[0]["rental_charged_at"].clone();
    assert_eq!(charged().await, "2026-12-21T07:07:10.123Z");
    // What is still owed is taken as soon as credits come, after the entry that brought them.
    let credits = format!("/accounts/{}/credits", account.id);
    let answer = rig.operator().post(&credits, json!({ "amount": 25 })).await.ok();
    assert_eq!((&answer["balance"], account.balance().await), (&json!(35), 5));
    assert_eq!(charged().await, "2027-01-20T07:07:10.123Z");
    let text = |kind: &str, amount, balance| (kind.to_owned(), amount, balance);
    let expected = [
        text("rent", -30, 5),
        text("top_up", 25, 35),
        text("rent", -30, 10),
        text("rent", -30, 40),
        text("top_up", 70, 70),
    ];
    assert_eq!(ledger(&rig, &account).await, expected);
}

#[tokio::test]
async fn rent_that_a_refund_makes_room_for_is_taken_within_the_hour() {
    let rig = Rig::new().await;
    let account = rig.account(3).await;
    let later = json!({ "to": "07700 900123", "body": "x", "schedule_at": "2026-12-24T00:00:00Z" });
    let sent = account.live.post("/messages", later).await.created();
    let number = assign(&rig, &account, "07700 900001", 3).await;
    assert_eq!((account.balance().await, &number["rental_charged_at"]), (2, &Value::Null));
    let id = sent["messages"][0]["id"].as_str().unwrap();
    account.live.call(&format!("/messages/{id}/cancel")).await.assert(200);
    rig.clock.advance(Duration::from_mins(59));
    rig.work().await;
    assert_eq!(account.balance().await, 3);
    rig.clock.advance(Duration::from_mins(1));
    rig.work().await;
    assert_eq!(account.balance().await, 0);
}

#[tokio::test]
async fn a_removed_number_gets_nothing_back_and_costs_nothing_more() {
    let rig = Rig::new().await;
    let account = rig.account(100).await;
    let number = assign(&rig, &account, "07700 900001", 30).await;
    rig.operator()
        .delete(&format!("/numbers/{}", number["id"].as_str().unwrap()))
        .await
        .assert(204);
    rig.clock.advance(DAY * 300);
    rig.work().await;
    assert_eq!((account.balance().await, account.live.get("/numbers").await.ok()), (70, json!([])));
}

#[tokio::test]
async fn an_account_sees_the_rent_that_its_numbers_owe() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    assign(&rig, &account, "07700 900001", 30).await;
    let owed = async || {
        let number = account.live.get("/numbers").await.ok()[0].take();
        (number["overdue_since"].clone(), number["overdue_credits"].clone())
    };
    assert_eq!(owed().await, (json!("2026-11-21T07:07:10.123Z"), json!(30)));
    rig.clock.advance(DAY * 31);
    assert_eq!(owed().await, (json!("2026-11-21T07:07:10.123Z"), json!(60)));
    let credits = format!("/accounts/{}/credits", account.id);
    rig.operator().post(&credits, json!({ "amount": 50 })).await.ok();
    assert_eq!(owed().await, (Value::Null, json!(0)));
}
