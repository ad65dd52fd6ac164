//! `/admin/v1/sender-ids`: the review of sender names.

use std::time::Duration;

use serde_json::{Value, json};

use crate::message_send::keys;
use crate::rig::Rig;
use crate::sender_name::{ask, decide};

fn path(name: &Value, decision: &str) -> String {
    format!("/sender-ids/{}/{decision}", name["id"].as_str().unwrap())
}

#[tokio::test]
async fn a_decision_is_shown_with_its_reason_and_its_time() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let name = ask(&account, "Bistro").await;
    rig.clock.advance(Duration::from_secs(1));
    let body = json!({ "reason": "Looks like a bank" });
    let rejected = rig.operator().post(&path(&name, "reject"), body).await.ok();
    let expected = json!({
        "account_id": account.id.to_string(),
        "id": name["id"],
        "value": "Bistro",
        "purpose": null,
        "status": "rejected",
        "reason": "Looks like a bank",
        "created_at": "2026-11-21T07:07:10.123Z",
        "reviewed_at": "2026-11-21T07:07:11.123Z",
    });
    assert_eq!((&rejected, keys(&rejected)), (&expected, keys(&expected)));
    let own = account.live.get("/sender-ids").await.ok();
    assert_eq!((&own[0]["status"], &own[0]["reason"]), (&json!("rejected"), &expected["reason"]));
    assert_eq!(own[0].get("account_id"), None);
}

#[tokio::test]
async fn a_decision_needs_no_body_and_the_last_one_counts() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let name = ask(&account, "Bistro").await;
    for (decision, status) in [
        ("approve", "approved"),
        ("approve", "approved"),
        ("reject", "rejected"),
        ("reject", "rejected"),
        ("approve", "approved"),
    ] {
        let decided = decide(&rig, &name, decision).await;
        assert_eq!((&decided["status"], &decided["reason"]), (&json!(status), &Value::Null));
        assert_eq!(account.live.get("/sender-ids").await.ok()[0]["status"], status);
    }
    for body in [json!({}), json!({ "reason": null })] {
        rig.operator().post(&path(&name, "reject"), body).await.assert(200);
    }
    let longest = json!({ "reason": "é".repeat(500) });
    rig.operator().post(&path(&name, "approve"), longest).await.assert(200);
    for decision in ["approve", "reject"] {
        let post = async |body| rig.operator().post(&path(&name, decision), body).await;
        post(json!({ "reason": "é".repeat(501) })).await.mistake("reason", "too_long");
        post(json!({ "reason": 5 })).await.mistake("reason", "wrong_type");
        post(json!([])).await.mistake("", "wrong_type");
    }
}

#[tokio::test]
async fn a_rejected_name_that_was_asked_for_again_is_not_approved() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let first = ask(&account, "Bistro").await;
    decide(&rig, &first, "reject").await;
    let again = ask(&account, "bistro").await;
    let approve = rig.operator().call(&path(&first, "approve")).await;
    approve.refused(409, "sender_exists");
    decide(&rig, &first, "reject").await;
    assert_eq!(decide(&rig, &again, "approve").await["value"], "bistro");
}

#[tokio::test]
async fn a_name_that_is_not_there_is_404() {
    let rig = Rig::new().await;
    for id in ["x", "snd_00000000000000000000000000", "acc_00000000000000000000000000"] {
        for decision in ["approve", "reject"] {
            let path = format!("/sender-ids/{id}/{decision}");
            rig.operator().call(&path).await.refused(404, "not_found");
        }
    }
}

#[tokio::test]
async fn the_names_of_all_accounts_are_listed_newest_first_also_by_status() {
    let rig = Rig::new().await;
    let accounts = [rig.account(0).await, rig.account(0).await];
    let mut ids = Vec::new();
    for n in 0..9 {
        let account = &accounts[n % 2];
        let name = ask(account, &format!("Till {n}")).await;
        let decision = [None, Some("approve"), Some("reject")][n % 3];
        if let Some(decision) = decision {
            decide(&rig, &name, decision).await;
        }
        let status = ["pending", "approved", "rejected"][n % 3];
        ids.insert(0, (name["id"].clone(), status, json!(account.id.to_string())));
        rig.clock.advance(Duration::from_millis(1));
    }
    for filter in [None, Some("pending"), Some("approved"), Some("rejected")] {
        let path = filter.map_or("/sender-ids".to_owned(), |s| format!("/sender-ids?status={s}"));
        for limit in [1, 2, 9, 100] {
            let listed = rig.operator().pages(&path, limit).await;
            let shown = listed.iter().map(|name| {
                let status = name["status"].as_str().unwrap();
                (name["id"].clone(), status, name["account_id"].clone())
            });
            let wanted =
                |(_, status, _): &&(Value, &str, Value)| filter.is_none_or(|f| f == *status);
            let expected: Vec<_> = ids.iter().filter(wanted).cloned().collect();
            assert_eq!(shown.collect::<Vec<_>>(), expected, "{path}");
        }
    }
    let page = rig.operator().get("/sender-ids?limit=4").await.assert(200);
    let cursor = page.json["meta"]["next_cursor"].as_str().unwrap().to_owned();
    ask(&accounts[0], "Newer").await;
    let rest = rig.operator().get(&format!("/sender-ids?cursor={cursor}")).await.ok();
    let rest: Vec<&Value> = rest.as_array().unwrap().iter().map(|name| &name["id"]).collect();
    assert_eq!(rest, ids[4..].iter().map(|(id, _, _)| id).collect::<Vec<_>>());
    for (query, field, code) in [
        ("status=live", "status", "unknown_value"),
        ("limit=0", "limit", "out_of_range"),
        ("limit=101", "limit", "out_of_range"),
        ("cursor=x", "cursor", "invalid_format"),
    ] {
        rig.operator().get(&format!("/sender-ids?{query}")).await.mistake(field, code);
    }
}
