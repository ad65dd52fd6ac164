//! Requests on their way: made again where that is safe, and their errors read.

use std::fmt;
use std::time::Duration;

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::header::{ETAG, RETRY_AFTER};
use reqwest::{Method, Response, StatusCode};
use serde::Deserialize;
use serde_json::Value;
use url::Url;

use crate::error::{Arrival, Error, ErrorCode, Refusal};
use crate::etag::ETag;
use crate::random::random_fraction;
use crate::retry::{Repeat, Retries};

pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// A request that may be made several times.
#[derive(Clone)]
pub(crate) struct Outgoing {
    pub method: Method,
    pub url: Url,
    pub accept: HeaderValue,
    pub headers: HeaderMap,
    /// JSON.
    pub body: Option<Vec<u8>>,
    pub repeat: Repeat,
}

/// Shows neither the query, which may have a number, nor the body.
impl fmt::Debug for Outgoing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outgoing").field("method", &self.method).finish_non_exhaustive()
    }
}

impl Outgoing {
    pub(crate) fn get(url: Url) -> Self {
        Self {
            method: Method::GET,
            url,
            accept: JSON,
            headers: HeaderMap::new(),
            body: None,
            repeat: Repeat::Freely,
        }
    }

    pub(crate) fn header(&mut self, name: &'static str, value: &str) {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.insert(HeaderName::from_static(name), value);
        }
    }
}

/// A whole answer.
pub(crate) struct Whole {
    pub bytes: Vec<u8>,
    pub etag: Option<ETag>,
}

/// What requests of one server have in common.
pub(crate) struct Transport {
    pub http: reqwest::Client,
    /// The server's address, without a slash at the end.
    pub server: String,
    /// `Bearer` and the key; marked as sensitive.
    pub authorization: HeaderValue,
    pub retries: Retries,
}

/// Shows no key.
impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transport")
            .field("server", &self.server)
            .field("retries", &self.retries)
            .finish_non_exhaustive()
    }
}

impl Transport {
    /// Makes a request and reads the whole answer.
    pub(crate) async fn whole(&self, outgoing: &Outgoing) -> Result<Whole, Error> {
        let mut attempt = 1;
        loop {
            let result = match self.attempt(outgoing).await {
                Ok(answer) => {
                    let etag = answer.headers().get(ETAG).and_then(|tag| tag.to_str().ok());
                    let etag = etag.map(|tag| ETag::from(tag.to_owned()));
                    let bytes = answer.bytes().await.map_err(|error| self.no_answer(&error));
                    bytes.map(|bytes| Whole { bytes: bytes.into(), etag })
                }
                Err(error) => Err(error),
            };
            match result {
                Ok(whole) => return Ok(whole),
                Err(error) => {
                    wait_or_fail(&self.retries, attempt, error, outgoing.repeat).await?;
                }
            }
            attempt += 1;
        }
    }

    /// Makes a request and gives its answer as soon as it begins.
    pub(crate) async fn open(
        &self,
        outgoing: &Outgoing,
        retries: &Retries,
    ) -> Result<Response, Error> {
        let mut attempt = 1;
        loop {
            match self.attempt(outgoing).await {
                Ok(answer) => return Ok(answer),
                Err(error) => wait_or_fail(retries, attempt, error, outgoing.repeat).await?,
            }
            attempt += 1;
        }
    }

    async fn attempt(&self, outgoing: &Outgoing) -> Result<Response, Error> {
        let Outgoing { method, url, accept, headers, body, repeat: _ } = outgoing;
        let mut request = self
            .http
            .request(method.clone(), url.clone())
            .headers(headers.clone())
            .header(AUTHORIZATION, self.authorization.clone())
            .header(ACCEPT, accept.clone());
        if let Some(body) = body {
            request = request.header(CONTENT_TYPE, JSON).body(body.clone());
        }
        let answer = request.send().await.map_err(|error| self.no_answer(&error))?;
        if answer.status().is_success() { Ok(answer) } else { Err(self.refusal(answer).await) }
    }

    /// Why there is no answer, or not all of it.
    pub(crate) fn no_answer(&self, error: &reqwest::Error) -> Error {
        let arrival = if error.is_connect() { Arrival::Never } else { Arrival::Perhaps };
        // The outer errors name the URL, whose query may hold a number.
        let mut cause: &dyn std::error::Error = error;
        let mut reason =
            if error.is_timeout() { "it took too long" } else { "the connection broke" }.to_owned();
        while let Some(source) = cause.source() {
            cause = source;
            reason = cause.to_string();
        }
        Error::NoAnswer { server: self.server.clone(), reason, arrival }
    }

    async fn refusal(&self, answer: Response) -> Error {
        let status = answer.status();
        let text = |name: &str| Some(answer.headers().get(name)?.to_str().ok()?.to_owned());
        let request_id = text("x-request-id");
        let retry_after = text(RETRY_AFTER.as_str()).and_then(|seconds| seconds.parse().ok());
        let bytes = match answer.bytes().await {
            Ok(bytes) => bytes,
            Err(error) => return self.no_answer(&error),
        };
        let Ok(Envelope { error }) = serde_json::from_slice(&bytes) else {
            return self.not_the_api(status);
        };
        Error::Refused(Box::new(Refusal {
            status: status.as_u16(),
            code: error.code,
            message: error.message,
            details: error.details,
            doc_url: error.doc_url.map(|path| self.absolute(path)),
            request_id,
            retry_after: retry_after.map(Duration::from_secs),
        }))
    }

    fn not_the_api(&self, status: StatusCode) -> Error {
        Error::NotTheApi { server: self.server.clone(), status: status.as_u16() }
    }

    fn absolute(&self, path: String) -> String {
        if path.starts_with('/') { format!("{}{path}", self.server) } else { path }
    }
}

async fn wait_or_fail(
    retries: &Retries,
    attempt: u32,
    error: Error,
    repeat: Repeat,
) -> Result<(), Error> {
    match retries.wait(attempt, &error, repeat, random_fraction()) {
        Some(wait) => tokio::time::sleep(wait).await,
        None => return Err(error),
    }
    Ok(())
}

/// The envelope of an error.
#[derive(Deserialize)]
struct Envelope {
    error: Told,
}

#[derive(Deserialize)]
struct Told {
    code: ErrorCode,
    message: String,
    #[serde(default)]
    details: Value,
    doc_url: Option<String>,
}
