//! `/campaigns`: drafts. Launching and cancelling are in [`crate::campaign_send`].

use std::time::Duration;

use serde_json::{Value, json};

use crate::described::accepts;
use crate::message_send::keys;
use crate::rig::{Account, Client, Rig};
use crate::sender_name::{ask, decide};

/// A list with these numbers on it.
pub(crate) async fn list_of(account: &Account, phones: &[String]) -> Value {
    let list = account.live.post("/lists", json!({ "name": "Regulars" })).await.created();
    let id = list["id"].as_str().unwrap();
    for phones in phones.chunks(1_000) {
        let joining = json!({ "phones": phones });
        account.live.post(&format!("/lists/{id}/contacts"), joining).await.assert(200);
    }
    list["id"].clone()
}

/// A draft to a list, with more fields.
pub(crate) async fn draft(client: &Client, list: &Value, extra: Value) -> Value {
    let mut input = json!({ "name": "Spring", "body": "The menu is here", "list_id": list });
    input.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    client.post("/campaigns", input).await.created()
}

pub(crate) fn path(campaign: &Value) -> String {
    format!("/campaigns/{}", campaign["id"].as_str().unwrap())
}

/// What a draft shows.
fn expected_draft(made: &Value, list: &Value) -> Value {
    json!({
        "id": made["id"],
        "name": "Spring",
        "body": "The menu is here",
        "list_id": list,
        "sender": null,
        "append_opt_out": false,
        "track_links": false,
        "ignore_quiet_hours": false,
        "status": "draft",
        "scheduled_at": null,
        "launched_at": null,
        "completed_at": null,
        "cancelled_at": null,
        "recipients": 0,
        "rejected": 0,
        "credits": 0,
        "counts": { "scheduled": 0, "queued": 0, "sending": 0, "sent": 0, "delivered": 0,
                    "undelivered": 0, "failed": 0, "cancelled": 0 },
        "links": { "track_links": false, "links": 0, "clicks": 0, "unique_clicked": 0 },
        "created_at": "2026-11-21T07:07:10.123Z",
        "updated_at": "2026-11-21T07:07:10.123Z",
    })
}

#[tokio::test]
async fn a_campaign_is_made_as_a_draft_and_read_back() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let list = list_of(&account, &[]).await;
    let input = json!({ "name": "Spring", "body": "The menu is here", "list_id": list,
                        "status": "sent", "extra": 1 });
    let reply = account.live.post("/campaigns", input).await.assert(201);
    assert_eq!(reply.json["meta"], Value::Null);
    let made = &reply.json["data"];
    let expected = expected_draft(made, &list);
    assert_eq!((made, keys(made)), (&expected, keys(&expected)));
    assert!(made["id"].as_str().unwrap().starts_with("cmp_"));
    for client in [&account.live, &account.test] {
        assert_eq!(client.get(&path(made)).await.ok(), expected);
    }
    let extra = json!({ "append_opt_out": true, "track_links": true, "ignore_quiet_hours": true });
    let made = draft(&account.test, &list, extra).await;
    for field in ["append_opt_out", "track_links", "ignore_quiet_hours"] {
        assert_eq!(made[field], true, "{field}");
    }
    assert_eq!(made["links"]["track_links"], true);
}

#[tokio::test]
async fn track_links_is_the_accounts_setting_unless_given() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let list = list_of(&account, &[]).await;
    let settings = json!({ "settings": { "track_links_default": true } });
    rig.operator().patch(&format!("/accounts/{}", account.id), settings).await.assert(200);
    for (extra, tracked) in [
        (json!({}), true),
        (json!({ "track_links": null }), true),
        (json!({ "track_links": false }), false),
    ] {
        assert_eq!(draft(&account.live, &list, extra).await["track_links"], tracked);
    }
}

#[tokio::test]
async fn fields_are_required_and_have_their_limits() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let list = list_of(&account, &[]).await;
    let document = &rig.documents().api;
    let made =
        draft(&account.live, &list, json!({ "name": "é".repeat(200), "body": "👋".repeat(1_600) }))
            .await;
    let change = json!({ "name": "x".repeat(200), "body": "x".repeat(1_600) });
    account.live.patch(&path(&made), change).await.assert(200);
    let both = |code: &str| ["name", "body"].map(|field| (field.to_owned(), code.to_owned()));
    for (name, body, code) in [
        (json!("x".repeat(201)), json!("👋".repeat(1_601)), "too_long"),
        (json!(""), json!(""), "too_short"),
        (json!(5), json!(["x"]), "wrong_type"),
        (json!("a\u{0}b"), json!("\u{0}"), "invalid_character"),
    ] {
        let input = json!({ "name": name, "body": body, "list_id": list });
        assert_eq!(account.live.post("/campaigns", input.clone()).await.mistakes(), both(code));
        assert_eq!(account.live.patch(&path(&made), input.clone()).await.mistakes(), both(code));
        let schema = json!({ "$ref": "#/components/schemas/CampaignInput" });
        let described = accepts(document, &schema, &input);
        assert!(!described || code == "invalid_character", "{input}");
    }
    let mistakes = account.live.post("/campaigns", json!({})).await.mistakes();
    let required =
        ["name", "body", "list_id"].map(|field| (field.to_owned(), "required".to_owned()));
    assert_eq!(mistakes, required);
    let wrong = json!({ "list_id": 5, "sender": 5, "append_opt_out": "no", "track_links": 1,
                        "ignore_quiet_hours": null, "name": null });
    let named: Vec<String> = account
        .live
        .patch(&path(&made), wrong)
        .await
        .mistakes()
        .into_iter()
        .map(|(field, code)| {
            assert_eq!(code, "wrong_type");
            field
        })
        .collect();
    let all = ["name", "list_id", "sender", "append_opt_out", "track_links", "ignore_quiet_hours"];
    assert_eq!(named, all);
}

#[tokio::test]
async fn campaigns_are_listed_newest_first_page_by_page() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let list = list_of(&account, &[]).await;
    let mut made = Vec::new();
    for n in 0..30 {
        made.insert(0, draft(&account.live, &list, json!({ "name": format!("{n}") })).await);
        rig.clock.advance(Duration::from_millis(n % 2));
    }
    for limit in [1, 7, 30, 100] {
        assert_eq!(account.live.pages("/campaigns", limit).await, made);
    }
    let page = account.live.get("/campaigns").await.assert(200);
    assert_eq!(page.json["data"].as_array().unwrap().len(), 25);
    let cursor = page.json["meta"]["next_cursor"].as_str().unwrap().to_owned();
    let newer = draft(&account.live, &list, json!({})).await;
    account.live.delete(&path(&made[24])).await.assert(204);
    let rest = account.live.get(&format!("/campaigns?cursor={cursor}")).await.assert(200);
    assert_eq!(rest.json, json!({ "data": made[25..], "meta": { "next_cursor": null } }));
    assert_eq!(account.live.get("/campaigns?limit=1").await.ok(), json!([newer]));
    for (query, field, code) in [
        ("limit=0", "limit", "out_of_range"),
        ("limit=101", "limit", "out_of_range"),
        ("cursor=x", "cursor", "invalid_format"),
    ] {
        account.live.get(&format!("/campaigns?{query}")).await.mistake(field, code);
    }
}

#[tokio::test]
async fn a_patch_changes_what_it_names_and_nothing_else() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let (list, other) = (list_of(&account, &[]).await, list_of(&account, &[]).await);
    let name = ask(&account, "Bistro").await;
    decide(&rig, &name, "approve").await;
    let mut expected = draft(&account.live, &list, json!({})).await;
    let at = path(&expected);
    for change in [
        json!({ "name": "Summer" }),
        json!({ "body": "New words" }),
        json!({ "list_id": other }),
        json!({ "sender": "Bistro" }),
        json!({ "append_opt_out": true }),
        json!({ "ignore_quiet_hours": true }),
        json!({ "sender": null }),
        json!({}),
    ] {
        rig.clock.advance(Duration::from_secs(1));
        for (field, value) in change.as_object().unwrap() {
            expected[field] = value.clone();
        }
        let after = account.live.patch(&at, change.clone()).await.ok();
        assert!(after["updated_at"].as_str() > expected["updated_at"].as_str());
        expected["updated_at"] = after["updated_at"].clone();
        assert_eq!(after, expected, "{change}");
        assert_eq!(account.live.get(&at).await.ok(), expected);
    }
}

#[tokio::test]
async fn a_sender_is_approved_where_it_is_named() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let list = list_of(&account, &[]).await;
    let name = ask(&account, "Bistro").await;
    let with =
        |sender: &str| json!({ "name": "Spring", "body": "x", "list_id": list, "sender": sender });
    account.live.post("/campaigns", with("Bistro")).await.refused(422, "sender_not_approved");
    decide(&rig, &name, "approve").await;
    let made = account.live.post("/campaigns", with("BISTRO")).await.created();
    assert_eq!(made["sender"], "Bistro", "as it was approved");
    account
        .live
        .patch(&path(&made), json!({ "sender": "Till" }))
        .await
        .refused(422, "sender_not_approved");
    decide(&rig, &name, "reject").await;
    let renamed = account.live.patch(&path(&made), json!({ "name": "Summer" })).await.ok();
    assert_eq!(renamed["sender"], "Bistro", "a change that does not name it is not refused");
    let again = json!({ "sender": "Bistro" });
    account.live.patch(&path(&made), again).await.refused(422, "sender_not_approved");
}

#[tokio::test]
async fn a_list_that_is_not_there_is_404_and_says_which() {
    let rig = Rig::new().await;
    let (account, other) = (rig.account(0).await, rig.account(0).await);
    let (list, theirs) = (list_of(&account, &[]).await, list_of(&other, &[]).await);
    let made = draft(&account.live, &list, json!({})).await;
    for id in [&theirs, &json!("lst_x"), &json!("lst_00000000000000000000000000")] {
        let expected = json!({ "resource": "list", "id": id });
        let input = json!({ "name": "Spring", "body": "x", "list_id": id });
        let posted = account.live.post("/campaigns", input).await;
        assert_eq!(posted.refused(404, "not_found"), expected);
        let patched = account.live.patch(&path(&made), json!({ "list_id": id })).await;
        assert_eq!(patched.refused(404, "not_found"), expected);
        // After the fields are right.
        let wrong = json!({ "name": "", "body": "x", "list_id": id });
        account.live.post("/campaigns", wrong).await.mistake("name", "too_short");
    }
}

#[tokio::test]
async fn a_deleted_draft_is_gone() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let list = list_of(&account, &[]).await;
    let made = draft(&account.live, &list, json!({})).await;
    account.live.delete(&path(&made)).await.assert(204);
    account.live.delete(&path(&made)).await.refused(404, "not_found");
    account.live.get(&path(&made)).await.refused(404, "not_found");
    account.live.patch(&path(&made), json!({})).await.refused(404, "not_found");
    for action in ["send", "cancel"] {
        let at = format!("{}/{action}", path(&made));
        account.live.call(&at).await.refused(404, "not_found");
    }
    for id in ["x", "cmp_x", "msg_00000000000000000000000000"] {
        account.live.get(&format!("/campaigns/{id}")).await.refused(404, "not_found");
        account.live.call(&format!("/campaigns/{id}/send")).await.refused(404, "not_found");
    }
    assert_eq!(account.live.get("/campaigns").await.ok(), json!([]));
}
