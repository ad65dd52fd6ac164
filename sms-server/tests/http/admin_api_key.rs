//! `/admin/v1/accounts/{id}/keys`: making, listing and revoking keys.

use serde_json::{Value, json};

use crate::message_send::keys;
use crate::rig::Rig;

#[tokio::test]
async fn a_key_is_shown_once_and_works_at_once() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let path = format!("/accounts/{}/keys", account.id);
    for kind in ["live", "test"] {
        let input = json!({ "kind": kind, "name": "till 3" });
        let reply = rig.operator().post(&path, input).await.assert(201);
        let made = &reply.json["data"];
        let key = made["key"].as_str().unwrap();
        let prefix = format!("cc_{kind}_");
        let rest = key.strip_prefix(&prefix).unwrap();
        assert!(rest.len() == 38 && rest.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        let expected = json!({
            "id": made["id"],
            "kind": kind,
            "name": "till 3",
            "prefix": prefix,
            "last_four": key[key.len() - 4..],
            "created_at": "2026-11-21T07:07:10.123Z",
            "last_used_at": null,
            "revoked_at": null,
            "key": key,
        });
        assert_eq!(*made, expected);
        assert_eq!(keys(made), keys(&expected));
        assert!(made["id"].as_str().unwrap().starts_with("key_"));
        let sends = json!({ "to": "07700 900123", "body": "x" });
        let sent = rig.client(Some(key)).post("/messages", sends).await.assert(201);
        assert_eq!(sent.json["meta"]["test"], kind == "test");
        let listed = rig.operator().get(&path).await.assert(200);
        assert!(!listed.text().contains(key));
        assert_eq!(listed.json["meta"], Value::Null);
        assert_eq!(listed.json["data"][0]["id"], made["id"], "newest first");
    }
    assert_eq!(rig.operator().get(&path).await.ok().as_array().unwrap().len(), 4);
}

#[tokio::test]
async fn a_name_is_optional_and_the_kind_is_not() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let path = format!("/accounts/{}/keys", account.id);
    let made = rig.operator().post(&path, json!({ "kind": "live" })).await.created();
    assert_eq!(made["name"], Value::Null);
    rig.operator().post(&path, json!({})).await.mistake("kind", "required");
    rig.operator().post(&path, json!({ "kind": "cc_live" })).await.mistake("kind", "unknown_value");
    let long = json!({ "kind": "live", "name": "x".repeat(201) });
    rig.operator().post(&path, long).await.mistake("name", "too_long");
}

#[tokio::test]
async fn a_key_that_does_not_exist_cannot_be_revoked() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    for key in ["x".to_owned(), format!("key_{}", "0".repeat(26))] {
        let path = format!("/accounts/{}/keys/{key}", account.id);
        rig.operator().delete(&path).await.refused(404, "not_found");
    }
}
