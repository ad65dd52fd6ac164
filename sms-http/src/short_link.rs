//! `GET /l/{code}`: leads whoever follows a short URL to where it stands for, and counts the hit.
//!
//! No key and no rate limit: it is people who come here. They get their page even if the hit cannot
//! be counted, as long as the store can say where the link leads.

use std::fmt::Write;
use std::time::Duration;

use poem::http::header::{ACCEPT, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION, VARY};
use poem::http::{HeaderValue, Method, StatusCode};
use poem::{Endpoint, IntoResponse, Request, Response, RouteMethod};
use sms_core::link::{Link, LinkCode};
use sms_core::{Error, Sms};
use tokio::time::timeout;

use crate::domain_error::causes;
use crate::web::error::ApiError;

/// The path, as the router takes it.
pub const PATH: &str = "/l/:code";
/// The path, as it stands in logs.
pub const PATTERN: &str = "/l/{code}";

/// How long a person waits for the hit to be counted. It is counted all the same when it takes
/// longer.
const PATIENCE: Duration = Duration::from_secs(2);

/// What a browser shows where there is no such link.
const NO_SUCH_LINK: &str = "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
    <meta name=\"viewport\" content=\"width=device-width\">\n<title>Link not found</title>\n\
    <style>body{font:1.1em system-ui,sans-serif;margin:4em auto;max-width:30em;padding:0 1em}\
    </style>\n<h1>Link not found</h1>\n<p>This link leads nowhere. Please check that it was \
    copied whole.</p>\n</html>\n";

/// Serves short URLs: GET counts a hit, HEAD answers the same and counts nothing.
pub fn short_links(sms: &Sms) -> RouteMethod {
    let follow = ShortLinks { sms: sms.clone() };
    RouteMethod::new().get(follow.clone()).head(follow)
}

/// The endpoint behind short URLs.
#[derive(Debug, Clone)]
struct ShortLinks {
    sms: Sms,
}

impl Endpoint for ShortLinks {
    type Output = Response;

    async fn call(&self, request: Request) -> poem::Result<Response> {
        // The form is checked before the store is asked.
        let code = request.raw_path_param("code").and_then(|code| code.parse().ok());
        let found = match code {
            None => None,
            Some(code) if request.method() == Method::HEAD => self.find(code).await?,
            Some(code) => self.follow(code).await?,
        };
        let mut response = match found {
            Some(link) => redirect(&link)?,
            None if wants_page(&request) => not_found_page(),
            None => ApiError::not_found().with_header(VARY, accept()).into_response(),
        };
        if request.method() == Method::HEAD {
            response.set_body(());
        }
        Ok(response)
    }
}

impl ShortLinks {
    async fn find(&self, code: LinkCode) -> Result<Option<Link>, ApiError> {
        Ok(self.sms.link_find(code).await?)
    }

    /// Counts the hit; where that fails or takes too long, the person is led on without.
    async fn follow(&self, code: LinkCode) -> Result<Option<Link>, ApiError> {
        match timeout(PATIENCE, self.sms.link_click(code)).await {
            Ok(Ok(found)) => {
                if found.is_some() {
                    metrics::counter!("sms_link_clicks_total").increment(1);
                }
                return Ok(found);
            }
            Ok(Err(error)) => warn(&error),
            Err(_late) => tracing::warn!("counting a hit on a link takes long; not waited for"),
        }
        self.find(code).await
    }
}

fn warn(error: &Error) {
    metrics::counter!("sms_link_clicks_uncounted_total").increment(1);
    tracing::warn!(error = %causes(error), "a hit on a link could not be counted");
}

fn redirect(link: &Link) -> Result<Response, ApiError> {
    let location = HeaderValue::from_str(&location(&link.url)).map_err(|_| {
        tracing::error!(id = %link.id, "a link leads to what is no header");
        ApiError::internal_error()
    })?;
    // Nobody may keep it: every hit is to be counted. The intake says so in `Cache-Control`.
    Ok(Response::builder().status(StatusCode::FOUND).header(LOCATION, location).finish())
}

/// A URL as a header can hold it: what is no ASCII, and what may not stand in a URL though people
/// write it, percent-encoded as a browser would.
fn location(url: &str) -> String {
    let mut location = String::with_capacity(url.len());
    for byte in url.bytes() {
        match byte {
            b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}' | 0..=0x20 | 0x7F.. => {
                // Writing to a string cannot fail.
                let _ = write!(location, "%{byte:02X}");
            }
            plain => location.push(char::from(plain)),
        }
    }
    location
}

/// Whether it is a browser that asks.
fn wants_page(request: &Request) -> bool {
    let accepted = request.headers().get_all(ACCEPT).iter();
    accepted.filter_map(|value| value.to_str().ok()).any(|value| value.contains("text/html"))
}

fn accept() -> HeaderValue {
    HeaderValue::from_static("Accept")
}

fn not_found_page() -> Response {
    Response::builder()
        .status(StatusCode::NOT_FOUND)
        .header(CONTENT_TYPE, "text/html; charset=utf-8")
        .header(CONTENT_SECURITY_POLICY, "default-src 'none'; style-src 'unsafe-inline'")
        .header(VARY, accept())
        .body(NO_SUCH_LINK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_destination_can_stand_in_a_header_whatever_is_in_it() {
        for (url, expected) in [
            ("https://example.com/a?b=c&d=%20#e", "https://example.com/a?b=c&d=%20#e"),
            ("https://example.com/straße", "https://example.com/stra%C3%9Fe"),
            ("https://bücher.example/", "https://b%C3%BCcher.example/"),
            ("https://example.com/{a}|^b", "https://example.com/%7Ba%7D%7C%5Eb"),
            ("http://[2001:db8::1]/a[0](1)'", "http://[2001:db8::1]/a[0](1)'"),
            ("https://example.com/a b\r\nX: y", "https://example.com/a%20b%0D%0AX:%20y"),
        ] {
            assert_eq!(location(url), expected);
            assert!(HeaderValue::from_str(&location(url)).is_ok());
        }
    }
}
