//! Calls the program of the example of the same name, without a socket.

#[path = "../mount_the_api.rs"]
#[expect(dead_code, reason = "its `main` is the program's")]
mod program;

use poem::http::StatusCode;
use poem::test::TestClient;
use serde_json::{Value, json};

#[tokio::test]
async fn the_mounted_api_takes_a_message_and_the_route_of_the_program_carries_it() {
    let sms = program::service();
    let key = program::first_key(&sms).await.unwrap();
    let client = TestClient::new(program::app(&sms));
    let authorization = format!("Bearer {key}");

    let body = json!({ "to": "07700 900123", "body": "Hello" });
    let sent = client.post("/sms/api/v1/messages").header("authorization", &authorization);
    let sent = sent.body_json(&body).send().await;
    sent.assert_status(StatusCode::CREATED);
    let sent: Value = sent.json().await.value().deserialize();
    let id = sent["data"]["messages"][0]["id"].as_str().unwrap();
    assert_eq!(sms.dispatch_due(10).await.unwrap().sent, 1);

    let found = client.get(format!("/sms/api/v1/messages/{id}"));
    let found = found.header("authorization", &authorization).send().await;
    let found: Value = found.json().await.value().deserialize();
    assert_eq!(found["data"]["status"], "sent");
    assert_eq!(found["data"]["route"], "printer");
}

#[tokio::test]
async fn beside_the_mounted_api_are_the_pages_of_the_program() {
    let sms = program::service();
    let client = TestClient::new(program::app(&sms));
    client.get("/").send().await.assert_text("The API is at /sms/api/v1.\n").await;
    client.get("/sms/nowhere").send().await.assert_status(StatusCode::NOT_FOUND);

    let refused = client.get("/sms/api/v1/balance").send().await;
    refused.assert_status(StatusCode::UNAUTHORIZED);
    let refused: Value = refused.json().await.value().deserialize();
    let page = refused["error"]["doc_url"].as_str().unwrap();
    assert_eq!(page, "/docs/errors#unauthorized");
    client.get("/docs/errors").send().await.assert_status_is_ok();

    let document = client.get("/sms/api/v1/openapi.json").send().await;
    let document: Value = document.json().await.value().deserialize();
    assert_eq!(document["servers"][0]["url"], "http://127.0.0.1:3000/sms/api/v1");
}
