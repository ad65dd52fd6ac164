//! How an attempt ends after each kind of answer, and after none.

use std::time::Duration;

use sms_webhooks::{Attempt, DeliveryError, KEPT_ANSWER_BYTES};
use tokio::net::TcpListener;

use crate::receiver::{Behaviour, Receiver, answer};
use crate::{delivery_to, hasty_client, open_client};

async fn attempt_at(behaviour: Behaviour) -> Attempt {
    let receiver = Receiver::start(behaviour).await;
    open_client().deliver(delivery_to(&receiver.url("/"))).await
}

async fn hasty_attempt_at(behaviour: Behaviour) -> Attempt {
    let receiver = Receiver::start(behaviour).await;
    let attempt = hasty_client().deliver(delivery_to(&receiver.url("/"))).await;
    assert!(attempt.duration >= Duration::from_millis(300), "{attempt:?}");
    assert!(attempt.duration < Duration::from_secs(5), "{attempt:?}");
    attempt
}

#[tokio::test]
async fn any_2xx_is_a_success() {
    for status in ["200 OK", "201 Created", "202 Accepted", "299 Whatever"] {
        let attempt = attempt_at(answer(status, "", "thanks")).await;
        assert_eq!(attempt.status_code, Some(status[..3].parse().unwrap()));
        assert_eq!(attempt.failure, None);
        assert_eq!(attempt.response_body, b"thanks");
    }
    let without_body = b"HTTP/1.1 204 No Content\r\n\r\n".to_vec();
    let attempt = attempt_at(Behaviour::Answer(without_body)).await;
    assert_eq!((attempt.status_code, attempt.failure), (Some(204), None));
    assert!(attempt.response_body.is_empty());
}

#[tokio::test]
async fn any_other_status_is_a_failure_with_its_code_and_body() {
    for status in [
        "304 Not Modified",
        "400 Bad Request",
        "404 Not Found",
        "410 Gone",
        "429 Too Many Requests",
        "500 Internal Server Error",
        "503 Service Unavailable",
    ] {
        let body = if status.starts_with("304") { "" } else { "no" };
        let attempt = attempt_at(answer(status, "", body)).await;
        assert_eq!(attempt.status_code, Some(status[..3].parse().unwrap()));
        assert_eq!(attempt.failure, Some(DeliveryError::HttpStatus));
        assert_eq!(attempt.response_body, body.as_bytes());
    }
}

#[tokio::test]
async fn an_attempt_says_for_how_long_the_endpoint_asks_to_wait() {
    for (headers, expected) in [
        ("", None),
        ("retry-after: soon\r\n", None),
        ("retry-after: 17\r\n", Some(Duration::from_secs(17))),
        ("retry-after: Sun, 06 Nov 1994 08:49:37 GMT\r\n", Some(Duration::ZERO)),
    ] {
        let attempt = attempt_at(answer("429 Too Many Requests", headers, "")).await;
        assert_eq!(attempt.retry_after, expected, "{headers}");
    }
    let far = "retry-after: Fri, 31 Dec 9999 23:59:59 GMT\r\n";
    let attempt = attempt_at(answer("503 Service Unavailable", far, "")).await;
    assert!(attempt.retry_after.is_some_and(|wait| wait > Duration::from_mins(5)));
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let target = Receiver::start(answer("200 OK", "", "")).await;
    for status in [
        "301 Moved Permanently",
        "302 Found",
        "303 See Other",
        "307 Temporary Redirect",
        "308 Permanent Redirect",
    ] {
        let location = format!("location: {}\r\n", target.url("/elsewhere"));
        let attempt = attempt_at(answer(status, &location, "")).await;
        assert_eq!(attempt.status_code, Some(status[..3].parse().unwrap()));
        assert_eq!(attempt.failure, Some(DeliveryError::HttpStatus));
    }
    assert_eq!(target.connections().await, 0);
}

#[tokio::test]
async fn a_refused_connection_is_connect_failed() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    for url in [format!("http://{address}/"), format!("https://{address}/")] {
        let attempt = open_client().deliver(delivery_to(&url)).await;
        assert_eq!(
            (attempt.status_code, attempt.failure),
            (None, Some(DeliveryError::ConnectFailed))
        );
    }
}

#[tokio::test]
async fn a_receiver_that_hangs_up_or_talks_garbage_is_connect_failed() {
    let behaviours = [
        Behaviour::CloseAtOnce,
        Behaviour::CloseAfterRequest,
        Behaviour::Answer(b"\x00\x01\x02 this is not HTTP\r\n\r\n".to_vec()),
        Behaviour::Answer(b"SSH-2.0-OpenSSH_9.9\r\n".to_vec()),
        Behaviour::Answer(b"HTTP/1.1 20".to_vec()),
        Behaviour::Answer(b"HTTP/1.1 999999 Odd\r\n\r\n".to_vec()),
    ];
    for behaviour in behaviours {
        let attempt = attempt_at(behaviour.clone()).await;
        let found = (attempt.status_code, attempt.failure);
        assert_eq!(found, (None, Some(DeliveryError::ConnectFailed)), "{behaviour:?}");
        assert!(attempt.response_body.is_empty());
    }
}

#[tokio::test]
async fn no_answer_is_a_timeout() {
    let attempt = hasty_attempt_at(Behaviour::NeverAnswer).await;
    assert_eq!((attempt.status_code, attempt.failure), (None, Some(DeliveryError::Timeout)));
}

#[tokio::test]
async fn a_dripping_head_is_a_timeout() {
    let behaviour = Behaviour::Drip {
        at_once: b"HTTP/1.1 200 OK\r\n".to_vec(),
        then: format!("x-padding: {}\r\n\r\n", "a".repeat(10_000)).into_bytes(),
    };
    let attempt = hasty_attempt_at(behaviour).await;
    assert_eq!((attempt.status_code, attempt.failure), (None, Some(DeliveryError::Timeout)));
}

#[tokio::test]
async fn endless_interim_answers_are_a_timeout() {
    let behaviour = Behaviour::Drip {
        at_once: b"HTTP/1.1 102 Processing\r\n\r\n".repeat(3),
        then: b"HTTP/1.1 102 Processing\r\n\r\n".repeat(1_000),
    };
    let attempt = hasty_attempt_at(behaviour).await;
    assert_eq!((attempt.status_code, attempt.failure), (None, Some(DeliveryError::Timeout)));
}

#[tokio::test]
async fn a_dripping_body_after_2xx_is_a_success_that_ends_at_the_deadline() {
    let behaviour = Behaviour::Drip {
        at_once: b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\nfirst".to_vec(),
        then: vec![b'.'; 99_995],
    };
    let attempt = hasty_attempt_at(behaviour).await;
    assert_eq!((attempt.status_code, attempt.failure), (Some(200), None));
    assert!(attempt.response_body.starts_with(b"first"));
}

#[tokio::test]
async fn a_dripping_body_after_5xx_is_still_about_the_status() {
    let behaviour = Behaviour::Drip {
        at_once: b"HTTP/1.1 500 Oops\r\ncontent-length: 100000\r\n\r\n".to_vec(),
        then: vec![b'.'; 100_000],
    };
    let attempt = hasty_attempt_at(behaviour).await;
    assert_eq!(
        (attempt.status_code, attempt.failure),
        (Some(500), Some(DeliveryError::HttpStatus))
    );
}

#[tokio::test]
async fn a_body_that_breaks_off_after_2xx_is_a_success() {
    let broken = b"HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\nhalf".to_vec();
    let attempt = attempt_at(Behaviour::Answer(broken)).await;
    assert_eq!((attempt.status_code, attempt.failure), (Some(200), None));
    assert_eq!(attempt.response_body, b"half");
}

#[tokio::test]
async fn a_flood_is_read_no_further_than_needed() {
    let heads = [
        "HTTP/1.1 200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 9999999999999\r\n\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nfffffffffff\r\n",
    ];
    for head in heads {
        let mut receiver = Receiver::start(Behaviour::Flood(head.into())).await;
        // The deadline is eight seconds away: the cap ends the attempt.
        let attempt = open_client().deliver(delivery_to(&receiver.url("/"))).await;
        assert_eq!((attempt.status_code, attempt.failure), (Some(200), None));
        assert_eq!(attempt.response_body, vec![b'0'; KEPT_ANSWER_BYTES]);
        assert!(attempt.duration < Duration::from_secs(8), "{attempt:?}");
        // This includes the bytes in the kernel's socket buffers.
        let written = receiver.flooded_bytes().await;
        assert!(written < 32 * 1_024 * 1_024, "{written} bytes were taken");
    }
}

#[tokio::test]
async fn an_endless_head_is_given_up() {
    let head = b"HTTP/1.1 200 OK\r\nx-padding: ".to_vec();
    let receiver = Receiver::start(Behaviour::Flood(head)).await;
    let attempt = open_client().deliver(delivery_to(&receiver.url("/"))).await;
    assert_eq!((attempt.status_code, attempt.failure), (None, Some(DeliveryError::ConnectFailed)));
    assert!(attempt.duration < Duration::from_secs(8), "{attempt:?}");
}

#[tokio::test]
async fn the_body_is_kept_to_its_first_1024_bytes_and_need_not_be_text() {
    let mut bytes = b"HTTP/1.1 200 OK\r\ncontent-length: 1025\r\n\r\n".to_vec();
    let body: Vec<u8> = (0..=255).cycle().take(1_025).collect();
    bytes.extend_from_slice(&body);
    let attempt = attempt_at(Behaviour::Answer(bytes)).await;
    assert_eq!(attempt.response_body, &body[..1_024]);
}

#[tokio::test]
async fn a_compressed_body_is_kept_as_it_came() {
    let headers = "content-encoding: gzip\r\n";
    let attempt = attempt_at(answer("200 OK", headers, "not really gzip")).await;
    assert_eq!(attempt.failure, None);
    assert_eq!(attempt.response_body, b"not really gzip");
}
