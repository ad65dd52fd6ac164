//! Sessions of the console: signing in, and everything that ends one.

use std::time::Duration;

use poem::http::Method;
use serde_json::{Value, json};
use sms_core::account::Mode;
use sms_core::account::api_key::ApiKey;
use sms_core::random::SeededRandom;

use crate::browser::{Browser, from_page, sign_in};
use crate::rig::{Account, Rig, TOKEN};

fn key(account: &Account) -> &str {
    account.live.token.as_ref().unwrap()
}

/// Whether the session still stands, as its pages and what programs ask see it.
async fn stands(browser: &Browser) -> bool {
    let session = browser.get("/console/session").await.status;
    let page = match browser.session["kind"].as_str() {
        Some("operator") => browser.get("/console/operator/accounts").await,
        _ => browser.get("/console/links").await,
    };
    match page.status {
        200 => assert_eq!(session, 200),
        // It leads to the page for signing in.
        other => assert_eq!((session, other), (401, 303)),
    }
    session == 200
}

#[tokio::test]
async fn signing_in_says_who_is_signed_in() {
    let rig = Rig::new().await;
    let account = rig.account(5).await;
    for (token, kind, mode, of) in [
        (key(&account), "account", json!("live"), json!({ "id": account.id, "name": "Bookings" })),
        (
            account.test.token.as_ref().unwrap(),
            "account",
            json!("test"),
            json!({ "id": account.id, "name": "Bookings" }),
        ),
        (TOKEN, "operator", Value::Null, Value::Null),
    ] {
        let browser = Browser::sign_in(&rig, token).await;
        let expected = json!({
            "kind": kind, "mode": mode, "account": of, "csrf": browser.csrf(),
            // Twelve hours after the rig's beginning.
            "expires_at": "2026-11-21T19:07:10.123Z",
        });
        assert_eq!(browser.session, expected);
        assert_eq!(browser.get("/console/session").await.assert(200).json, expected);
    }
}

#[tokio::test]
async fn scripts_and_other_sites_get_at_neither_the_cookie_nor_the_key() {
    let rig = Rig::new().await;
    let account = rig.account(5).await;
    let reply = sign_in(&rig, key(&account)).await.assert(200);
    let (cookie, attributes) = reply.header("set-cookie").split_once("; ").unwrap();
    let (name, value) = cookie.split_once('=').unwrap();
    assert_eq!(name, "__Host-sms_console");
    assert_eq!(attributes, "Path=/; Max-Age=43200; HttpOnly; SameSite=Strict; Secure");
    assert!(!cookie.contains(key(&account)) && !reply.text().contains(key(&account)));
    assert!(!reply.text().contains(value), "the page does not hold what the cookie holds");
    let browser = Browser::sign_in(&rig, key(&account)).await;
    let shown = browser.get("/console/session").await.assert(200);
    assert_eq!(shown.header("set-cookie"), "");
    assert!(!shown.text().contains(browser.token()));
}

#[tokio::test]
async fn nobody_signs_in_with_anything_else() {
    let rig = Rig::new().await;
    let account = rig.account(5).await;
    let unknown = ApiKey::generate(Mode::Live, &SeededRandom::new(99));
    let almost = TOKEN.replace("tests", "test");
    for bad in [unknown.reveal(), "cc_live_", "x", &almost, &format!("{TOKEN} x")] {
        let refused = sign_in(&rig, bad).await;
        assert_eq!(refused.header("set-cookie"), "");
        refused.refused(401, "unauthorized");
    }
    let ask = || from_page(&rig.client(None), Method::POST, "/console/session");
    for (body, code) in [("{}", "required"), ("{\"key\":5}", "wrong_type"), ("{", "malformed_json")]
    {
        let mistakes = ask().bytes(body).send().await.mistakes();
        assert_eq!(mistakes.len(), 1);
        assert_eq!(mistakes[0].1, code, "{body}");
    }
    let form = ask().raw(format!("key={}", key(&account)));
    let form = form.header("Content-Type", "application/x-www-form-urlencoded");
    form.send().await.refused(415, "unsupported_media_type");
    let nobody = rig.client(None).ask_at(Method::GET, "/console/session");
    nobody.send().await.refused(401, "unauthorized");
    let made_up = rig.client(None).ask_at(Method::GET, "/console/api/v1/balance");
    let made_up = made_up.header("Cookie", &format!("__Host-sms_console={}", "0".repeat(64)));
    made_up.send().await.refused(401, "unauthorized");
}

#[tokio::test]
async fn signing_out_ends_the_session_and_takes_the_cookie_away() {
    let rig = Rig::new().await;
    let account = rig.account(5).await;
    let browser = Browser::sign_in(&rig, key(&account)).await;
    let elsewhere = Browser::sign_in(&rig, key(&account)).await;
    let out = browser.ask(Method::DELETE, "/console/session").send().await.assert(204);
    assert!(out.header("set-cookie").starts_with("__Host-sms_console=; Path=/; Max-Age=0;"));
    assert!(!stands(&browser).await);
    assert!(stands(&elsewhere).await);
    browser.ask(Method::DELETE, "/console/session").send().await.assert(204);
}

#[tokio::test]
async fn signing_in_again_ends_the_session_before() {
    let rig = Rig::new().await;
    let account = rig.account(5).await;
    let before = Browser::sign_in(&rig, key(&account)).await;
    let again = from_page(&rig.client(None), Method::POST, "/console/session");
    let again = again.header("Cookie", &before.cookie).json(&json!({ "key": TOKEN }));
    assert_eq!(again.send().await.assert(200).json["kind"], "operator");
    assert!(!stands(&before).await);
}

#[tokio::test]
async fn a_session_ends_after_twelve_hours() {
    let rig = Rig::new().await;
    let account = rig.account(5).await;
    let people = [Browser::sign_in(&rig, key(&account)).await, Browser::sign_in(&rig, TOKEN).await];
    rig.clock.advance(Duration::from_hours(12) - Duration::from_millis(1));
    for browser in &people {
        assert!(stands(browser).await);
    }
    rig.clock.advance(Duration::from_millis(1));
    for browser in &people {
        assert!(!stands(browser).await);
    }
}

#[tokio::test]
async fn a_revoked_key_ends_its_sessions_and_no_others() {
    let rig = Rig::new().await;
    let account = rig.account(5).await;
    let ended =
        [Browser::sign_in(&rig, key(&account)).await, Browser::sign_in(&rig, key(&account)).await];
    let other = Browser::sign_in(&rig, account.test.token.as_ref().unwrap()).await;
    let keys = format!("/accounts/{}/keys", account.id);
    let live = rig.operator().get(&keys).await.ok();
    let live = live.as_array().unwrap().iter().find(|key| key["kind"] == "live").unwrap();
    let path = format!("{keys}/{}", live["id"].as_str().unwrap());
    rig.operator().delete(&path).await.assert(204);
    for browser in &ended {
        assert!(!stands(browser).await);
    }
    assert!(stands(&other).await);
    sign_in(&rig, key(&account)).await.refused(401, "unauthorized");
}

#[tokio::test]
async fn a_suspended_accounts_sessions_end_and_stay_over() {
    let rig = Rig::new().await;
    let account = rig.account(5).await;
    let browser = Browser::sign_in(&rig, key(&account)).await;
    let operator = Browser::sign_in(&rig, TOKEN).await;
    let path = format!("/accounts/{}", account.id);
    rig.operator().patch(&path, json!({ "status": "suspended" })).await.assert(200);
    assert!(!stands(&browser).await);
    sign_in(&rig, key(&account)).await.refused(403, "account_suspended");
    rig.operator().patch(&path, json!({ "status": "active" })).await.assert(200);
    assert!(!stands(&browser).await, "it does not come back");
    assert!(stands(&operator).await);
    assert!(stands(&Browser::sign_in(&rig, key(&account)).await).await);
}

#[tokio::test]
async fn people_of_an_account_that_awaits_approval_may_look_around() {
    let rig = Rig::new().await;
    let account = rig.account(5).await;
    let path = format!("/accounts/{}", account.id);
    rig.operator().patch(&path, json!({ "status": "pending" })).await.assert(200);
    let browser = Browser::sign_in(&rig, key(&account)).await;
    assert!(stands(&browser).await);
    let send = json!({ "to": "07700 900123", "body": "x" });
    browser.post("/console/api/v1/messages", send).await.refused(403, "account_pending");
}

#[tokio::test]
async fn a_changed_token_of_the_operator_ends_the_operators_sessions() {
    let rig = Rig::new().await;
    let account = rig.account(5).await;
    let operator = Browser::sign_in(&rig, TOKEN).await;
    let people = Browser::sign_in(&rig, key(&account)).await;
    let later = rig.with_token("another-token-of-the-operator");
    for (browser, stays) in [(&operator, false), (&people, true)] {
        let ask = later.client(None).ask_at(Method::GET, "/console/session");
        let status = ask.header("Cookie", &browser.cookie).send().await.status;
        assert_eq!(status == 200, stays);
    }
    assert!(!stands(&operator).await, "it does not come back with the old token either");
    let again = Browser::sign_in(&later, "another-token-of-the-operator").await;
    assert_eq!(again.session["kind"], "operator");
}

#[tokio::test]
async fn the_hundred_and_first_session_of_a_key_ends_the_first() {
    let rig = Rig::new().await;
    let account = rig.account(5).await;
    let first = Browser::sign_in(&rig, key(&account)).await;
    let operator = Browser::sign_in(&rig, TOKEN).await;
    rig.clock.advance(Duration::from_millis(1));
    for _ in 0..99 {
        sign_in(&rig, key(&account)).await.assert(200);
    }
    assert!(stands(&first).await);
    sign_in(&rig, key(&account)).await.assert(200);
    assert!(!stands(&first).await);
    assert!(stands(&operator).await);
}

#[tokio::test]
async fn a_key_signs_in_at_most_at_its_request_rate() {
    let rig = Rig::with_rate(1, 3).await;
    let (account, other) = (rig.account(5).await, rig.account(5).await);
    let mut browsers = Vec::new();
    for _ in 0..3 {
        browsers.push(Browser::sign_in(&rig, key(&account)).await);
    }
    let refused = sign_in(&rig, key(&account)).await;
    assert_eq!(refused.header("set-cookie"), "");
    assert_eq!(refused.header("retry-after"), "1");
    refused.refused(429, "rate_limited");
    sign_in(&rig, key(&other)).await.assert(200);
    sign_in(&rig, TOKEN).await.assert(200);
    browsers[0].get("/console/api/v1/balance").await.assert(200);
    rig.pass_real(Duration::from_secs(1));
    sign_in(&rig, key(&account)).await.assert(200);
}

#[tokio::test]
async fn the_rate_of_a_session_is_checked_before_it_is_looked_up() {
    let rig = Rig::with_rate(1, 3).await;
    let (account, other) = (rig.account(5).await, rig.account(5).await);
    let browser = Browser::sign_in(&rig, key(&account)).await;
    let elsewhere = Browser::sign_in(&rig, key(&other)).await;
    for _ in 0..3 {
        browser.get("/console/session").await.assert(200);
    }
    browser.get("/console/session").await.refused(429, "rate_limited");
    let page = browser.get("/console/links").await.assert(429);
    assert_eq!(page.header("retry-after"), "1");
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
    elsewhere.get("/console/session").await.assert(200);
    rig.pass_real(Duration::from_secs(1));
    browser.get("/console/session").await.assert(200);
}

/// Over a socket, as only clients with an address are counted.
#[tokio::test]
async fn an_address_can_fail_to_sign_in_a_bounded_number_of_times() {
    use sms_http::web::serve::ServeLimits;

    use crate::socket::Server;

    let rig = Rig::new().await;
    let account = rig.account(5).await;
    let browser = Browser::sign_in(&rig, key(&account)).await;
    let server = Server::start(rig.app.clone(), ServeLimits::default());
    let ask = async |method: &str, path: &str, from: &str, more: &str, body: &str| {
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: x\r\nOrigin: http://x\r\nX-Forwarded-For: {from}\r\n\
             {more}Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        server.ask(request).await
    };
    let sign_in = async |from: &str, key: &str| {
        ask("POST", "/console/session", from, "", &json!({ "key": key }).to_string()).await
    };
    let mut refused = 0;
    for n in 0..30 {
        // Tokens, keys that are none, and cookies that nobody has are all counted together.
        let made_up = format!("Cookie: __Host-sms_console={n:064x}\r\n");
        let answer = match n % 3 {
            0 => sign_in("203.0.113.9", &format!("made-up-token-{n}")).await,
            1 => sign_in("203.0.113.9", &format!("cc_live_{n}")).await,
            _ => ask("GET", "/console/api/v1/balance", "203.0.113.9", &made_up, "").await,
        };
        match answer.status {
            401 => {}
            429 => {
                refused += 1;
                assert_eq!(answer.code(), "rate_limited");
                assert_eq!(answer.header("retry-after"), Some("1"));
            }
            other => panic!("{other}"),
        }
    }
    assert_eq!(refused, 10);
    assert_eq!(sign_in("203.0.113.9", TOKEN).await.status, 429, "also with the right one");
    let cookie = format!("Cookie: {}\r\n", browser.cookie);
    let known = ask("GET", "/console/api/v1/balance", "203.0.113.10", &cookie, "").await;
    assert_eq!(known.status, 200, "another address is not refused");
    let known = ask("GET", "/console/api/v1/balance", "203.0.113.9", &cookie, "").await;
    assert_eq!(known.status, 200, "nor a session that this server knows");
    rig.pass_real(Duration::from_secs(1));
    assert_eq!(sign_in("203.0.113.9", TOKEN).await.status, 200);
}
