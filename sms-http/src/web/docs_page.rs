//! The interactive page of an OpenAPI document. It loads nothing from another host.
//!
//! The page is Swagger UI, whose script and style come with the framework. Our 3.1 document
//! replaces the framework's in it, and requests go to the server that the page came from, under
//! whatever name it was reached. A content security policy restricts the browser to this server:
//! it fetches no font, image, script or validator from elsewhere, and sends trial requests only
//! here.

use poem_openapi::OpenApiService;
use serde_json::{Value, json};

use crate::web::page::Page;

/// What a browser may do on behalf of the page.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
                      img-src 'self' data:; font-src data:; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// What the page says and does besides showing its document.
#[derive(Debug, Clone, Copy)]
pub struct DocsPage<'d> {
    /// The document that it shows.
    pub document: &'d Value,
    /// The path of the API, to which trial requests go.
    pub prefix: &'d str,
    /// The other pages: a path and its name.
    pub links: &'d [(&'d str, &'d str)],
}

/// The page with this [`html`].
pub fn docs_page(html: impl FnOnce() -> String + Send + 'static) -> Page {
    Page::new(html, POLICY)
}

/// The page as text.
pub fn html(page: DocsPage<'_>) -> String {
    let DocsPage { document, prefix, links } = page;
    let title = escaped(document["info"]["title"].as_str().unwrap_or("API"));
    let empty = OpenApiService::new((), "", "");
    let placeholder = format!("let spec = {};", empty.spec());
    let mut document = document.clone();
    document["servers"] = json!([{ "url": prefix }]);
    let document = script_literal(&document);
    let links: Vec<String> =
        links.iter().map(|(path, name)| format!("<a href=\"{path}\">{name}</a>")).collect();
    let links = links.join(" ") + " ";
    empty
        .swagger_ui_html()
        .replacen(&placeholder, &format!("let spec = {document};"), 1)
        .replacen("<html charset=\"UTF-8\">", "<!doctype html>\n<html lang=\"en\">", 1)
        .replacen("<title>Swagger UI</title>", &format!("{HEAD}<title>{title}</title>"), 1)
        .replacen("<div id=\"ui\">", &NOTICE.replacen("{links}", &links, 1), 1)
        .replacen("    SwaggerUIBundle({", "    window.docs = SwaggerUIBundle({", 1)
        .replacen("        filter: false,\n", OPTIONS, 1)
}

const HEAD: &str = include_str!("docs_page/head.html");
const NOTICE: &str = include_str!("docs_page/notice.html");
/// Options of Swagger UI.
const OPTIONS: &str = include_str!("docs_page/options.js");

/// JSON that is safe inside a script: it cannot end the script or start a comment.
fn script_literal(document: &Value) -> String {
    document.to_string().replace('<', "\\u003c")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}
