//! `GET /balance`.

use serde_json::{Value, json};

use crate::rig::Rig;

#[tokio::test]
async fn the_balance_is_what_is_left_and_says_whether_the_account_may_send() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    account.send("07700 900123", &"a".repeat(161)).await;
    for client in [&account.live, &account.test] {
        let reply = client.get("/balance").await.assert(200);
        let expected = json!({ "credits": 8, "account_status": "active" });
        assert_eq!((&reply.json["data"], &reply.json["meta"]), (&expected, &Value::Null));
    }
    for status in ["pending", "suspended", "active"] {
        let path = format!("/accounts/{}", account.id);
        rig.operator().patch(&path, json!({ "status": status })).await.assert(200);
        assert_eq!(account.live.get("/balance").await.ok()["account_status"], status);
    }
}

#[tokio::test]
async fn the_balance_is_the_sum_of_the_ledger_whatever_happened() {
    let rig = Rig::new().await;
    let account = rig.account(20).await;
    account.send(json!(["07700 900123", "07700 900901", "bad"]), "x").await;
    let cancelled = account.send("07700 900124", &"a".repeat(161)).await;
    let id = cancelled["messages"][0]["id"].as_str().unwrap();
    account.live.call(&format!("/messages/{id}/cancel")).await.assert(200);
    let credits = format!("/accounts/{}/credits", account.id);
    rig.operator().post(&credits, json!({ "amount": -5, "note": "correction" })).await.assert(200);
    rig.pass(5).await;
    let ledger = rig.operator().pages(&format!("/accounts/{}/ledger", account.id), 3).await;
    let sum: i64 = ledger.iter().map(|entry| entry["amount"].as_i64().unwrap()).sum();
    assert_eq!(sum, i64::try_from(account.balance().await).unwrap());
    assert_eq!(ledger[0]["balance_after"], sum);
}
