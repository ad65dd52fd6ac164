//! `/templates`: saved messages, and sends that use them.

use std::time::Duration;

use serde_json::{Value, json};

use crate::message_send::keys;
use crate::rig::{Account, Client, Rig};

async fn template(client: &Client, name: &str, body: &str) -> Value {
    client.post("/templates", json!({ "name": name, "body": body })).await.created()
}

fn path(template: &Value) -> String {
    format!("/templates/{}", template["id"].as_str().unwrap())
}

#[tokio::test]
async fn a_template_is_made_and_read_back() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let input = json!({ "name": "Table", "body": "Hello {first_name} 👋", "id": "x", "extra": 1 });
    let reply = account.live.post("/templates", input).await.assert(201);
    assert_eq!(reply.json["meta"], Value::Null);
    let made = &reply.json["data"];
    let expected = json!({
        "id": made["id"],
        "name": "Table",
        "body": "Hello {first_name} 👋",
        "created_at": "2026-11-21T07:07:10.123Z",
        "updated_at": "2026-11-21T07:07:10.123Z",
    });
    assert_eq!((made, keys(made)), (&expected, keys(&expected)));
    assert!(made["id"].as_str().unwrap().starts_with("tpl_"));
    for client in [&account.live, &account.test] {
        assert_eq!(client.get(&path(made)).await.ok(), expected);
    }
}

#[tokio::test]
async fn name_and_body_are_required_and_have_their_limits() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let made = template(&account.live, &"é".repeat(200), &"👋".repeat(1_600)).await;
    let change = json!({ "name": "x".repeat(200), "body": "x".repeat(1_600) });
    account.live.patch(&path(&made), change).await.assert(200);
    let mistakes = async |body: Value| {
        let posted = account.live.post("/templates", body.clone()).await.mistakes();
        let patched = account.live.patch(&path(&made), body).await;
        (posted, patched)
    };
    let named = |code: &str| ["name", "body"].map(|field| (field.to_owned(), code.to_owned()));
    for (body, code) in [
        (json!({ "name": "x".repeat(201), "body": "👋".repeat(1_601) }), "too_long"),
        (json!({ "name": "", "body": "" }), "too_short"),
        (json!({ "name": 5, "body": ["x"] }), "wrong_type"),
        (json!({ "name": "a\u{0}b", "body": "\u{0}" }), "invalid_character"),
    ] {
        let (posted, patched) = mistakes(body).await;
        assert_eq!((posted, patched.mistakes()), (named(code).to_vec(), named(code).to_vec()));
    }
    let (posted, patched) = mistakes(json!({})).await;
    assert_eq!(posted, named("required"));
    patched.assert(200);
    let (posted, patched) = mistakes(json!({ "name": null, "body": null })).await;
    assert_eq!(
        (posted, patched.mistakes()),
        (named("required").to_vec(), named("wrong_type").to_vec())
    );
}

#[tokio::test]
async fn templates_are_listed_newest_first_page_by_page() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let mut made = Vec::new();
    for n in 0..30 {
        made.insert(0, template(&account.live, &format!("{n}"), "x").await);
        rig.clock.advance(Duration::from_millis(n % 2));
    }
    for limit in [1, 7, 30, 100] {
        assert_eq!(account.live.pages("/templates", limit).await, made);
    }
    let page = account.live.get("/templates").await.assert(200);
    assert_eq!(page.json["data"].as_array().unwrap().len(), 25);
    let cursor = page.json["meta"]["next_cursor"].as_str().unwrap().to_owned();
    let newer = template(&account.live, "newer", "x").await;
    account.live.delete(&path(&made[24])).await.assert(204);
    let rest = account.live.get(&format!("/templates?cursor={cursor}")).await.assert(200);
    assert_eq!(rest.json, json!({ "data": made[25..], "meta": { "next_cursor": null } }));
    assert_eq!(account.live.get("/templates?limit=1").await.ok(), json!([newer]));
    for (query, field, code) in [
        ("limit=0", "limit", "out_of_range"),
        ("limit=101", "limit", "out_of_range"),
        ("cursor=x", "cursor", "invalid_format"),
        ("q=", "q", "empty"),
    ] {
        account.live.get(&format!("/templates?{query}")).await.mistake(field, code);
    }
    account.live.get(&format!("/templates?q={}", "x".repeat(200))).await.assert(200);
    account.live.get(&format!("/templates?q={}", "x".repeat(201))).await.mistake("q", "too_long");
}

#[tokio::test]
async fn q_finds_words_in_name_and_body_whatever_their_case() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let table = template(&account.live, "Tisch", "Ihr Platz ist bereit").await;
    let other = template(&account.live, "Other", "Ein TISCH für 2").await;
    template(&account.live, "x", "100%").await;
    for (q, found) in [
        ("tisch", json!([other, table])),
        ("bereit", json!([table])),
        ("F%C3%9CR+2", json!([other])),
        ("nothing", json!([])),
        ("%25+", json!([])),
    ] {
        let reply = account.live.get(&format!("/templates?q={q}")).await.ok();
        if q == "%25+" {
            assert_eq!(reply[0]["body"], "100%", "white space around the words does not count");
        } else {
            assert_eq!(reply, found, "{q}");
        }
    }
    assert_eq!(account.live.pages("/templates?q=tisch", 1).await, [other, table]);
}

#[tokio::test]
async fn a_patch_changes_what_it_names_and_nothing_else() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let mut expected = template(&account.live, "Table", "x").await;
    let at = path(&expected);
    for change in [json!({ "name": "Tisch" }), json!({ "body": "fertig" }), json!({})] {
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
async fn a_deleted_template_is_gone() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let made = template(&account.live, "Table", "x").await;
    account.live.delete(&path(&made)).await.assert(204);
    account.live.delete(&path(&made)).await.refused(404, "not_found");
    account.live.get(&path(&made)).await.refused(404, "not_found");
    account.live.patch(&path(&made), json!({})).await.refused(404, "not_found");
    for id in ["x", "tpl_x", "msg_00000000000000000000000000"] {
        account.live.get(&format!("/templates/{id}")).await.refused(404, "not_found");
    }
    assert_eq!(account.live.get("/templates").await.ok(), json!([]));
}

/// Sends with this template, and gives the answer's data.
async fn send(account: &Account, template: &Value, extra: Value) -> Value {
    let mut request = json!({ "to": "07700 900123", "template_id": template["id"] });
    request.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    let quote = account.live.post("/messages/quote", request.clone()).await.ok();
    let sent = account.live.post("/messages", request).await.assert(201);
    assert_eq!(sent.json["meta"]["credits"], quote["credits"]);
    assert_eq!(sent.json["data"]["messages"][0]["body"], quote["preview"]);
    assert_eq!(sent.json["data"]["messages"][0]["encoding"], quote["encoding"]);
    sent.json["data"].clone()
}

#[tokio::test]
async fn a_template_is_sent_when_the_body_is_empty() {
    let rig = Rig::new().await;
    let account = rig.account(100).await;
    let made = template(&account.live, "Table", "Hello {first_name}from {phone} д").await;
    let rendered = "Hello from +447700900123 д";
    for extra in [json!({}), json!({ "body": "" }), json!({ "body": null })] {
        let sent = send(&account, &made, extra).await;
        assert_eq!(sent["messages"][0]["body"], rendered);
        assert_eq!(sent["messages"][0]["encoding"], "ucs2");
    }
    let own = send(&account, &made, json!({ "body": "own words" })).await;
    assert_eq!(own["messages"][0]["body"], "own words");
    let with_line = send(&account, &made, json!({ "append_opt_out": true })).await;
    let expected = format!("{rendered}\nReply STOP to opt out");
    assert_eq!(with_line["messages"][0]["body"], expected);
    let test = json!({ "to": "07700 900123", "template_id": made["id"] });
    let sent = account.test.post("/messages", test).await.created();
    assert_eq!(sent["messages"][0]["body"], rendered);
}

#[tokio::test]
async fn a_quote_without_recipients_shows_the_encoding_of_the_template() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let made = template(&account.live, "Table", "д").await;
    let request = json!({ "to": "nobody", "template_id": made["id"] });
    let quote = account.live.post("/messages/quote", request).await.ok();
    assert_eq!(quote["encoding"], "ucs2");
}

#[tokio::test]
async fn what_a_template_makes_obeys_the_limits_of_a_message() {
    let rig = Rig::new().await;
    let account = rig.account(100).await;
    for (body, reason) in [
        (" \n".to_owned(), "empty_body"),
        ("{first_name}".to_owned(), "empty_body"),
        ("д".repeat(701), "too_long"),
    ] {
        let made = template(&account.live, "x", &body).await;
        let request = json!({ "to": "07700 900123", "template_id": made["id"] });
        let sent = account.live.post("/messages", request).await.created();
        let rejected = json!([{ "to": "+447700900123", "reason": reason }]);
        assert_eq!((&sent["messages"], &sent["rejected"]), (&json!([]), &rejected));
    }
    let longest = template(&account.live, "x", &"a".repeat(1_600)).await;
    assert_eq!(send(&account, &longest, json!({})).await["messages"][0]["segments"], 11);
}

#[tokio::test]
async fn a_template_that_is_not_there_is_404_and_says_which() {
    let rig = Rig::new().await;
    let (account, other) = (rig.account(10).await, rig.account(10).await);
    let theirs = template(&other.live, "x", "x").await;
    let deleted = template(&account.live, "x", "x").await;
    account.live.delete(&path(&deleted)).await.assert(204);
    for id in [&theirs["id"], &deleted["id"], &json!("x")] {
        for body in ["", "own words"] {
            let request = json!({ "to": "07700 900123", "body": body, "template_id": id });
            for at in ["/messages", "/messages/quote"] {
                let reply = account.live.post(at, request.clone()).await;
                let details = reply.refused(404, "not_found");
                assert_eq!(details, json!({ "resource": "template", "id": id }));
            }
        }
    }
    assert_eq!(account.balance().await, 10);
}

#[tokio::test]
async fn a_retry_is_answered_whatever_became_of_the_template_since() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let made = template(&account.live, "x", "first words").await;
    let request = json!({ "to": "07700 900123", "template_id": made["id"] });
    let ask = async |request: &Value| {
        let ask = account.live.ask(poem::http::Method::POST, "/messages").json(request);
        ask.header("Idempotency-Key", "k").send().await
    };
    let first = ask(&request).await.created();
    account.live.patch(&path(&made), json!({ "body": "other words" })).await.assert(200);
    assert_eq!(ask(&request).await.ok(), first, "the request means the same");
    account.live.delete(&path(&made)).await.assert(204);
    assert_eq!(ask(&request).await.ok(), first);
    let spelt_out = json!({ "to": "07700 900123", "body": "first words" });
    ask(&spelt_out).await.refused(409, "idempotency_conflict");
    assert_eq!(account.balance().await, 9);
}
