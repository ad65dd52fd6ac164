//! Pages for browsers: made when one is first asked for, compressed once, and cached by their
//! `ETag`.

use std::io::{self, Write};
use std::sync::{Arc, LazyLock, OnceLock};

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use poem::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, ETAG, IF_NONE_MATCH,
    REFERRER_POLICY, VARY,
};
use poem::http::{HeaderMap, HeaderName, StatusCode};
use poem::{Endpoint, Request, Response};
use sha2::{Digest, Sha256};

/// A page that never changes while the server runs.
#[derive(Debug, Clone)]
pub struct Page(Arc<LazyLock<Content, MakeContent>>);

type MakeContent = Box<dyn FnOnce() -> Content + Send>;

#[derive(Debug)]
struct Content {
    plain: Bytes,
    policy: &'static str,
    etag: String,
    /// Made when a browser first asks for it.
    compressed: OnceLock<Option<Bytes>>,
}

impl Page {
    /// A page of HTML, with its content security policy.
    pub fn new(html: impl FnOnce() -> String + Send + 'static, policy: &'static str) -> Self {
        Self(Arc::new(LazyLock::new(Box::new(move || Content::new(html(), policy)))))
    }

    fn answer(&self, asked: &HeaderMap) -> Response {
        let Content { plain, policy, etag, compressed } = &**self.0;
        let response = Response::builder()
            .header(ETAG, etag)
            .header(CACHE_CONTROL, "no-cache")
            .header(VARY, ACCEPT_ENCODING)
            .header(CONTENT_SECURITY_POLICY, *policy)
            .header(REFERRER_POLICY, "no-referrer");
        if lists(asked, &IF_NONE_MATCH, etag) {
            return response.status(StatusCode::NOT_MODIFIED).finish();
        }
        let response = response.content_type("text/html; charset=utf-8");
        let compressed = lists(asked, &ACCEPT_ENCODING, "gzip")
            .then(|| compressed.get_or_init(|| gzip(plain).ok()).clone())
            .flatten();
        match compressed {
            Some(bytes) => response.header(CONTENT_ENCODING, "gzip").body(bytes),
            None => response.body(plain.clone()),
        }
    }
}

impl Content {
    fn new(html: String, policy: &'static str) -> Self {
        let digest = Sha256::digest(html.as_bytes());
        let number =
            digest.iter().take(16).fold(0_u128, |number, byte| (number << 8) | u128::from(*byte));
        let etag = format!("W/\"{number:032x}\"");
        Self { plain: Bytes::from(html), policy, etag, compressed: OnceLock::new() }
    }
}

impl Endpoint for Page {
    type Output = Response;

    async fn call(&self, request: Request) -> poem::Result<Response> {
        Ok(self.answer(request.headers()))
    }
}

/// Whether a header lists this value, without a weight of zero.
pub fn lists(headers: &HeaderMap, name: &HeaderName, wanted: &str) -> bool {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|item| {
        let mut parts = item.split(';').map(str::trim);
        let is_wanted = parts.next() == Some(wanted);
        is_wanted && !parts.any(|part| matches!(part, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"))
    })
}

fn gzip(bytes: &[u8]) -> io::Result<Bytes> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?.into())
}
