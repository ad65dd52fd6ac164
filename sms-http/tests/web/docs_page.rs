//! The page of the document works without a network.

use sms_http::web::docs_page::DocsPage;

use crate::sample::Sample;

async fn page() -> (poem::http::HeaderMap, String) {
    let response = Sample::new().client().get("/docs").send().await;
    response.assert_status_is_ok();
    response.assert_content_type("text/html; charset=utf-8");
    let headers = response.0.headers().clone();
    (headers, response.0.into_body().into_string().await.unwrap())
}

#[tokio::test]
async fn the_page_holds_our_document_and_the_script() {
    let (_, html) = page().await;
    assert!(html.contains(r#""openapi":"3.1.0""#));
    assert!(html.contains("message_send"));
    assert!(html.contains("SwaggerUIBundle"));
    assert!(html.contains("<title>Sample API</title>"));
    assert!(!html.contains(r#""openapi": "3.0.0""#));
}

#[tokio::test]
async fn nothing_in_the_page_is_loaded_from_anywhere() {
    let (_, html) = page().await;
    for loads in ["<link", " src=\"", " src='", "@import", "url(http", "url(//", "url(\"http"] {
        let end = html.rfind("<body>").expect("a body");
        assert!(!html[..end].contains(&format!("{loads}http")), "{loads}");
        assert!(!html[end..].contains(loads), "{loads}");
    }
    assert!(!html.contains("<script src"));
    assert!(!html.contains("rel=\"stylesheet\""));
}

#[tokio::test]
async fn the_browser_is_restricted_to_this_server() {
    let (headers, _) = page().await;
    let policy = headers["content-security-policy"].to_str().unwrap();
    assert!(policy.contains("default-src 'none'") && policy.contains("connect-src 'self'"));
    assert!(!policy.contains("http"));
}

#[test]
fn a_document_cannot_end_the_script() {
    let document = serde_json::json!({ "info": { "title": "</title>&</script><b>" } });
    let page = DocsPage { document: &document, prefix: "/api/v1", links: &[] };
    let html = sms_http::web::docs_page::html(page);
    assert!(!html.contains("<b>\""));
    assert!(html.contains("<title>&lt;/title>&amp;&lt;/script>&lt;b></title>"));
}

#[tokio::test]
async fn requests_go_to_the_server_that_the_page_came_from() {
    let (_, html) = page().await;
    assert!(html.contains(r#""servers":[{"url":"/api/v1"}]"#));
}

#[tokio::test]
async fn the_page_warns_of_live_keys_and_keeps_a_key_only_if_asked() {
    let (_, html) = page().await;
    assert!(html.contains("A live key sends messages and charges credits."));
    assert!(html.contains("persistAuthorization: keeps") && html.contains("askFirst"));
}
