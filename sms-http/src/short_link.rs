//! `GET /l/{code}`: redirects a short URL to its destination, and counts the click.
//!
//! There is no key, because people follow these links. They are redirected even if the click cannot
//! be counted, as long as the store can find the link.
//!
//! Every click raises an event for the account's endpoints. So that nobody can flood them, requests
//! are limited by code and by client address. One that is over a limit gets a 429 and is no click.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use poem::http::header::{ACCEPT, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION, VARY};
use poem::http::{HeaderValue, Method, StatusCode};
use poem::{Endpoint, IntoResponse, Request, Response};
use sms_core::link::{Link, LinkCode};
use sms_core::{Error, Sms};
use tokio::time::timeout;

use crate::rate_limit::crowd::CrowdLimiter;
use crate::rate_limit::{Gcra, Stopwatch};
use crate::web::client_address::{AddressBlock, ClientAddress};
use crate::web::error::ApiError;
use crate::web::operation::{Operation, operation};
use crate::web::path_param::PathParams;
use sms_core::error::causes;

/// The path.
pub const PATTERN: &str = "/l/{code}";

/// How long a person waits for the click to be counted. A slower count continues in the background.
const PATIENCE: Duration = Duration::from_secs(2);

/// How often one code is answered: a second, and at once.
const OF_A_CODE: (u32, u32) = (5, 20);
/// How often a client is answered, whatever the codes.
const OF_A_CLIENT: (u32, u32) = (50, 200);

/// The page that a browser shows for an unknown link.
const NO_SUCH_LINK: &str = "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
    <meta name=\"viewport\" content=\"width=device-width\">\n<title>Link not found</title>\n\
    <style>body{font:1.1em system-ui,sans-serif;margin:4em auto;max-width:30em;padding:0 1em}\
    </style>\n<h1>Link not found</h1>\n<p>This link does not exist. Please check that you \
    copied all of it.</p>\n</html>\n";

/// Serves short URLs. GET counts a click; HEAD gives the same answer and counts nothing. The
/// limits go by `stopwatch`.
pub fn short_links(sms: &Sms, stopwatch: Stopwatch) -> Operation {
    let limits = Arc::new(Limits::new(stopwatch));
    operation(ShortLinks { sms: sms.clone(), limits })
}

/// The endpoint behind short URLs.
#[derive(Debug, Clone)]
struct ShortLinks {
    sms: Sms,
    limits: Arc<Limits>,
}

/// The requests of each code, and of each client.
#[derive(Debug)]
struct Limits {
    codes: CrowdLimiter<LinkCode>,
    clients: CrowdLimiter<AddressBlock>,
}

impl Limits {
    fn new(stopwatch: Stopwatch) -> Self {
        let gcra = |(per_second, burst)| Gcra::new(per_second, burst);
        Self {
            codes: CrowdLimiter::new(gcra(OF_A_CODE), stopwatch.clone()),
            clients: CrowdLimiter::new(gcra(OF_A_CLIENT), stopwatch),
        }
    }

    /// Counts a request. The client comes first, so that a flood of one client uses up no code.
    fn admit(&self, client: Option<AddressBlock>, code: Option<LinkCode>) -> Result<(), ApiError> {
        if let Some(client) = client {
            self.clients.admit(&client).map_err(ApiError::rate_limited)?;
        }
        if let Some(code) = code {
            self.codes.admit(&code).map_err(ApiError::rate_limited)?;
        }
        Ok(())
    }
}

impl Endpoint for ShortLinks {
    type Output = Response;

    async fn call(&self, request: Request) -> poem::Result<Response> {
        // The format is checked before the store is asked.
        let code = request.data::<PathParams>().and_then(|params| params.get("code"));
        let code = code.and_then(|code| code.parse().ok());
        let client = request.data::<ClientAddress>().map(|client| client.block());
        self.limits.admit(client, code)?;
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

    /// Counts the click. If that fails or takes too long, only looks up the link.
    async fn follow(&self, code: LinkCode) -> Result<Option<Link>, ApiError> {
        match timeout(PATIENCE, self.sms.link_click(code)).await {
            Ok(Ok(found)) => {
                if found.is_some() {
                    metrics::counter!("sms_link_clicks_total").increment(1);
                }
                return Ok(found);
            }
            Ok(Err(error)) => warn(&error),
            Err(_late) => {
                tracing::warn!("counting a click is slow; redirected before it was done");
            }
        }
        self.find(code).await
    }
}

fn warn(error: &Error) {
    metrics::counter!("sms_link_clicks_uncounted_total").increment(1);
    tracing::warn!(error = %causes(error), "a click on a link could not be counted");
}

fn redirect(link: &Link) -> Result<Response, ApiError> {
    let location = HeaderValue::from_str(&location(&link.url)).map_err(|_| {
        tracing::error!(id = %link.id, "the destination of a link is not a valid header value");
        ApiError::internal_error()
    })?;
    // No cache may store it, since every click counts. The intake sets `Cache-Control`.
    Ok(Response::builder().status(StatusCode::FOUND).header(LOCATION, location).finish())
}

/// A URL as a header value. Characters outside ASCII, and characters that people write although
/// URLs do not allow them, are percent-encoded as a browser would.
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

/// Whether the client is a browser.
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
    fn every_destination_becomes_a_valid_header_value() {
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
