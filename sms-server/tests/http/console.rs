//! The console: its files, what every answer tells browsers, and the APIs behind it.

use poem::http::Method;
use serde_json::{Value, json};
use sms_core::account::Mode;

use crate::browser::{Browser, from_page};
use crate::rig::{Ask, Reply, Rig, TOKEN};

const CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
     img-src 'self' data:; connect-src 'self'; font-src 'self'; form-action 'self'; \
     base-uri 'none'; frame-ancestors 'none'";

fn page(rig: &Rig, path: &str) -> Ask {
    rig.client(None).ask_at(Method::GET, path)
}

const SIGN_IN: &str = "/console/sign-in";

/// The path of a file, as the page names it.
fn named_in(page: &Reply, ending: &str) -> String {
    let text = page.text();
    let mut paths = text.split('"').filter(|part| part.starts_with("/console/v-"));
    paths.find(|path| path.ends_with(ending)).unwrap_or_else(|| panic!("no {ending}")).to_owned()
}

#[tokio::test]
async fn the_root_redirects_to_the_first_page() {
    let rig = Rig::new().await;
    let root = page(&rig, "/").send().await.assert(303);
    assert_eq!(root.header("location"), "/console");
    let first = page(&rig, "/console").send().await.assert(303);
    assert_eq!(first.header("location"), SIGN_IN);
    let sign_in = page(&rig, SIGN_IN).send().await.assert(200);
    assert_eq!(sign_in.header("content-type"), "text/html; charset=utf-8");
    assert!(sign_in.text().starts_with("<!DOCTYPE html>"));
    let head = rig.client(None).ask_at(Method::HEAD, SIGN_IN).send().await.assert(200);
    assert!(head.bytes.is_empty());
}

#[tokio::test]
async fn pages_are_never_cached_and_their_files_always() {
    let rig = Rig::new().await;
    let html = page(&rig, SIGN_IN).send().await.assert(200);
    assert_eq!(html.header("cache-control"), "no-store");
    let path = named_in(&html, "/icon.svg");
    let icon = page(&rig, &path).send().await.assert(200);
    assert_eq!(icon.header("content-type"), "image/svg+xml");
    assert_eq!(icon.header("cache-control"), "public, max-age=31536000, immutable");
    let again = page(&rig, &path).header("If-None-Match", icon.header("etag")).send().await;
    assert!(again.assert(304).bytes.is_empty());
    let changed = page(&rig, &path).header("If-None-Match", "W/\"another\"").send().await;
    assert_eq!(changed.assert(200).bytes, icon.bytes);
}

#[tokio::test]
async fn files_are_compressed_for_browsers_that_accept_gzip() {
    let rig = Rig::new().await;
    let html = page(&rig, SIGN_IN).send().await;
    for path in [named_in(&html, "/icon.svg"), named_in(&html, "/console.css")] {
        let plain = page(&rig, &path).send().await.assert(200);
        let small = page(&rig, &path).header("Accept-Encoding", "br, gzip").send().await;
        assert_eq!(small.header("content-encoding"), "gzip");
        assert!(small.bytes.len() < plain.bytes.len(), "{path}");
        assert_eq!(small.header("vary"), "accept-encoding");
        assert_eq!(plain.header("content-encoding"), "");
    }
}

#[tokio::test]
async fn a_missing_file_is_no_page() {
    let rig = Rig::new().await;
    let html = page(&rig, SIGN_IN).send().await;
    let folder = named_in(&html, "/icon.svg").replace("/icon.svg", "");
    for path in [
        "/console/v-0000000000000000/icon.svg",
        &format!("{folder}/none.js"),
        &format!("{folder}/../icon.svg"),
        "/console/api/v2/balance",
        "/console/api/",
    ] {
        page(&rig, path).send().await.refused(404, "not_found");
    }
    let account = rig.account(5).await;
    let browser = Browser::sign_in(&rig, account.live.token.as_ref().unwrap()).await;
    let ask = browser.ask(Method::POST, "/console/inbox");
    assert_eq!(ask.send().await.assert(405).header("allow"), "GET, HEAD");
}

#[tokio::test]
async fn a_request_without_a_session_leads_to_the_sign_in_which_mentions_a_lost_form() {
    let rig = Rig::new().await;
    for (method, path, to) in [
        (Method::GET, "/console/inbox?q=a", "next=%2Fconsole%2Finbox%3Fq%3Da"),
        (Method::POST, "/console/compose", "expired=1&next=%2Fconsole%2Fcompose"),
        (Method::POST, "/console/lists/lst_1/delete", "expired=1&next=%2Fconsole%2Flists%2Flst_1"),
    ] {
        let reply = from_page(&rig.client(None), method, path).send().await.assert(303);
        assert_eq!(reply.header("location"), format!("/console/sign-in?{to}"), "{path}");
    }
}

#[tokio::test]
async fn every_kind_of_answer_says_what_a_browser_may_do() {
    let rig = Rig::new().await;
    let account = rig.account(5).await;
    let browser = Browser::sign_in(&rig, account.live.token.as_ref().unwrap()).await;
    let html = page(&rig, SIGN_IN).send().await.assert(200);
    let icon = named_in(&html, "/icon.svg");
    let answers = [
        page(&rig, &icon).send().await.assert(200),
        page(&rig, "/console").send().await.assert(303),
        browser.get("/console").await.assert(200),
        html,
        page(&rig, "/console/v-0/none.js").send().await.assert(404),
        page(&rig, "/console/session").send().await.assert(401),
        page(&rig, "/console/api/v1/balance").send().await.assert(401),
        browser.get("/console/session").await.assert(200),
        browser.get("/console/api/v1/balance").await.assert(200),
        browser.get("/console/api/v1/messages/export").await.assert(200),
        browser.get("/console/api/v1/nothing").await.assert(404),
        browser.get("/console/nowhere").await.assert(404),
        browser.post("/console/api/v1/messages", json!({})).await.assert(422),
        browser.ask(Method::PUT, "/console/api/v1/messages").send().await.assert(405),
        browser.with_cookie(Method::POST, "/console/api/v1/messages").send().await.assert(403),
        browser.ask(Method::DELETE, "/console/session").send().await.assert(204),
    ];
    for answer in answers {
        for (name, value) in [
            ("content-security-policy", CONTENT_POLICY),
            ("x-frame-options", "DENY"),
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
        ] {
            assert_eq!(answer.header(name), value, "{name} of {answer:?}");
        }
        assert!(answer.header("permissions-policy").contains("camera=()"));
    }
    let api = rig.client(None).get("/balance").await;
    assert_eq!(api.header("x-frame-options"), "", "answers to programs need none of it");
}

#[tokio::test]
async fn answers_with_an_accounts_data_are_stored_nowhere() {
    let rig = Rig::new().await;
    let account = rig.account(5).await;
    let browser = Browser::sign_in(&rig, account.live.token.as_ref().unwrap()).await;
    for path in ["/console/session", "/console/api/v1/balance"] {
        assert_eq!(browser.get(path).await.assert(200).header("cache-control"), "no-store");
    }
}

#[tokio::test]
async fn the_page_can_do_what_a_program_with_its_key_can() {
    let rig = Rig::new().await;
    let account = rig.account(5).await;
    let live = Browser::sign_in(&rig, account.live.token.as_ref().unwrap()).await;
    let send = json!({ "to": "07700 900123", "body": "Your table is ready" });
    let sent = live.post("/console/api/v1/messages", send.clone()).await.created();
    let id = sent["messages"][0]["id"].as_str().unwrap();
    let path = format!("/messages/{id}");
    let shown = live.get(&format!("/console/api/v1{path}")).await.ok();
    assert_eq!(shown, account.live.get(&path).await.ok());
    assert_eq!(account.balance().await, 4);
    let keyed = live.ask(Method::POST, "/console/api/v1/messages").header("Idempotency-Key", "a");
    keyed.json(&send).send().await.assert(201);
    let again = live.ask(Method::POST, "/console/api/v1/messages").header("Idempotency-Key", "a");
    assert_eq!(again.json(&send).send().await.assert(200).json["meta"]["replayed"], true);
    assert_eq!(account.balance().await, 3);
    let edit = live.post("/console/api/v1/templates", json!({ "name": "a", "body": "b" })).await;
    let template = edit.created()["id"].as_str().unwrap().to_owned();
    let path = format!("/console/api/v1/templates/{template}");
    let patch = live.ask(Method::PATCH, &path).json(&json!({ "name": "c" })).send().await;
    assert_eq!(patch.ok()["name"], "c");
    live.ask(Method::DELETE, &path).send().await.assert(204);
    let test = Browser::sign_in(&rig, account.test.token.as_ref().unwrap()).await;
    let sent = test.post("/console/api/v1/messages", send).await.assert(201);
    assert_eq!(sent.json["meta"]["test"], true);
}

#[tokio::test]
async fn a_session_uses_the_real_clock_and_not_the_sandboxs() {
    let rig = Rig::new().await;
    let browser = Browser::sign_in(&rig, TOKEN).await;
    let clock = rig.operator().post("/clock", json!({ "advance_seconds": 86_400 })).await;
    clock.assert(200);
    browser.get("/console/operator/accounts").await.assert(200);
}

#[tokio::test]
async fn accounts_see_neither_each_other_nor_the_operators_side() {
    let rig = Rig::new().await;
    let (one, other) = (rig.account(5).await, rig.account(5).await);
    let sent = one.send("07700 900123", "for one alone").await;
    let id = sent["messages"][0]["id"].as_str().unwrap();
    let browser = Browser::sign_in(&rig, other.live.token.as_ref().unwrap()).await;
    browser.get(&format!("/console/api/v1/messages/{id}")).await.assert(404);
    browser.get("/console/operator/accounts").await.assert(404);
    let operator = Browser::sign_in(&rig, TOKEN).await;
    operator.get("/console/api/v1/balance").await.refused(403, "wrong_session");
}

#[tokio::test]
async fn the_apis_ignore_the_cookie_and_the_console_ignores_keys() {
    let rig = Rig::new().await;
    let account = rig.account(5).await;
    let browser = Browser::sign_in(&rig, account.live.token.as_ref().unwrap()).await;
    let operator = Browser::sign_in(&rig, TOKEN).await;
    browser.get("/api/v1/balance").await.refused(401, "unauthorized");
    operator.get("/admin/v1/accounts").await.refused(401, "unauthorized");
    operator.get("/metrics").await.assert(404);
    let bearer = format!("Bearer {}", account.live.token.as_ref().unwrap());
    let by_key = page(&rig, "/console/api/v1/balance").header("Authorization", &bearer);
    by_key.send().await.refused(401, "unauthorized");
}

#[tokio::test]
async fn a_change_needs_the_token_of_its_own_session() {
    let rig = Rig::new().await;
    let account = rig.account(5).await;
    let browser = Browser::sign_in(&rig, account.live.token.as_ref().unwrap()).await;
    let other = Browser::sign_in(&rig, account.live.token.as_ref().unwrap()).await;
    let operator = Browser::sign_in(&rig, TOKEN).await;
    let messages = "/console/api/v1/messages";
    for (browser, method, path) in [
        (&browser, Method::POST, messages),
        (&browser, Method::PATCH, "/console/api/v1/contacts/x"),
        (&browser, Method::DELETE, "/console/api/v1/contacts/x"),
        (&operator, Method::DELETE, "/console/session"),
        (&browser, Method::DELETE, "/console/session"),
    ] {
        for csrf in [None, Some(""), Some("x"), Some(other.csrf()), Some(browser.token())] {
            let ask = from_page(&rig.client(None), method.clone(), path);
            let ask = ask.header("Cookie", &browser.cookie);
            let ask = csrf.into_iter().fold(ask, |ask, csrf| ask.header("X-CSRF-Token", csrf));
            ask.json(&json!({})).send().await.refused(403, "csrf_token_invalid");
        }
    }
    browser.get("/console/session").await.assert(200);
    assert_eq!(account.balance().await, 5);
}

#[tokio::test]
async fn a_change_from_another_site_is_refused() {
    let rig = Rig::new().await;
    let account = rig.account(5).await;
    let key = account.live.token.as_ref().unwrap();
    let browser = Browser::sign_in(&rig, key).await;
    let send = json!({ "to": "07700 900123", "body": "x" });
    for (header, value) in [
        ("Origin", "https://evil.example.com"),
        ("Origin", "http://sms.example.com"),
        ("Origin", "null"),
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Site", "same-site"),
        ("X-Nothing", "x"),
    ] {
        let foreign = |method, path| {
            let ask = rig.client(None).ask_at(method, path).header("Host", "127.0.0.1");
            let ask = ask.header("Cookie", &browser.cookie).header(header, value);
            ask.header("X-CSRF-Token", browser.csrf())
        };
        for (method, path, body) in [
            (Method::POST, "/console/api/v1/messages", &send),
            (Method::POST, "/console/session", &json!({ "key": key })),
            (Method::DELETE, "/console/session", &Value::Null),
        ] {
            let reply = foreign(method, path).json(body).send().await;
            assert_eq!(reply.header("set-cookie"), "");
            reply.refused(403, "foreign_origin");
        }
    }
    let own = browser.with_cookie(Method::POST, "/console/api/v1/messages");
    let own = own.header("Sec-Fetch-Site", "same-origin").header("X-CSRF-Token", browser.csrf());
    own.json(&send).send().await.assert(201);
    assert_eq!(account.balance().await, 4);
}

#[tokio::test]
async fn people_and_programs_with_one_key_do_not_use_up_each_others_rate() {
    let rig = Rig::with_rate(1, 3).await;
    let account = rig.account(5).await;
    let browser = Browser::sign_in(&rig, account.live.token.as_ref().unwrap()).await;
    for _ in 0..3 {
        account.live.get("/balance").await.assert(200);
        browser.get("/console/api/v1/balance").await.assert(200);
    }
    account.live.get("/balance").await.refused(429, "rate_limited");
    let refused = browser.get("/console/api/v1/balance").await;
    assert_eq!(refused.header("retry-after"), "1");
    refused.refused(429, "rate_limited");
}

#[tokio::test]
async fn an_import_may_be_as_large_as_in_the_api() {
    let rig = Rig::new().await;
    let account = rig.account(5).await;
    let browser = Browser::sign_in(&rig, account.live.token.as_ref().unwrap()).await;
    let padding = "x".repeat(2_000_000);
    let body = format!("{{\"rows\":[{{\"phone\":\"07700 900123\"}}],\"padding\":\"{padding}\"}}");
    let path = "/console/api/v1/contacts/import";
    browser.ask(Method::POST, path).bytes(body.clone()).send().await.assert(200);
    let lists = browser.ask(Method::POST, "/console/api/v1/lists").bytes(body).send().await;
    lists.refused(413, "payload_too_large");
    let sign_in = from_page(&rig.client(None), Method::POST, "/console/session");
    let sign_in = sign_in.bytes(format!("{{\"key\":\"{}\"}}", "x".repeat(5_000)));
    sign_in.send().await.refused(413, "payload_too_large");
}

#[tokio::test]
async fn without_the_console_none_of_its_paths_exist() {
    let rig = Rig::without_console().await;
    assert_eq!(page(&rig, "/").send().await.assert(303).header("location"), "/docs");
    let account = rig.account(5).await;
    let _ = rig.key(account.id, Mode::Live).await;
    for path in ["/console", "/console/session", "/console/api/v1/balance"] {
        page(&rig, path).send().await.refused(404, "not_found");
    }
}
