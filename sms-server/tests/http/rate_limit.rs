//! The request rate of a key. The time is moved by hand.

use std::time::Duration;

use serde_json::json;

use crate::rig::{Reply, Rig};

fn shown(reply: &Reply) -> (&str, &str, &str) {
    let header = |name| reply.header(name);
    (header("ratelimit-limit"), header("ratelimit-remaining"), header("ratelimit-reset"))
}

#[tokio::test]
async fn a_burst_of_forty_passes_and_the_next_is_429() {
    let rig = Rig::with_rate(20, 40).await;
    let account = rig.account(10).await;
    for sent in 1..=40_u32 {
        let reply = account.live.get("/balance").await.assert(200);
        let (limit, remaining) = ("40", (40 - sent).to_string());
        let reset = sent.div_ceil(20).to_string();
        assert_eq!(shown(&reply), (limit, remaining.as_str(), reset.as_str()));
    }
    let refused = account.live.get("/balance").await;
    assert_eq!(shown(&refused), ("40", "0", "2"));
    assert_eq!(refused.header("retry-after"), "1");
    refused.refused(429, "rate_limited");
    rig.pass_real(Duration::from_secs(1));
    for _ in 0..20 {
        account.live.get("/balance").await.assert(200);
    }
    account.live.get("/balance").await.assert(429);
}

#[tokio::test]
async fn a_refused_request_does_nothing_and_is_not_counted() {
    let rig = Rig::with_rate(1, 1).await;
    let account = rig.account(10).await;
    account.live.get("/balance").await.assert(200);
    for _ in 0..5 {
        let request = json!({ "to": "07700 900123", "body": "x" });
        account.live.post("/messages", request).await.refused(429, "rate_limited");
    }
    rig.pass_real(Duration::from_secs(1));
    assert_eq!(account.balance().await, 10);
}

#[tokio::test]
async fn each_key_has_its_own_rate() {
    let rig = Rig::with_rate(1, 1).await;
    let (one, other) = (rig.account(10).await, rig.account(10).await);
    one.live.get("/balance").await.assert(200);
    one.live.get("/balance").await.assert(429);
    one.test.get("/balance").await.assert(200);
    other.live.get("/balance").await.assert(200);
}

#[tokio::test]
async fn every_request_with_a_key_counts() {
    let rig = Rig::with_rate(1, 4).await;
    let account = rig.account(10).await;
    account.live.get("/messages/x").await.assert(404);
    account.live.post("/messages", json!({})).await.assert(422);
    account.live.get("/nothing").await.assert(404);
    account.live.ask(poem::http::Method::PUT, "/messages").send().await.assert(405);
    account.live.get("/balance").await.assert(429);
}

#[tokio::test]
async fn the_clock_of_the_service_does_not_matter() {
    let rig = Rig::with_rate(1, 1).await;
    let account = rig.account(10).await;
    account.live.get("/balance").await.assert(200);
    rig.clock.advance(Duration::from_hours(1));
    account.live.get("/balance").await.assert(429);
}

#[tokio::test]
async fn what_needs_no_key_and_the_operator_are_not_limited() {
    let rig = Rig::with_rate(1, 1).await;
    let account = rig.account(10).await;
    account.live.get("/balance").await.assert(200);
    for _ in 0..5 {
        let document = account.live.get("/openapi.json").await.assert(200);
        assert_eq!(document.header("ratelimit-limit"), "");
        rig.operator().get("/accounts").await.assert(200);
    }
}
