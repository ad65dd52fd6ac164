//! Tracked links: sends that make them, `/links`, and what a quote says of them.

use std::time::Duration;

use poem::http::Method;
use serde_json::{Value, json};

use crate::message_send::{keys, numbers};
use crate::rig::{Account, Rig};

pub(crate) const BASE: &str = "https://sms.example.com/l/";

const FIELDS: [&str; 11] = [
    "id",
    "code",
    "short_url",
    "url",
    "message_id",
    "campaign_id",
    "contact_number",
    "clicks",
    "first_clicked_at",
    "last_clicked_at",
    "created_at",
];

fn request(to: impl Into<Value>, body: &str) -> Value {
    json!({ "to": to.into(), "body": body, "track_links": true })
}

/// Sends a message with one tracked link to one recipient; returns the link.
pub(crate) async fn link(account: &Account, url: &str) -> Value {
    let sent = account.live.post("/messages", request("07700 900904", url)).await.created();
    let message = sent["messages"][0]["id"].as_str().unwrap().to_owned();
    account.live.get(&format!("/links?message_id={message}")).await.ok()[0].take()
}

fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value[field].as_str().unwrap()
}

#[tokio::test]
async fn each_url_becomes_a_short_one_for_each_recipient() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let body = "Menu: HTTPS://example.com/menu. Map: http://example.com/map, \
                https://example.com/x! Menu again: HTTPS://example.com/menu";
    let to = json!(["07700 900123", "07700 900124"]);
    let sent = account.live.post("/messages", request(to, body)).await.created();
    let links = account.live.get("/links").await.ok();
    assert_eq!(links.as_array().unwrap().len(), 6, "three for each of two");
    for message in sent["messages"].as_array().unwrap() {
        let path = format!("/links?message_id={}", text(message, "id"));
        let mut own = account.live.get(&path).await.ok();
        let own = own.as_array_mut().unwrap();
        own.reverse();
        let urls: Vec<&str> = own.iter().map(|link| text(link, "url")).collect();
        let expected =
            ["HTTPS://example.com/menu", "http://example.com/map", "https://example.com/x"];
        assert_eq!(urls, expected);
        let short: Vec<&str> = own.iter().map(|link| text(link, "short_url")).collect();
        let expected =
            format!("Menu: {0}. Map: {1}, {2}! Menu again: {0}", short[0], short[1], short[2]);
        assert_eq!(text(message, "body"), expected);
        for link in own {
            assert_eq!(keys(link), FIELDS);
            let code = text(link, "code");
            assert_eq!(text(link, "short_url"), format!("{BASE}{code}"));
            assert!(code.len() == 10 && code.bytes().all(|byte| byte.is_ascii_alphanumeric()));
            assert!(text(link, "id").starts_with("lnk_"));
            assert_eq!(link["message_id"], message["id"]);
            assert_eq!(link["contact_number"], message["to"]);
            assert_eq!(link["created_at"], "2026-11-21T07:07:10.123Z");
            assert_eq!((&link["clicks"], &link["campaign_id"]), (&json!(0), &Value::Null));
            assert_eq!(
                (&link["first_clicked_at"], &link["last_clicked_at"]),
                (&Value::Null, &Value::Null)
            );
            let path = format!("/links/{}", text(link, "id"));
            for client in [&account.live, &account.test] {
                assert_eq!(client.get(&path).await.ok(), *link);
            }
        }
    }
    rig.pass(5).await;
    let shown = account.live.get("/messages").await.ok();
    assert!(!shown.to_string().contains("example.com/menu"), "the text that left is the short one");
}

#[tokio::test]
async fn urls_of_merge_fields_are_shortened_and_the_opt_out_line_is_left_alone() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let line = json!({ "settings": { "opt_out_line": "Stop: https://example.com/stop" } });
    rig.operator().patch(&format!("/accounts/{}", account.id), line).await.assert(200);
    let person =
        json!({ "phone": "07700 900123", "custom": { "page": "https://example.com/ann" } });
    account.live.post("/contacts", person).await.assert(201);
    let mut request = request("07700 900123", "Yours: {page}?p={phone}.");
    request["append_opt_out"] = json!(true);
    let sent = account.live.post("/messages", request).await.created();
    let link = account.live.get("/links").await.ok()[0].take();
    assert_eq!(link["url"], "https://example.com/ann?p=+447700900123");
    let expected = format!("Yours: {}.\nStop: https://example.com/stop", text(&link, "short_url"));
    assert_eq!(sent["messages"][0]["body"], expected);
}

#[tokio::test]
async fn a_quote_of_tracked_links_is_what_the_send_then_takes() {
    let rig = Rig::new().await;
    let account = rig.account(100_000).await;
    let long = format!("https://example.com/{}", "a".repeat(300));
    for (to, body) in [
        (json!("07700 900123"), format!("Book: {long}")),
        (json!(numbers(20)), format!("{long} {long}b")),
        (json!("07700 900123"), format!("д {long}")),
        (json!("07700 900123"), format!("{}{long}", "a ".repeat(60))),
        (json!("07700 900123"), format!("{}http://a.b", "a ".repeat(75))),
        (json!("07700 900123"), format!("{}{long}", "a ".repeat(640))),
        (json!("07700 900123"), format!("{}http://a.b", "a ".repeat(785))),
        (json!("07700 900123"), format!("{}{long}", "д ".repeat(332))),
        (json!("07700 900123"), "no link at all".to_owned()),
    ] {
        let request = request(to, &body);
        let quote = account.live.post("/messages/quote", request.clone()).await.ok();
        let before = account.balance().await;
        let sent = account.live.post("/messages", request).await.assert(201);
        assert_eq!(sent.json["meta"]["credits"], quote["credits"], "{body}");
        assert_eq!(sent.json["data"]["rejected"], quote["rejected"]);
        let messages = sent.json["data"]["messages"].as_array().unwrap();
        assert_eq!(json!(messages.len()), quote["recipients"]);
        if let Some(first) = messages.first() {
            assert_eq!(first["encoding"], quote["encoding"]);
            let (shown, preview) = (text(first, "body"), text(&quote, "preview"));
            assert_eq!(shown.len(), preview.len());
            let same = |text: &str| text.split(BASE).next().unwrap().to_owned();
            assert_eq!(same(shown), same(preview));
        }
        assert_eq!(account.balance().await, before - quote["credits"].as_u64().unwrap());
    }
    let preview = account.live.post("/messages/quote", request("07700 900123", &long)).await.ok();
    assert_eq!(preview["preview"], format!("{BASE}xxxxxxxxxx"));
    assert_eq!(preview["credits"], 1);
}

#[tokio::test]
async fn a_quote_makes_no_links() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let request = request("07700 900123", "https://example.com/menu");
    account.live.post("/messages/quote", request).await.assert(200);
    assert_eq!(account.live.get("/links").await.ok(), json!([]));
}

#[tokio::test]
async fn a_test_key_sends_and_quotes_the_long_text() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let body = format!("https://example.com/{}", "a".repeat(200));
    let request = request("07700 900123", &body);
    let quote = account.test.post("/messages/quote", request.clone()).await.ok();
    assert_eq!((&quote["credits"], &quote["preview"]), (&json!(2), &json!(body)));
    let sent = account.test.post("/messages", request.clone()).await.created();
    assert_eq!(sent["messages"][0]["body"], body);
    assert_eq!(sent["messages"][0]["segments"], 2);
    assert_eq!(account.live.get("/links").await.ok(), json!([]));
    let quote = account.live.post("/messages/quote", request).await.ok();
    assert_eq!(quote["credits"], 1, "a live send is the short text");
}

#[tokio::test]
async fn without_track_links_a_message_stays_as_it_is() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    for track_links in [json!(false), Value::Null] {
        let mut request = request("07700 900123", "https://example.com/menu");
        request["track_links"] = track_links;
        let sent = account.live.post("/messages", request).await.created();
        assert_eq!(sent["messages"][0]["body"], "https://example.com/menu");
    }
    assert_eq!(account.live.get("/links").await.ok(), json!([]));
}

#[tokio::test]
async fn a_retry_shows_the_same_short_urls_and_makes_no_others() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let ask = async || {
        let ask = account.live.ask(Method::POST, "/messages");
        let ask = ask.json(&request("07700 900123", "https://example.com/menu"));
        ask.header("Idempotency-Key", "k").send().await
    };
    let first = ask().await.created();
    assert_eq!(ask().await.ok(), first);
    assert_eq!(account.live.get("/links").await.ok().as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn links_are_listed_newest_first_page_by_page_and_by_message_and_campaign() {
    let rig = Rig::new().await;
    let account = rig.account(100).await;
    let mut made = Vec::new();
    for n in 0..30 {
        made.insert(0, link(&account, &format!("https://example.com/{n}")).await);
        rig.clock.advance(Duration::from_millis(n % 2));
    }
    for limit in [1, 7, 30, 100] {
        assert_eq!(account.live.pages("/links", limit).await, made);
    }
    let page = account.live.get("/links").await.assert(200);
    assert_eq!(page.json["data"].as_array().unwrap().len(), 25);
    let cursor = page.json["meta"]["next_cursor"].as_str().unwrap().to_owned();
    let newer = link(&account, "https://example.com/newer").await;
    let rest = account.live.get(&format!("/links?cursor={cursor}")).await.assert(200);
    assert_eq!(rest.json, json!({ "data": made[25..], "meta": { "next_cursor": null } }));
    assert_eq!(account.live.get("/links?limit=1").await.ok(), json!([newer]));
    let message = text(&made[3], "message_id");
    let campaign = format!("cmp_{}", "0".repeat(26));
    for (query, found) in [
        (format!("message_id={message}"), json!([made[3]])),
        (format!("message_id={message}&campaign_id={campaign}"), json!([])),
        (format!("campaign_id={campaign}"), json!([])),
        (format!("message_id=msg_{}", "0".repeat(26)), json!([])),
        ("message_id=x".to_owned(), json!([])),
        (format!("campaign_id={message}"), json!([])),
    ] {
        assert_eq!(account.live.get(&format!("/links?{query}")).await.ok(), found, "{query}");
    }
    for (query, field, code) in [
        ("limit=0", "limit", "out_of_range"),
        ("limit=101", "limit", "out_of_range"),
        ("cursor=x", "cursor", "invalid_format"),
        ("message_id=", "message_id", "empty"),
        ("campaign_id=", "campaign_id", "empty"),
    ] {
        account.live.get(&format!("/links?{query}")).await.mistake(field, code);
    }
}

#[tokio::test]
async fn a_link_that_is_not_there_is_404() {
    let rig = Rig::new().await;
    let (account, other) = (rig.account(10).await, rig.account(10).await);
    let theirs = link(&other, "https://example.com/menu").await;
    let nobodys = format!("lnk_{}", "0".repeat(26));
    for id in [text(&theirs, "id"), &nobodys, "x", "lnk_x", text(&theirs, "code")] {
        account.live.get(&format!("/links/{id}")).await.refused(404, "not_found");
    }
}
