//! `/admin/v1/accounts`: making, reading, approving, suspending and setting up accounts.

use serde_json::{Value, json};

use crate::message_send::keys;
use crate::rig::Rig;

#[tokio::test]
async fn an_account_made_without_more_is_pending_and_empty() {
    let rig = Rig::new().await;
    let reply = rig.operator().post("/accounts", json!({ "name": "Bookings" })).await.assert(201);
    let account = &reply.json["data"];
    let id = account["id"].as_str().unwrap();
    assert!(id.starts_with("acc_") && id.len() == 30);
    let expected = json!({
        "id": id,
        "name": "Bookings",
        "status": "pending",
        "credits": 0,
        "share": 1,
        "settings": {
            "quiet_hours_start": "21:00",
            "quiet_hours_end": "09:00",
            "track_links_default": false,
            "opt_out_line": "Reply STOP to opt out",
            "opt_out_line_sender": "Text STOP to {number} to opt out",
        },
        "created_at": "2026-11-21T07:07:10.123Z",
        "updated_at": "2026-11-21T07:07:10.123Z",
    });
    assert_eq!(*account, expected);
    assert_eq!(keys(account), keys(&expected));
    assert_eq!(rig.operator().get(&format!("/accounts/{id}")).await.ok(), expected);
    let ledger = rig.operator().get(&format!("/accounts/{id}/ledger")).await.ok();
    assert_eq!(ledger, json!([]));
}

#[tokio::test]
async fn an_account_is_made_as_asked() {
    let rig = Rig::new().await;
    let input = json!({
        "name": "Bookings", "status": "active", "credits": 100,
        "settings": { "quiet_hours_start": "22:30", "opt_out_line": "Text STOP" },
    });
    let account = rig.operator().post("/accounts", input).await.created();
    assert_eq!((&account["status"], &account["credits"]), (&json!("active"), &json!(100)));
    assert_eq!(account["settings"]["quiet_hours_start"], "22:30");
    assert_eq!(account["settings"]["quiet_hours_end"], "09:00");
    assert_eq!(account["settings"]["opt_out_line"], "Text STOP");
    let ledger = format!("/accounts/{}/ledger", account["id"].as_str().unwrap());
    let entries = rig.operator().get(&ledger).await.ok();
    assert_eq!((&entries[0]["kind"], &entries[0]["amount"]), (&json!("top_up"), &json!(100)));
}

#[tokio::test]
async fn an_account_has_a_share_from_1_to_100() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let path = format!("/accounts/{}", account.id);
    for share in [100, 1, 3] {
        let changed = rig.operator().patch(&path, json!({ "share": share })).await.ok();
        assert_eq!(changed["share"], share);
    }
    for (share, code) in [
        (json!(0), "out_of_range"),
        (json!(101), "out_of_range"),
        (json!("3"), "wrong_type"),
        (json!(null), "wrong_type"),
    ] {
        rig.operator().patch(&path, json!({ "share": share })).await.mistake("share", code);
    }
    let renamed = rig.operator().patch(&path, json!({ "name": "Tables" })).await.ok();
    assert_eq!(renamed["share"], 3);
}

#[tokio::test]
async fn settings_change_one_by_one_and_take_effect() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let path = format!("/accounts/{}", account.id);
    rig.clock.advance(std::time::Duration::from_secs(1));
    let change =
        json!({ "settings": { "opt_out_line": "Text STOP", "track_links_default": true } });
    let changed = rig.operator().patch(&path, change).await.ok();
    assert_eq!(changed["updated_at"], "2026-11-21T07:07:11.123Z");
    assert_eq!(changed["settings"]["track_links_default"], true);
    assert_eq!(changed["settings"]["quiet_hours_start"], "21:00");
    assert_eq!((&changed["name"], &changed["status"]), (&json!("Bookings"), &json!("active")));
    let request = json!({ "to": "07700 900123", "body": "Sale", "append_opt_out": true });
    let sent = account.live.post("/messages", request).await.created();
    assert_eq!(sent["messages"][0]["body"], "Sale\nText STOP");
    let none = rig.operator().patch(&path, json!({})).await.ok();
    assert_eq!(none["settings"], changed["settings"]);
    let renamed = rig.operator().patch(&path, json!({ "name": "Tables" })).await.ok();
    assert_eq!((&renamed["name"], &renamed["credits"]), (&json!("Tables"), &json!(9)));
}

#[tokio::test]
async fn every_bad_field_is_named() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let settings = json!({
        "quiet_hours_start": "9:00", "quiet_hours_end": "24:00", "track_links_default": "x",
        "opt_out_line": "", "opt_out_line_sender": "x".repeat(161),
    });
    let body = json!({ "name": "", "status": "closed", "credits": -1, "settings": settings });
    let mistakes = rig.operator().post("/accounts", body.clone()).await.mistakes();
    let mut fields: Vec<&str> = mistakes.iter().map(|(field, _)| field.as_str()).collect();
    fields.sort_unstable();
    let of_settings = [
        "settings.opt_out_line",
        "settings.opt_out_line_sender",
        "settings.quiet_hours_end",
        "settings.quiet_hours_start",
        "settings.track_links_default",
    ];
    let mut expected = vec!["credits", "name"];
    expected.extend(of_settings);
    expected.push("status");
    assert_eq!(fields, expected);
    let path = format!("/accounts/{}", account.id);
    let mistakes = rig.operator().patch(&path, body).await.mistakes();
    assert_eq!(mistakes.len(), 7, "credits are no field of a change");
    for name in ["   ", "\u{a0}"] {
        rig.operator().post("/accounts", json!({ "name": name })).await.mistake("name", "empty");
        rig.operator().patch(&path, json!({ "name": name })).await.mistake("name", "empty");
    }
}

#[tokio::test]
async fn accounts_are_listed_newest_first_in_whole_pages() {
    let rig = Rig::new().await;
    for _ in 0..12 {
        rig.account(0).await;
    }
    let all = rig.operator().pages("/accounts", 100).await;
    let ids: Vec<&str> = all.iter().map(|account| account["id"].as_str().unwrap()).collect();
    assert!(ids.len() == 12 && ids.is_sorted_by(|newer, older| newer > older));
    for limit in [1, 5, 12] {
        assert_eq!(rig.operator().pages("/accounts", limit).await, all);
    }
    rig.operator().get("/accounts?limit=0").await.mistake("limit", "out_of_range");
}

#[tokio::test]
async fn an_account_that_does_not_exist_is_404() {
    let rig = Rig::new().await;
    for id in ["x".to_owned(), format!("acc_{}", "0".repeat(26))] {
        let path = format!("/accounts/{id}");
        rig.operator().get(&path).await.refused(404, "not_found");
        rig.operator().patch(&path, json!({ "name": "x" })).await.refused(404, "not_found");
        let below = [("keys", json!({ "kind": "live" })), ("credits", json!({ "amount": 1 }))];
        for (part, body) in below {
            let reply = rig.operator().post(&format!("{path}/{part}"), body).await;
            assert_eq!(reply.refused(404, "not_found"), Value::Null);
        }
        for part in ["keys", "ledger"] {
            rig.operator().get(&format!("{path}/{part}")).await.refused(404, "not_found");
        }
    }
}
