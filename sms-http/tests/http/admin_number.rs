//! `/admin/v1/numbers`: the operator's numbers.

use std::time::Duration;

use serde_json::{Value, json};

use crate::message_send::keys;
use crate::rig::{Rig, SHARED_NUMBER};

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
