//! `GET /l/{code}`: following a short URL.

use std::collections::{BTreeMap, BTreeSet};

use poem::http::Method;
use serde_json::{Value, json};

use crate::link::link;
use crate::message_send::keys;
use crate::rig::{Account, Reply, Rig};
use crate::webhook::endpoint;

fn path(link: &Value) -> String {
    format!("/l/{}", link["code"].as_str().unwrap())
}

async fn get(rig: &Rig, path: &str) -> Reply {
    rig.client(None).ask_at(Method::GET, path).send().await
}

async fn now(account: &Account, link: &Value) -> Value {
    account.live.get(&format!("/links/{}", link["id"].as_str().unwrap())).await.ok()
}

#[tokio::test]
async fn a_click_redirects_to_the_url_and_counts() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let mut expected = link(&account, "https://example.com/menu?a=b#c").await;
    expected["first_clicked_at"] = json!("2026-11-21T07:07:11.123Z");
    for (clicks, at) in [(1, "2026-11-21T07:07:11.123Z"), (2, "2026-11-21T07:07:12.123Z")] {
        rig.pass(1).await;
        let reply = get(&rig, &path(&expected)).await.assert(302);
        assert_eq!(reply.header("location"), "https://example.com/menu?a=b#c");
        assert_eq!(reply.header("cache-control"), "no-store");
        assert!(reply.bytes.is_empty());
        expected["clicks"] = json!(clicks);
        expected["last_clicked_at"] = json!(at);
        assert_eq!(now(&account, &expected).await, expected);
    }
}

#[tokio::test]
async fn head_answers_as_get_does_and_does_not_count() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    endpoint(&account, &["link.clicked"]).await;
    let link = link(&account, "https://example.com/menu").await;
    let head = async |path: &str| rig.client(None).ask_at(Method::HEAD, path).send().await;
    let reply = head(&path(&link)).await.assert(302);
    assert_eq!(reply.header("location"), "https://example.com/menu");
    assert_eq!(reply.header("cache-control"), "no-store");
    let reply = head("/l/0000000000").await.assert(404);
    assert!(reply.bytes.is_empty());
    rig.work().await;
    assert_eq!(now(&account, &link).await, link);
    assert!(rig.hooks.take().is_empty());
}

#[tokio::test]
async fn every_click_is_reported_to_the_endpoints_that_subscribe() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let link = link(&account, "https://example.com/menu").await;
    get(&rig, &path(&link)).await.assert(302);
    endpoint(&account, &["link.clicked"]).await;
    endpoint(&account, &["message.failed"]).await;
    rig.work().await;
    rig.hooks.take();
    for clicks in 2..=4 {
        get(&rig, &path(&link)).await.assert(302);
        rig.work().await;
        let events = rig.hooks.take_events();
        assert_eq!(events.len(), 1);
        assert_eq!(events[0]["type"], "link.clicked");
        let expected = json!({
            "link_id": link["id"],
            "code": link["code"],
            "url": "https://example.com/menu",
            "message_id": link["message_id"],
            "campaign_id": null,
            "contact_number": "+447700900904",
            "clicks": clicks,
            "clicked_at": "2026-11-21T07:07:10.123Z",
        });
        assert_eq!((&events[0]["data"], keys(&events[0]["data"])), (&expected, keys(&expected)));
    }
}

#[tokio::test]
async fn an_unknown_code_is_404_as_a_page_for_a_browser_and_as_the_envelope_for_a_program() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let link = link(&account, "https://example.com/menu").await;
    let code = link["code"].as_str().unwrap();
    let swapped: String =
        code.chars()
            .map(|c| {
                if c.is_ascii_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() }
            })
            .collect();
    for code in [
        "0000000000",
        &swapped,
        &code[..9],
        &format!("{code}0"),
        &format!("{code}."),
        "%00",
        "..%2f..%2fx",
        &"x".repeat(5_000),
    ] {
        let path = format!("/l/{code}");
        let reply = get(&rig, &path).await;
        assert_eq!((reply.header("vary"), reply.header("cache-control")), ("Accept", "no-store"));
        reply.refused(404, "not_found");
        let browser = rig.client(None).ask_at(Method::GET, &path);
        let browser = browser.header("Accept", "text/html,application/xhtml+xml,*/*;q=0.8");
        let reply = browser.send().await.assert(404);
        assert_eq!(reply.header("content-type"), "text/html; charset=utf-8");
        assert_eq!((reply.header("vary"), reply.header("cache-control")), ("Accept", "no-store"));
        assert!(reply.text().contains("<h1>Link not found</h1>") && reply.bytes.len() < 1_000);
    }
    for path in
        ["/l", "/l/", &format!("/l/{code}/"), &format!("/l/{code}/x"), &format!("/L/{code}")]
    {
        get(&rig, path).await.refused(404, "not_found");
    }
    assert_eq!(now(&account, &link).await["clicks"], 0);
}

#[tokio::test]
async fn only_get_and_head_follow_a_link() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let link = link(&account, "https://example.com/menu").await;
    for method in [Method::POST, Method::PUT, Method::DELETE, Method::PATCH] {
        let reply = rig.client(None).ask_at(method, &path(&link)).send().await;
        assert_eq!(reply.header("allow"), "GET, HEAD");
        reply.refused(405, "method_not_allowed");
    }
    assert_eq!(now(&account, &link).await["clicks"], 0);
}

#[tokio::test]
async fn a_url_with_unusual_characters_makes_a_safe_location() {
    let rig = Rig::new().await;
    let account = rig.account(100).await;
    for (url, location) in [
        ("https://example.com/straße?q=ü&r=%20", "https://example.com/stra%C3%9Fe?q=%C3%BC&r=%20"),
        ("https://bücher.example/日本", "https://b%C3%BCcher.example/%E6%97%A5%E6%9C%AC"),
        ("https://example.com/{table}|a^b", "https://example.com/%7Btable%7D%7Ca%5Eb"),
        ("http://[2001:db8::1]:8080/a'b(c)", "http://[2001:db8::1]:8080/a'b(c)"),
        ("HTTPS://EXAMPLE.com/%0d%0aSet-Cookie:x", "HTTPS://EXAMPLE.com/%0d%0aSet-Cookie:x"),
    ] {
        let link = link(&account, url).await;
        assert_eq!(link["url"], url);
        let reply = get(&rig, &path(&link)).await.assert(302);
        assert_eq!(reply.header("location"), location);
    }
}

#[tokio::test]
async fn following_needs_no_key_and_is_outside_the_rate_limit_of_keys() {
    let rig = Rig::with_rate(1, 3).await;
    let account = rig.account(10).await;
    let link = link(&account, "https://example.com/menu").await;
    for _ in 0..20 {
        let reply = get(&rig, &path(&link)).await.assert(302);
        assert_eq!(reply.header("ratelimit-remaining"), "");
    }
    rig.pass_real(std::time::Duration::from_secs(5));
    assert_eq!(now(&account, &link).await["clicks"], 20);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_two_hundred_clicks_at_once_twenty_are_answered_counted_and_reported() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    endpoint(&account, &["link.clicked"]).await;
    let link = link(&account, "https://example.com/menu").await;
    let hits: Vec<_> = (0..200)
        .map(|_| {
            let ask = rig.client(None).ask_at(Method::GET, &path(&link));
            tokio::spawn(async move { ask.send().await.status })
        })
        .collect();
    let mut answers = BTreeMap::new();
    for hit in hits {
        *answers.entry(hit.await.unwrap()).or_default() += 1;
    }
    assert_eq!(answers, BTreeMap::from([(302, 20), (429, 180)]));
    assert_eq!(now(&account, &link).await["clicks"], 20);
    rig.work().await;
    let events = rig.hooks.take_events();
    let counts: BTreeSet<u64> =
        events.iter().map(|event| event["data"]["clicks"].as_u64().unwrap()).collect();
    assert_eq!((events.len(), counts), (20, (1..=20).collect()));
}
