//! What arrives at the endpoint.

use std::collections::BTreeSet;

use sms_webhooks::{Delivery, VerifyError, sign_standard, verify};

use crate::receiver::{Behaviour, Receiver, answer};
use crate::{BODY, SECRET, delivery_to, open_client};

#[expect(clippy::disallowed_methods, reason = "a signature's time is the machine's")]
fn unix_seconds() -> i64 {
    let since_epoch = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    i64::try_from(since_epoch.as_secs()).unwrap()
}

#[tokio::test]
async fn the_request_has_exactly_these_headers_and_the_body_byte_for_byte() {
    let mut receiver = Receiver::start(answer("200 OK", "", "ok")).await;
    let url = receiver.url("/hooks/a%20b?x=1&y=%2F#fragment");
    let before = unix_seconds();
    let attempt = open_client().deliver(delivery_to(&url)).await;
    let after = unix_seconds();
    assert_eq!((attempt.status_code, attempt.failure), (Some(200), None));

    let request = receiver.request().await;
    assert_eq!(request.body, BODY.as_bytes());
    let signature = request.header("X-Connect-Signature").unwrap();
    assert_eq!(verify(SECRET, signature, &request.body, after), Ok(()));
    assert_eq!(
        verify("whsec_other", signature, BODY.as_bytes(), after),
        Err(VerifyError::Mismatch)
    );
    let time = signature.strip_prefix("t=").unwrap().split(',').next().unwrap();
    assert!((before..=after).contains(&time.parse::<i64>().unwrap()), "{time}");

    let (request_line, headers) = request.head.split_once("\r\n").unwrap();
    assert_eq!(request_line, "POST /hooks/a%20b?x=1&y=%2F HTTP/1.1");
    let headers: BTreeSet<&str> = headers.lines().filter(|line| !line.is_empty()).collect();
    let signature_line = format!("X-Connect-Signature: {signature}");
    let standard_time_line = format!("Webhook-Timestamp: {time}");
    let code = sign_standard(&[SECRET], "whd_1", time.parse().unwrap(), &request.body);
    let standard_signature_line = format!("Webhook-Signature: {code}");
    let host_line = format!("Host: {}", receiver.address);
    let length_line = format!("Content-Length: {}", BODY.len());
    let agent_line = format!("User-Agent: sms-webhooks/{}", env!("CARGO_PKG_VERSION"));
    let expected = BTreeSet::from([
        "Content-Type: application/json",
        "X-Connect-Event: message.received",
        "X-Connect-Delivery: whd_1",
        signature_line.as_str(),
        "Webhook-Id: whd_1",
        standard_time_line.as_str(),
        standard_signature_line.as_str(),
        host_line.as_str(),
        length_line.as_str(),
        agent_line.as_str(),
        "Accept: */*",
    ]);
    assert_eq!(headers, expected);
}

#[tokio::test]
async fn a_receiver_accepts_a_delivery_with_the_new_and_the_old_secret() {
    let mut receiver = Receiver::start(answer("200 OK", "", "")).await;
    let url = receiver.url("/");
    let delivery = Delivery { secrets: &["whsec_new", SECRET], ..delivery_to(&url) };
    assert_eq!(open_client().deliver(delivery).await.failure, None);
    let request = receiver.request().await;
    let signature = request.header("X-Connect-Signature").unwrap();
    assert_eq!(signature.matches(",v1=").count(), 2);
    for secret in ["whsec_new", SECRET] {
        assert_eq!(verify(secret, signature, &request.body, unix_seconds()), Ok(()));
    }
    let other = verify("whsec_other", signature, &request.body, unix_seconds());
    assert_eq!(other, Err(VerifyError::Mismatch));
}

#[tokio::test]
async fn a_large_body_arrives_whole_and_an_empty_one_too() {
    let mut receiver = Receiver::start(answer("204 No Content", "", "")).await;
    let url = receiver.url("/");
    let large = "0123456789abcdef".repeat(65_536);
    for body in [large.as_str(), ""] {
        let delivery = Delivery { body: body.into(), ..delivery_to(&url) };
        let attempt = open_client().deliver(delivery).await;
        assert_eq!(
            (attempt.status_code, attempt.failure),
            (Some(204), None),
            "{} bytes",
            body.len()
        );
        let request = receiver.request().await;
        assert!(request.body == body.as_bytes());
        let signature = request.header("X-Connect-Signature").unwrap();
        assert_eq!(verify(SECRET, signature, &request.body, unix_seconds()), Ok(()));
    }
}

#[tokio::test]
async fn every_delivery_opens_a_new_connection() {
    let receiver = Receiver::start(Behaviour::KeepOpen).await;
    let client = open_client();
    for _ in 0..3 {
        let attempt = client.deliver(delivery_to(&receiver.url("/"))).await;
        assert_eq!(attempt.failure, None);
    }
    assert_eq!(receiver.connections().await, 3);
}

#[tokio::test]
async fn a_request_that_cannot_be_built_is_a_failed_attempt() {
    let receiver = Receiver::start(answer("200 OK", "", "")).await;
    let url = receiver.url("/");
    let delivery = Delivery { event_type: "message\r\nInjected: yes", ..delivery_to(&url) };
    let attempt = open_client().deliver(delivery).await;
    assert_eq!(attempt.failure.unwrap().as_str(), "connect_failed");
    for url in ["", "example.com", "ftp://example.com/", "https://user@example.com/"] {
        let attempt = open_client().deliver(delivery_to(url)).await;
        assert_eq!(attempt.failure.unwrap().as_str(), "connect_failed", "{url}");
    }
    assert_eq!(receiver.connections().await, 0);
}
