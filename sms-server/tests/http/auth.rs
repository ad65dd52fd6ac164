//! Authentication: API keys, and the uniform answer to requests without a valid one.

use std::time::Duration;

use poem::http::Method;
use serde_json::{Value, json};
use sms_core::account::Mode;

use crate::rig::{Ask, Client, Reply, Rig, TOKEN};

fn ask(client: &Client, path: &str) -> Ask {
    client.ask_at(Method::GET, path)
}

fn assert_refused(reply: &Reply, first: &Reply) {
    assert_eq!(reply.status, 401);
    assert_eq!(reply.bytes, first.bytes);
    assert_eq!(reply.header("www-authenticate"), "Bearer");
    let names = |reply: &Reply| {
        let mut names: Vec<String> = reply.headers.keys().map(ToString::to_string).collect();
        names.sort_unstable();
        names
    };
    assert_eq!(names(reply), names(first));
}

#[tokio::test]
async fn a_missing_wrong_malformed_and_revoked_key_get_the_same_answer() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let revoked = rig.key(account.id, Mode::Live).await;
    let keys = format!("/accounts/{}/keys", account.id);
    let newest = rig.operator().get(&keys).await.ok()[0]["id"].as_str().unwrap().to_owned();
    rig.operator().delete(&format!("{keys}/{newest}")).await.assert(204);
    let elsewhere = Rig::bare(
        std::sync::Arc::new(sms_store_memory::MemoryStore::new()),
        sms_http::rate_limit::Gcra::new(1, 1),
    );
    elsewhere.account(0).await;
    let unknown = sms_core::account::api_key::ApiKey::generate(
        Mode::Live,
        &sms_core::random::SeededRandom::new(99),
    );
    let live = account.live.token.clone().unwrap();
    let revoked = revoked.token.unwrap();
    let (mut wrong_check, mut short) = (live.clone(), live.clone());
    short.pop();
    let last = if wrong_check.pop() == Some('a') { 'b' } else { 'a' };
    wrong_check.push(last);
    let client = rig.client(None);
    let first = ask(&client, "/api/v1/balance").send().await.assert(401);
    assert_eq!(first.json["error"]["code"], "unauthorized");
    for header in [
        String::new(),
        "Bearer".to_owned(),
        "Bearer ".to_owned(),
        format!("Bearer {}", unknown.reveal()),
        format!("Bearer {revoked}"),
        format!("Bearer {wrong_check}"),
        format!("Bearer {short}"),
        format!("Bearer {}", live.replace("live", "test")),
        format!("Bearer {}", live.to_uppercase()),
        format!("Bearer {live} {live}"),
        format!("Bearer {live},"),
        format!("Basic {live}"),
        format!("Token {live}"),
        format!("Bearer{live}"),
        live.clone(),
        format!("Bearer {TOKEN}"),
        "Bearer é".to_owned(),
        format!("Bearer {}", "x".repeat(10_000)),
    ] {
        let reply = ask(&client, "/api/v1/balance").header("Authorization", &header).send().await;
        assert_refused(&reply, &first);
    }
    let bearer = format!("Bearer {live}");
    let twice = ask(&client, "/api/v1/balance").header("Authorization", &bearer);
    assert_refused(&twice.header("Authorization", &bearer).send().await, &first);
    let by_query = ask(&client, &format!("/api/v1/balance?api_key={live}")).send().await;
    assert_refused(&by_query, &first);
    let by_header = ask(&client, "/api/v1/balance").header("X-API-Key", &live).send().await;
    assert_refused(&by_header, &first);
}

#[tokio::test]
async fn the_scheme_is_read_whatever_its_case() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let live = account.live.token.clone().unwrap();
    for header in [format!("bearer {live}"), format!("BEARER  {live} ")] {
        let request = ask(&account.live, "/api/v1/balance").header("Authorization", &header);
        request.send().await.assert(200);
    }
}

#[tokio::test]
async fn every_path_of_the_api_but_its_document_needs_a_key() {
    let rig = Rig::new().await;
    let client = rig.client(None);
    let first = client.get("/balance").await.assert(401);
    let paths = rig.documents().api["paths"].as_object().unwrap().clone();
    for (path, item) in &paths {
        for method in item.as_object().unwrap().keys() {
            let path = path.replace("{id}", "x").replace("{delivery_id}", "y");
            let method: Method = method.to_uppercase().parse().unwrap();
            let reply = client.ask(method.clone(), &path).bytes("{not json").send().await;
            if path.starts_with("/openapi") {
                assert_eq!(reply.status, 200);
            } else {
                assert_refused(&reply, &first);
            }
        }
    }
    for path in ["/nothing", "/messages/", ""] {
        assert_refused(&client.get(path).await, &first);
    }
    let wrong_method = client.ask(Method::PUT, "/messages").send().await;
    assert_refused(&wrong_method, &first);
}

#[tokio::test]
async fn every_path_of_the_operator_needs_the_operators_token() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let live = account.live.token.clone().unwrap();
    let client = rig.client(None);
    let first = ask(&client, "/admin/v1/accounts").send().await.assert(401);
    assert_eq!(first.json["error"]["code"], "unauthorized");
    let paths = rig.documents().admin["paths"].as_object().unwrap().clone();
    for (path, item) in &paths {
        for method in item.as_object().unwrap().keys() {
            let path = path.replace("{id}", "x").replace("{key_id}", "y");
            let method: Method = method.to_uppercase().parse().unwrap();
            for token in [None, Some(live.as_str()), Some("operator-token-of-the-test"), Some("")] {
                let ask = client.ask_at(method.clone(), &format!("/admin/v1{path}"));
                let ask = match token {
                    Some(token) => ask.header("Authorization", &format!("Bearer {token}")),
                    None => ask,
                };
                assert_refused(&ask.send().await, &first);
            }
        }
    }
    rig.operator().get("/openapi.json").await.assert(200);
}

#[tokio::test]
async fn a_revoked_key_is_refused_at_once() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let second = rig.key(account.id, Mode::Live).await;
    second.get("/balance").await.assert(200);
    let keys = format!("/accounts/{}/keys", account.id);
    let id = rig.operator().get(&keys).await.ok()[0]["id"].as_str().unwrap().to_owned();
    rig.operator().delete(&format!("{keys}/{id}")).await.assert(204);
    second.get("/balance").await.assert(401);
    account.live.get("/balance").await.assert(200);
    rig.operator().delete(&format!("{keys}/{id}")).await.assert(204);
    let record = &rig.operator().get(&keys).await.ok()[0];
    assert_eq!(record["revoked_at"], "2026-11-21T07:07:10.123Z");
}

#[tokio::test]
async fn the_last_use_of_a_key_is_written_at_most_once_a_minute() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let keys = format!("/accounts/{}/keys", account.id);
    let used = async || rig.operator().get(&keys).await.ok()[1]["last_used_at"].clone();
    assert_eq!(used().await, Value::Null);
    let mut seen = Vec::new();
    for seconds in [0, 59, 1, 30, 30] {
        rig.clock.advance(Duration::from_secs(seconds));
        account.live.get("/balance").await.assert(200);
        seen.push(used().await.as_str().unwrap().to_owned());
    }
    let at = |minute: &str| format!("2026-11-21T07:{minute}:10.123Z");
    assert_eq!(seen, [at("07"), at("07"), at("08"), at("08"), at("09")]);
}

#[tokio::test]
async fn a_refused_request_does_nothing() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let request = json!({ "to": "07700 900123", "body": "x" });
    rig.client(None).post("/messages", request).await.assert(401);
    assert_eq!(account.live.get("/messages").await.ok(), json!([]));
    assert_eq!(account.balance().await, 10);
}
