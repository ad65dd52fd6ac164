//! `/admin/v1/numbers`: the operator's numbers.

use std::time::Duration;

use serde_json::{Value, json};

use crate::message_send::keys;
use crate::rig::{Account, Rig, SHARED_NUMBER};

#[tokio::test]
async fn a_number_is_shared_or_an_accounts_own() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let shared = json!({ "phone_number": "07700 900002" });
    let shared = rig.operator().post("/numbers", shared).await.created();
    let expected = json!({
        "id": shared["id"],
        "phone_number": "+447700900002",
        "account_id": null,
        "route": null,
        "online": false,
        "rental_credits": 0,
        "monthly_credits": 0,
        "rental_charged_at": null,
        "assigned_at": "2026-11-21T07:07:10.123Z",
        "overdue_since": null,
        "overdue_credits": 0,
    });
    assert_eq!(shared, expected);
    assert_eq!(keys(&shared), keys(&expected));
    assert!(shared["id"].as_str().unwrap().starts_with("gw_"));
    let own = json!({
        "phone_number": "+44 7700 900003", "account_id": account.id.to_string(),
        "route": "simulator", "rental_credits": 5,
    });
    let own = rig.operator().post("/numbers", own).await.created();
    assert_eq!(own["account_id"], account.id.to_string());
    assert_eq!((&own["rental_credits"], &own["monthly_credits"]), (&json!(5), &json!(5)));
    let listed = rig.operator().get("/numbers").await.assert(200);
    assert_eq!(listed.json["meta"], Value::Null);
    assert_eq!((&listed.json["data"][0], &listed.json["data"][1]), (&own, &shared));
}

#[tokio::test]
async fn a_number_exists_once() {
    let rig = Rig::new().await;
    let again = json!({ "phone_number": SHARED_NUMBER });
    rig.operator().post("/numbers", again).await.refused(409, "number_exists");
    assert_eq!(rig.operator().get("/numbers").await.ok().as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn what_a_number_names_has_to_exist() {
    let rig = Rig::new().await;
    let unknown = format!("acc_{}", "0".repeat(26));
    for id in [unknown.as_str(), "x", ""] {
        let body = json!({ "phone_number": "07700 900002", "account_id": id });
        let details = rig.operator().post("/numbers", body).await.refused(404, "not_found");
        assert_eq!(details, json!({ "resource": "account", "id": id }));
    }
    for route in ["main", "test"] {
        let body = json!({ "phone_number": "07700 900002", "route": route });
        let details = rig.operator().post("/numbers", body).await.refused(422, "validation_failed");
        let mistake = &details[0];
        assert_eq!(
            (&mistake["field"], &mistake["code"]),
            (&json!("route"), &json!("unknown_value"))
        );
        let message = mistake["message"].as_str().unwrap();
        assert!(message.ends_with("choose one of: simulator"), "{message}");
    }
    let body = json!({ "phone_number": "nonsense" });
    rig.operator().post("/numbers", body).await.mistake("phone_number", "invalid_format");
    let body =
        json!({ "phone_number": "07700 900002", "rental_credits": -1, "monthly_credits": 0.5 });
    assert_eq!(rig.operator().post("/numbers", body).await.mistakes().len(), 2);
    assert_eq!(rig.operator().get("/numbers").await.ok().as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_number_is_online_for_five_minutes_after_its_gateway_checked_in() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let body = json!({ "phone_number": "07700 900003", "account_id": account.id.to_string() });
    let number = rig.operator().post("/numbers", body).await.created();
    let check_in = format!("/numbers/{}/check-in", number["id"].as_str().unwrap());
    let online = async || rig.operator().get("/numbers").await.ok()[0]["online"].clone();
    let from = async || account.send("07700 900904", "x").await["messages"][0]["from"].clone();
    assert_eq!((online().await, from().await), (json!(false), json!(SHARED_NUMBER)));
    rig.operator().call(&check_in).await.assert(204);
    assert_eq!((online().await, from().await), (json!(true), json!("+447700900003")));
    rig.clock.advance(Duration::from_mins(6));
    assert_eq!((online().await, from().await), (json!(false), json!(SHARED_NUMBER)));
}

#[tokio::test]
async fn a_removed_number_is_gone() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let id = rig.operator().get("/numbers").await.ok()[0]["id"].as_str().unwrap().to_owned();
    rig.operator().delete(&format!("/numbers/{id}")).await.assert(204);
    rig.operator().delete(&format!("/numbers/{id}")).await.refused(404, "not_found");
    rig.operator().call(&format!("/numbers/{id}/check-in")).await.refused(404, "not_found");
    let request = json!({ "to": "07700 900123", "body": "x" });
    account.live.post("/messages", request).await.refused(409, "no_number");
    let again = json!({ "phone_number": SHARED_NUMBER });
    rig.operator().post("/numbers", again).await.assert(201);
}

fn path(number: &Value) -> String {
    format!("/numbers/{}", number["id"].as_str().unwrap())
}

fn new(phone: &str, account: &Account) -> Value {
    json!({ "phone_number": phone, "account_id": account.id.to_string() })
}

#[tokio::test]
async fn a_released_number_is_kept_from_other_accounts_for_30_days_unless_forced() {
    let rig = Rig::new().await;
    let (account, other) = (rig.account(10).await, rig.account(10).await);
    let number = rig.operator().post("/numbers", new("07700 900003", &account)).await.created();
    rig.operator().delete(&path(&number)).await.assert(204);
    let others = new("07700 900003", &other);
    let refused = rig.operator().post("/numbers", others.clone()).await;
    let details = refused.refused(409, "number_quarantined");
    assert_eq!(details, json!({ "until": "2026-12-21T07:07:10.123Z" }));
    let again = rig.operator().post("/numbers", new("07700 900003", &account)).await.created();
    rig.operator().delete(&path(&again)).await.assert(204);
    let mut forced = others.clone();
    forced["force"] = json!(true);
    let forced = rig.operator().post("/numbers", forced).await.created();
    assert_eq!(forced["account_id"], other.id.to_string());
    rig.operator().delete(&path(&forced)).await.assert(204);
    rig.clock.advance(Duration::from_hours(30 * 24));
    rig.operator().post("/numbers", new("07700 900003", &account)).await.assert(201);
}

#[tokio::test]
async fn a_late_stop_to_a_released_number_does_not_reach_the_next_account() {
    let rig = Rig::new().await;
    let (account, other) = (rig.account(10).await, rig.account(10).await);
    let number = rig.operator().post("/numbers", new("07700 900003", &account)).await.created();
    rig.operator().call(&format!("{}/check-in", path(&number))).await.assert(204);
    let sent = account.send("07700 900904", "Hello").await;
    assert_eq!(sent["messages"][0]["from"], "+447700900003");
    rig.pass(5).await;
    let later =
        json!({ "to": "07700 900904", "body": "Later", "schedule_at": "2026-11-21T09:00:00Z" });
    let later = account.live.post("/messages", later).await.created();
    rig.operator().delete(&path(&number)).await.assert(204);
    let mut forced = new("07700 900003", &other);
    forced["force"] = json!(true);
    rig.operator().post("/numbers", forced).await.created();
    let stop = json!({ "from": "07700 900904", "to": "07700 900003", "body": "STOP" });
    let taken = rig.operator().post("/inbound", stop).await.created();
    assert_eq!(taken["to"], "+447700900003");
    let opted_out = async |account: &Account| account.live.get("/opt-outs").await.ok();
    assert_eq!(opted_out(&account).await[0]["phone"], "+447700900904");
    assert_eq!(opted_out(&other).await, json!([]));
    account.live.delete("/opt-outs/+447700900904").await.assert(204);
    rig.clock.advance(Duration::from_hours(2));
    rig.work().await;
    let id = later["messages"][0]["id"].as_str().unwrap();
    let left = account.live.get(&format!("/messages/{id}")).await.ok();
    assert_eq!((&left["from"], &left["status"]), (&json!(SHARED_NUMBER), &json!("sent")));
    let told = "+447700900003 can no longer be used; sent from +447700900000";
    assert_eq!(left["events"][1]["detail"], told);
}

#[tokio::test]
async fn the_operator_sees_overdue_rent_and_the_number_sends_nothing_after_seven_days() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let mut rented = new("07700 900003", &account);
    rented["rental_credits"] = json!(30);
    let number = rig.operator().post("/numbers", rented).await.created();
    assert_eq!(number["overdue_since"], "2026-11-21T07:07:10.123Z");
    assert_eq!(number["overdue_credits"], 30);
    let from = async || {
        rig.operator().call(&format!("{}/check-in", path(&number))).await.assert(204);
        account.send("07700 900904", "x").await["messages"][0]["from"].clone()
    };
    let week = Duration::from_hours(7 * 24);
    let moment = Duration::from_millis(1);
    rig.clock.advance(week.saturating_sub(moment));
    assert_eq!(from().await, "+447700900003");
    rig.clock.advance(Duration::from_millis(1));
    assert_eq!(from().await, SHARED_NUMBER);
    let inbound = json!({ "from": "07700 900100", "to": "07700 900003", "body": "Hello" });
    rig.operator().post("/inbound", inbound).await.assert(201);
    assert_eq!(account.live.get("/messages?direction=inbound").await.ok()[0]["body"], "Hello");
    rig.clock.advance(Duration::from_hours(24 * 24));
    let listed = rig.operator().get("/numbers").await.ok();
    assert_eq!(listed[0]["overdue_credits"], 60);
    let credits = format!("/accounts/{}/credits", account.id);
    rig.operator().post(&credits, json!({ "amount": 100 })).await.ok();
    let listed = rig.operator().get("/numbers").await.ok();
    assert_eq!(
        (&listed[0]["overdue_since"], &listed[0]["overdue_credits"]),
        (&Value::Null, &json!(0))
    );
    assert_eq!(from().await, "+447700900003");
}
