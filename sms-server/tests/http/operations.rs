//! `/healthz`, `/readyz`, and what every answer carries. `/metrics` is tested with the process.

use poem::http::Method;

use crate::rig::{Reply, Rig};

async fn get(rig: &Rig, path: &str) -> Reply {
    rig.client(None).ask_at(Method::GET, path).send().await
}

#[tokio::test]
async fn health_and_readiness_need_no_key() {
    let rig = Rig::new().await;
    assert_eq!(get(&rig, "/healthz").await.assert(200).text(), "ok\n");
    assert_eq!(get(&rig, "/readyz").await.assert(200).text(), "ready\n");
}

#[tokio::test]
async fn nothing_else_is_served() {
    let rig = Rig::new().await;
    for path in ["/metrics", "/api", "/api/v2/messages", "/admin", "/docs/", "/favicon.ico"] {
        get(&rig, path).await.refused(404, "not_found");
    }
}

#[tokio::test]
async fn every_answer_carries_a_request_id() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let ask = account.live.ask(Method::GET, "/balance").header("X-Request-Id", "till-3.a_B");
    assert_eq!(ask.send().await.header("x-request-id"), "till-3.a_B");
    let (first, second) = (get(&rig, "/healthz").await, get(&rig, "/healthz").await);
    assert_ne!(first.header("x-request-id"), second.header("x-request-id"));
}
