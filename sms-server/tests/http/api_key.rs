//! `GET /api-keys`: the keys of an account, as its own programs and people see them.

use std::time::Duration;

use serde_json::{Value, json};
use sms_core::account::Mode;

use crate::message_send::keys;
use crate::rig::Rig;

#[tokio::test]
async fn an_account_sees_its_keys_newest_first_and_when_each_was_last_used() {
    let rig = Rig::new().await;
    let (account, other) = (rig.account(10).await, rig.account(10).await);
    let of_operator = format!("/accounts/{}/keys", account.id);
    let made = rig
        .operator()
        .post(&of_operator, json!({ "kind": "live", "name": "till 3" }))
        .await
        .created();
    let key = made["key"].as_str().unwrap();
    let till = rig.client(Some(key));
    rig.clock.advance(Duration::from_mins(5));
    till.get("/balance").await.assert(200);
    let expected = json!({
        "id": made["id"],
        "kind": "live",
        "name": "till 3",
        "prefix": "cc_live_",
        "last_four": key[key.len() - 4..],
        "created_at": "2026-11-21T07:07:10.123Z",
        "last_used_at": "2026-11-21T07:12:10.123Z",
        "revoked_at": null,
    });
    for client in [&account.live, &account.test] {
        let listed = client.get("/api-keys").await.assert(200);
        assert!(!listed.text().contains(key));
        let data = &listed.json["data"];
        assert_eq!((&data[0], &listed.json["meta"]), (&expected, &Value::Null));
        assert_eq!(keys(&data[0]), keys(&expected));
        assert_eq!(data.as_array().unwrap().len(), 3);
        assert!(!listed.text().contains(&other.id.to_string()));
    }
    assert_eq!(other.live.get("/api-keys").await.ok().as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_revoked_key_stays_in_the_list() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    rig.key(account.id, Mode::Test).await;
    let id = account.live.get("/api-keys").await.ok()[0]["id"].as_str().unwrap().to_owned();
    let path = format!("/accounts/{}/keys/{id}", account.id);
    rig.operator().delete(&path).await.assert(204);
    let newest = account.live.get("/api-keys").await.ok()[0].take();
    assert_eq!(newest["id"], json!(id));
    assert_eq!(newest["revoked_at"], "2026-11-21T07:07:10.123Z");
}
