//! The interactive page of the OpenAPI document. It loads nothing from another host.
//!
//! The page is Swagger UI, whose script and style come with the framework. Our 3.1 document
//! replaces the framework's in it. A content security policy restricts the browser to this server:
//! it fetches no font, image, script or validator from elsewhere, and sends trial requests only
//! here.

use bytes::Bytes;
use poem::endpoint::make_sync;
use poem::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, REFERRER_POLICY};
use poem::{Endpoint, Response};
use poem_openapi::OpenApiService;
use serde_json::Value;

/// What a browser may do on behalf of the page.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
                      img-src 'self' data:; font-src data:; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Serves the page that shows `document`.
pub fn docs_page(document: &Value) -> impl Endpoint<Output = Response> + use<> {
    let page = Bytes::from(html(document));
    make_sync(move |_| {
        Response::builder()
            .content_type("text/html; charset=utf-8")
            .header(CONTENT_SECURITY_POLICY, POLICY)
            .header(CACHE_CONTROL, "no-cache")
            .header(REFERRER_POLICY, "no-referrer")
            .body(page.clone())
    })
}

/// The page as text.
pub fn html(document: &Value) -> String {
    let title = document["info"]["title"].as_str().unwrap_or("API");
    let title = escaped(title);
    let empty = OpenApiService::new((), "", "");
    let placeholder = format!("let spec = {};", empty.spec());
    let document = script_literal(document);
    empty
        .swagger_ui_html()
        .replacen(&placeholder, &format!("let spec = {document};"), 1)
        .replacen("<html charset=\"UTF-8\">", "<!doctype html>\n<html lang=\"en\">", 1)
        .replacen("<title>Swagger UI</title>", &format!("<title>{title}</title>"), 1)
}

/// JSON that is safe inside a script: it cannot end the script or start a comment.
fn script_literal(document: &Value) -> String {
    document.to_string().replace('<', "\\u003c")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}
