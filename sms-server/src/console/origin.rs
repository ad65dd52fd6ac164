//! Where a request came from: a page of this server, or another site.
//!
//! Browsers say so, and pages cannot change what they say: in `Sec-Fetch-Site` over HTTPS and on
//! localhost, else in `Origin`. A request without either comes from no browser that signed in.

use poem::http::header::{HOST, ORIGIN};
use poem::http::{HeaderMap, HeaderName, StatusCode};
use sms_http::web::error::ApiError;
use sms_http::web::openapi::error_code::{ErrorCode, no_details};

use super::cookie::Over;

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The code for a change that another site wants.
pub(super) const FOREIGN: ErrorCode = ErrorCode {
    code: "foreign_origin",
    status: StatusCode::FORBIDDEN,
    meaning: "The request changes data with the console's cookie, but did not come from a page of \
              this server.",
    remedy: "Use the console itself, or call the API with a key. Behind a proxy that changes \
             `Host`, set `SMS_PUBLIC_URL`.",
    message: "the request did not come from a page of this server",
    details: no_details,
};

/// The origins of this server's pages.
#[derive(Debug, Clone)]
pub(super) struct Site {
    /// Scheme and authority of the public URL; `None` where the pages are not at that URL.
    public: Option<String>,
}

impl Site {
    /// The site with this public URL.
    pub(super) fn of(public_url: &str) -> Self {
        let (scheme, rest) = public_url.split_once("://").unwrap_or_default();
        let authority = rest.split('/').next().unwrap_or_default();
        Self { public: Some(format!("{scheme}://{authority}").to_ascii_lowercase()) }
    }

    /// The site of a listener that has no public URL: it is known by `Host` alone.
    pub(super) fn without_url() -> Self {
        Self { public: None }
    }

    /// Refuses a request that did not come from a page of this site.
    pub(super) fn check(&self, headers: &HeaderMap) -> Result<(), ApiError> {
        if self.is_own(headers) { Ok(()) } else { Err(refused(&FOREIGN)) }
    }

    fn is_own(&self, headers: &HeaderMap) -> bool {
        let text = |name: &HeaderName| {
            let mut values = headers.get_all(name).iter();
            match (values.next(), values.next()) {
                (None, _) => Ok(None),
                (Some(only), None) => only.to_str().map(Some).map_err(drop),
                (Some(_), Some(_)) => Err(()),
            }
        };
        match (text(&FETCH_SITE), text(&ORIGIN), text(&HOST)) {
            (Ok(Some(site)), Ok(_), _) => site == "same-origin",
            (Ok(None), Ok(Some(origin)), Ok(host)) => self.is_origin(origin, host),
            _ => false,
        }
    }

    fn is_origin(&self, origin: &str, host: Option<&str>) -> bool {
        let authority = origin.split_once("://").map(|(_, authority)| authority);
        let is_host = authority.zip(host).is_some_and(|(own, host)| own.eq_ignore_ascii_case(host));
        let is_public = |public: &String| origin.eq_ignore_ascii_case(public);
        is_host || self.public.as_ref().is_some_and(is_public)
    }

    /// How browsers are known to reach this site.
    pub(super) fn reached(&self) -> Over {
        let is_https = self.public.as_ref().is_some_and(|url| url.starts_with("https://"));
        if is_https { Over::Https } else { Over::Http }
    }

    /// How the page of a request was served: the server itself speaks only HTTP, and a proxy before
    /// it may speak HTTPS.
    pub(super) fn over(&self, headers: &HeaderMap) -> Over {
        let origin = headers.get(ORIGIN).and_then(|origin| origin.to_str().ok());
        let mut urls = self.public.as_deref().into_iter().chain(origin);
        if urls.any(|url| url.starts_with("https://")) { Over::Https } else { Over::Http }
    }
}

/// The refusal with this code.
pub(super) fn refused(code: &ErrorCode) -> ApiError {
    ApiError::new(code.status, code.code, code.message)
}

#[cfg(test)]
mod tests {
    use poem::http::HeaderValue;

    use super::*;

    fn headers(lines: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    #[test]
    fn only_pages_of_this_server_count_as_its_own() {
        let site = Site::of("https://Sms.Example.com/below");
        let host = ("host", "127.0.0.1:8080");
        for (lines, is_own) in [
            // What browsers say on localhost and over HTTPS.
            (vec![host, ("sec-fetch-site", "same-origin")], true),
            (vec![host, ("sec-fetch-site", "same-site")], false),
            (vec![host, ("sec-fetch-site", "cross-site")], false),
            (vec![host, ("sec-fetch-site", "none")], false),
            // It goes before `Origin`, as a proxy may have changed `Host`.
            (vec![host, ("sec-fetch-site", "same-origin"), ("origin", "https://a.example")], true),
            (
                vec![host, ("sec-fetch-site", "cross-site"), ("origin", "http://127.0.0.1:8080")],
                false,
            ),
            // What they say over HTTP.
            (vec![host, ("origin", "http://127.0.0.1:8080")], true),
            (vec![host, ("origin", "https://127.0.0.1:8080")], true),
            (vec![host, ("origin", "https://sms.example.com")], true),
            (vec![host, ("origin", "http://sms.example.com")], false),
            (vec![host, ("origin", "http://127.0.0.1:8081")], false),
            (vec![host, ("origin", "http://127.0.0.1")], false),
            (vec![host, ("origin", "https://evil.example.com")], false),
            (vec![host, ("origin", "https://sms.example.com.evil.example.com")], false),
            (vec![host, ("origin", "null")], false),
            (vec![host, ("origin", "")], false),
            (vec![("origin", "http://127.0.0.1:8080")], false),
            // What no browser sends.
            (vec![host], false),
            (vec![], false),
            (vec![host, ("origin", "http://127.0.0.1:8080"), ("origin", "null")], false),
            (
                vec![host, ("sec-fetch-site", "same-origin"), ("sec-fetch-site", "same-origin")],
                false,
            ),
        ] {
            assert_eq!(site.check(&headers(&lines)).is_ok(), is_own, "{lines:?}");
        }
    }

    #[test]
    fn without_a_public_url_only_pages_of_the_host_count_as_own() {
        let site = Site::without_url();
        for (origin, is_own) in [("http://10.0.0.5:9090", true), ("http://10.0.0.5", false)] {
            let headers = headers(&[("host", "10.0.0.5:9090"), ("origin", origin)]);
            assert_eq!(site.check(&headers).is_ok(), is_own, "{origin}");
            assert_eq!(site.over(&headers), Over::Http);
        }
        assert_eq!(site.over(&headers(&[("origin", "https://admin.example.com")])), Over::Https);
    }

    #[test]
    fn the_cookie_is_secure_if_the_public_url_or_the_page_is_https() {
        let origin = |origin| headers(&[("origin", origin)]);
        let (public, local) = (Site::of("https://sms.example.com"), Site::of("http://127.0.0.1:1"));
        assert_eq!(public.over(&headers(&[])), Over::Https);
        assert_eq!(local.over(&headers(&[])), Over::Http);
        assert_eq!(local.over(&origin("http://127.0.0.1:1")), Over::Http);
        assert_eq!(local.over(&origin("https://proxy.example.com")), Over::Https);
    }
}
