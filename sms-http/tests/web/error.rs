//! No answer of the API is without the envelope, whatever is asked.

use poem::http::{Method, StatusCode};
use sms_http::web::serve::ServeLimits;

use crate::sample::{Sample, json};
use crate::socket::Server;

#[tokio::test]
async fn unknown_paths_are_404() {
    let client = Sample::new().client();
    for path in [
        "/",
        "/api/v1",
        "/api/v1/nothing",
        "/api/v1/messages/",
        "/api/v1/messages/a/b/c",
        "/api/v1//messages",
        "/api/v1/messages/%ff",
        "/api/v1/messages/other",
    ] {
        let response = client.get(path).send().await;
        assert_eq!(response.0.status(), StatusCode::NOT_FOUND, "{path}");
        response.assert_content_type("application/json");
        let body = json(response).await;
        assert_eq!(body["error"]["code"], "not_found", "{path}");
        assert!(body["error"]["details"].is_null());
    }
}

#[tokio::test]
async fn other_methods_are_405_and_told_which_there_are() {
    let client = Sample::new().client();
    let made_up = Method::from_bytes(b"BREW").unwrap();
    for method in [Method::PUT, Method::OPTIONS, Method::TRACE, made_up] {
        let response = client.request(method, "/api/v1/messages").send().await;
        response.assert_status(StatusCode::METHOD_NOT_ALLOWED);
        response.assert_header("allow", "GET, HEAD, POST");
        assert_eq!(json(response).await["error"]["code"], "method_not_allowed");
    }
    let head = client.head("/api/v1/messages/msg_1/cancel").send().await;
    head.assert_status(StatusCode::METHOD_NOT_ALLOWED);
    head.assert_header("allow", "POST");
}

#[tokio::test]
async fn head_is_answered_as_get_without_the_body() {
    let head = Sample::new().client().head("/api/v1/messages/msg_1").send().await;
    head.assert_status(StatusCode::OK);
    head.assert_text("").await;
}

#[tokio::test]
async fn odd_requests_over_a_socket_get_an_envelope_too() {
    let server = Server::start(Sample::new().app, ServeLimits::default());
    let long = "a".repeat(9_000);
    for (line, status, code) in [
        ("BREW /api/v1/messages HTTP/1.1", 405, "method_not_allowed"),
        ("get /api/v1/messages HTTP/1.1", 405, "method_not_allowed"),
        ("OPTIONS * HTTP/1.1", 404, "not_found"),
        ("CONNECT example.com:443 HTTP/1.1", 404, "not_found"),
        ("GET http://other/api/v1/nothing HTTP/1.1", 404, "not_found"),
        ("GET /api/v1/messages/%zz HTTP/1.1", 404, "not_found"),
        ("GET /api/v1/messages?limit=%zz HTTP/1.1", 422, "validation_failed"),
        ("GET /api/v1/../../etc HTTP/1.1", 404, "not_found"),
        (&format!("GET /api/v1/{long} HTTP/1.1"), 404, "not_found"),
        (&format!("GET /api/v1/messages?cursor={long} HTTP/1.1"), 422, "validation_failed"),
    ] {
        let answer = server.ask(format!("{line}\r\nHost: x\r\n\r\n")).await;
        assert_eq!((answer.status, answer.code().as_str()), (status, code), "{line}");
        assert!(answer.header("x-request-id").is_some());
    }
}

#[tokio::test]
async fn invalid_http_is_refused_before_there_is_a_request() {
    let server = Server::start(Sample::new().app, ServeLimits::default());
    let answer = server.ask("NONSENSE\r\n\r\n").await;
    assert_eq!(answer.status, 400);
}
