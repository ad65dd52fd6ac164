//! One delivery attempt over HTTP: guarded, signed, bounded in time and in what it reads.
//!
//! Each call makes exactly one request. The client does not retry, follow redirects, use proxies or
//! reuse connections. The core decides on retries and on the next endpoint.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use reqwest::header::{CONTENT_TYPE, HeaderMap, RETRY_AFTER};
use rustls::pki_types::CertificateDer;
use sms_core::ids::AccountId;
use sms_core::webhook::delivery::DeliveryError;
use sms_core::webhook::sender::UrlRefused;
use thiserror::Error;
use tokio::time::{Instant, timeout};

use crate::address::Reach;
use crate::dns::DnsResolver;
use crate::endpoint_url::EndpointUrl;
use crate::failure::{failure_of, failure_of_lookup, failure_of_url};
use crate::lookup_turns::{LookupLimits, LookupTurns};
use crate::resolver::{CheckedAddresses, Guard, GuardError, Resolve, connecting_to};
use crate::retry_after;
use crate::signature::{DELIVERY_HEADER, EVENT_HEADER, SIGNATURE_HEADER, sign_with_each};
use crate::standard_signature::{
    STANDARD_ID_HEADER, STANDARD_SIGNATURE_HEADER, STANDARD_TIMESTAMP_HEADER, sign_standard,
};

/// How many bytes of an answer's body are read before the connection is closed. The last read may
/// exceed this by one read buffer.
pub const READ_ANSWER_BYTES: usize = 16 * 1_024;

/// How many bytes of an answer's body are kept.
pub const KEPT_ANSWER_BYTES: usize = 1_024;

/// The settings of a [`WebhookClient`]. The defaults suit production.
#[derive(Debug, Clone)]
pub struct WebhookClientConfig {
    /// The timeout of an attempt: lookup, connection, TLS, request and answer together.
    /// 8 seconds by default.
    pub timeout: Duration,
    /// Which addresses may be reached. Public ones only by default.
    pub reach: Reach,
    /// Resolves host names. `None`, the default, asks the system's name servers
    /// ([`DnsResolver::system`]).
    pub resolver: Option<Arc<dyn Resolve>>,
    /// How many names are looked up at once: 4 for each account and 256 in all by default.
    pub lookups: LookupLimits,
    /// The timeout of the lookup when an endpoint is registered. 3 seconds by default.
    pub lookup_timeout: Duration,
    /// What registration does with a name that does not resolve. Accepted by default.
    pub unresolved_names: UnresolvedNames,
    /// Certificates (DER) to trust besides the public authorities, such as a company's own.
    /// None by default.
    pub additional_roots: Vec<Vec<u8>>,
}

impl Default for WebhookClientConfig {
    fn default() -> WebhookClientConfig {
        WebhookClientConfig {
            timeout: Duration::from_secs(8),
            reach: Reach::default(),
            resolver: None,
            lookups: LookupLimits::default(),
            lookup_timeout: Duration::from_secs(3),
            unresolved_names: UnresolvedNames::default(),
            additional_roots: Vec::new(),
        }
    }
}

/// What registration does with a name that does not resolve in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UnresolvedNames {
    /// Accept the URL: the name may exist tomorrow, or a name server may be down for a moment.
    /// Every delivery checks again. The default.
    #[default]
    Accept,
    /// Refuse the URL with [`UrlRefused::DnsFailed`].
    Refuse,
}

/// Why a client could not be created.
#[derive(Debug, Error)]
pub enum ClientError {
    /// TLS could not be set up, or one of the
    /// [`additional_roots`](WebhookClientConfig::additional_roots) is not a certificate.
    #[error("cannot set up TLS for webhooks")]
    Tls(#[from] rustls::Error),
    /// The resolver could not be set up.
    #[error("cannot set up the resolver for webhooks")]
    Dns(#[source] std::io::Error),
    /// The HTTP client could not be set up.
    #[error("cannot set up the HTTP client for webhooks")]
    Http(#[from] reqwest::Error),
}

/// One delivery to attempt. `Debug` shows neither URL, secret nor body.
#[derive(Clone)]
pub struct Delivery<'a> {
    /// The account of the endpoint, which waits for its own look-ups alone.
    pub account: AccountId,
    /// The endpoint's URL as registered.
    pub url: &'a str,
    /// The endpoint's secrets, `whsec_` included: the current one, and an old one that is still
    /// valid.
    pub secrets: &'a [&'a str],
    /// The event's type, such as `message.sent`.
    pub event_type: &'a str,
    /// The delivery's id (`whd_…`), the same on every attempt.
    pub delivery_id: &'a str,
    /// The JSON body, sent byte for byte.
    pub body: Arc<str>,
}

impl fmt::Debug for Delivery<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Delivery")
            .field("event_type", &self.event_type)
            .field("delivery_id", &self.delivery_id)
            .field("body_bytes", &self.body.len())
            .finish_non_exhaustive()
    }
}

/// The result of one attempt. `Debug` shows the length of the answer's body, not the body.
#[derive(Clone, PartialEq, Eq)]
pub struct Attempt {
    /// The answer's status, if a status line arrived in time.
    pub status_code: Option<u16>,
    /// Why the attempt failed; `None` after a 2xx status.
    pub failure: Option<DeliveryError>,
    /// How long the answer's `Retry-After` asks to wait; `None` without such a header.
    pub retry_after: Option<Duration>,
    /// How long the attempt took, including reading the answer.
    pub duration: Duration,
    /// The first [`KEPT_ANSWER_BYTES`] of the answer's body, or as many as arrived in time.
    pub response_body: Vec<u8>,
}

impl fmt::Debug for Attempt {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Attempt")
            .field("status_code", &self.status_code)
            .field("failure", &self.failure)
            .field("retry_after", &self.retry_after)
            .field("duration", &self.duration)
            .field("response_body_bytes", &self.response_body.len())
            .finish()
    }
}

/// Checks endpoint URLs and delivers to them. Cheap to clone.
#[derive(Debug, Clone)]
pub struct WebhookClient {
    http: reqwest::Client,
    guard: Guard,
    turns: LookupTurns,
    timeout: Duration,
    lookup_timeout: Duration,
    unresolved_names: UnresolvedNames,
}

impl WebhookClient {
    /// A client with these settings. Proxy settings of the environment are ignored.
    ///
    /// # Errors
    ///
    /// [`ClientError`] when TLS or the HTTP client cannot be set up.
    pub fn new(config: WebhookClientConfig) -> Result<WebhookClient, ClientError> {
        let resolver = match config.resolver {
            Some(resolver) => resolver,
            None => Arc::new(DnsResolver::system().map_err(ClientError::Dns)?),
        };
        let http = reqwest::Client::builder()
            .tls_backend_preconfigured(tls_config(&config.additional_roots)?)
            .dns_resolver(Arc::new(CheckedAddresses))
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .no_proxy()
            .referer(false)
            // No connection is reused: each delivery resolves the name and checks it again.
            .pool_max_idle_per_host(0)
            .http1_only()
            .http1_title_case_headers()
            // Divided among a name's addresses, so that an unreachable one leaves time for others.
            .connect_timeout(config.timeout)
            .user_agent(concat!("sms-webhooks/", env!("CARGO_PKG_VERSION")))
            .build()?;
        Ok(WebhookClient {
            http,
            guard: Guard::new(config.reach, resolver),
            turns: LookupTurns::new(config.lookups),
            timeout: config.timeout,
            lookup_timeout: config.lookup_timeout,
            unresolved_names: config.unresolved_names,
        })
    }

    /// Checks whether `url` may be registered as an endpoint, as far as the URL itself shows.
    ///
    /// # Errors
    ///
    /// [`UrlRefused`], but not [`UrlRefused::DnsFailed`].
    pub fn check_form(&self, url: &str) -> Result<(), UrlRefused> {
        EndpointUrl::parse(url, self.guard.reach()).map(drop)
    }

    /// Checks whether `url` may be registered as an endpoint of `account`: the URL itself, and
    /// every address that its host name resolves to now.
    ///
    /// # Errors
    ///
    /// [`UrlRefused`]; [`UrlRefused::DnsFailed`] only under [`UnresolvedNames::Refuse`].
    pub async fn check_url(&self, account: AccountId, url: &str) -> Result<(), UrlRefused> {
        let endpoint = EndpointUrl::parse(url, self.guard.reach())?;
        let Some(name) = endpoint.name() else {
            return Ok(());
        };
        let unresolved = match (self.unresolved_names, self.guard.reach()) {
            // No result of the lookup could change the verdict.
            (UnresolvedNames::Accept, Reach::AnyAddress) => return Ok(()),
            (UnresolvedNames::Accept, Reach::PublicOnly) => Ok(()),
            (UnresolvedNames::Refuse, _) => Err(UrlRefused::DnsFailed),
        };
        match timeout(self.lookup_timeout, self.look_up(account, name)).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(GuardError::Forbidden)) => Err(UrlRefused::ForbiddenAddress),
            Ok(Err(GuardError::NotResolved(_))) | Err(_) => unresolved,
        }
    }

    /// Makes one attempt: a signed POST that ends within the configured timeout.
    ///
    /// The status line decides. After a 2xx status the attempt succeeds, even if the body is cut
    /// off or still arriving at the deadline. At most [`READ_ANSWER_BYTES`] of it are read. The
    /// signature's `t` is the machine's real time, whichever clock the core uses. A failure is a
    /// [`DeliveryError`] in the result; the call itself cannot fail.
    pub async fn deliver(&self, delivery: Delivery<'_>) -> Attempt {
        let started = Instant::now();
        let attempt = match self.exchange(&delivery, started).await {
            Ok(Answer { status, retry_after, body }) => Attempt {
                status_code: Some(status.as_u16()),
                failure: (!status.is_success()).then_some(DeliveryError::HttpStatus),
                retry_after,
                duration: started.elapsed(),
                response_body: body,
            },
            Err(failure) => Attempt {
                status_code: None,
                failure: Some(failure),
                retry_after: None,
                duration: started.elapsed(),
                response_body: Vec::new(),
            },
        };
        tracing::debug!(
            delivery_id = delivery.delivery_id,
            event_type = delivery.event_type,
            status_code = attempt.status_code,
            failure = attempt.failure.map(DeliveryError::as_str),
            duration_ms = attempt.duration.as_millis(),
            "webhook attempt ended"
        );
        attempt
    }

    /// The addresses of `name`, all of them permitted, once it is the account's turn.
    async fn look_up(&self, account: AccountId, name: &str) -> Result<Vec<IpAddr>, GuardError> {
        let _turn = self.turns.take(account).await;
        self.guard.addresses(name).await
    }

    async fn exchange(
        &self,
        delivery: &Delivery<'_>,
        started: Instant,
    ) -> Result<Answer, DeliveryError> {
        let sending = timeout(self.timeout, self.send(delivery)).await;
        let mut response = sending.map_err(|_| DeliveryError::Timeout)??;
        let status = response.status();
        let retry_after = retry_after_of(response.headers());
        let remaining = self.timeout.saturating_sub(started.elapsed());
        let body = start_of_body(&mut response, remaining).await;
        Ok(Answer { status, retry_after, body })
    }

    /// Looks the host name up, and sends the request to the addresses that were permitted.
    ///
    /// Checks the URL again: an address written in it never reaches the resolver, and the settings
    /// may have changed since registration.
    async fn send(&self, delivery: &Delivery<'_>) -> Result<reqwest::Response, DeliveryError> {
        let endpoint =
            EndpointUrl::parse(delivery.url, self.guard.reach()).map_err(failure_of_url)?;
        let addresses = match endpoint.name() {
            Some(name) => {
                let found = self.look_up(delivery.account, name).await;
                found.map_err(|error| failure_of_lookup(&error))?
            }
            None => Vec::new(),
        };
        let request = self.request(delivery, &endpoint);
        connecting_to(addresses, request.send()).await.map_err(|error| {
            if error.is_builder() {
                // The core writes ids and event types, so this is a bug.
                let delivery_id = delivery.delivery_id;
                tracing::error!(delivery_id, "cannot build the webhook request");
            }
            failure_of(&error)
        })
    }

    fn request(&self, delivery: &Delivery<'_>, endpoint: &EndpointUrl) -> reqwest::RequestBuilder {
        let Delivery { secrets, delivery_id, .. } = *delivery;
        let (now, text) = (real_unix_seconds(), delivery.body.as_bytes());
        let body = Bytes::from_owner(SharedText(Arc::clone(&delivery.body)));
        self.http
            .post(endpoint.as_url().clone())
            .header(CONTENT_TYPE, "application/json")
            .header(EVENT_HEADER, delivery.event_type)
            .header(DELIVERY_HEADER, delivery_id)
            .header(SIGNATURE_HEADER, sign_with_each(secrets, now, text))
            .header(STANDARD_ID_HEADER, delivery_id)
            .header(STANDARD_TIMESTAMP_HEADER, now)
            .header(STANDARD_SIGNATURE_HEADER, sign_standard(secrets, delivery_id, now, text))
            .body(body)
    }
}

struct Answer {
    status: reqwest::StatusCode,
    retry_after: Option<Duration>,
    body: Vec<u8>,
}

/// The body as bytes, shared rather than copied.
struct SharedText(Arc<str>);

impl AsRef<[u8]> for SharedText {
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

/// Reads until the body ends, an error occurs, [`READ_ANSWER_BYTES`] are read or `remaining` has
/// passed. Returns the first [`KEPT_ANSWER_BYTES`] of what arrived.
async fn start_of_body(response: &mut reqwest::Response, remaining: Duration) -> Vec<u8> {
    let mut kept = Vec::new();
    let reading = async {
        let mut read = 0;
        while read < READ_ANSWER_BYTES {
            let Ok(Some(chunk)) = response.chunk().await else {
                return;
            };
            read += chunk.len();
            let room = KEPT_ANSWER_BYTES - kept.len();
            kept.extend_from_slice(&chunk[..chunk.len().min(room)]);
        }
    };
    // The deadline only ends the reading: the status line has already decided.
    let _in_time = timeout(remaining, reading).await;
    kept
}

/// TLS 1.2 and 1.3 that trust the public authorities and `additional_roots` (DER). No crypto
/// provider is installed for the process, so a program that embeds this crate keeps its choice.
///
/// # Errors
///
/// When an additional root is not a certificate.
pub fn tls_config(additional_roots: &[Vec<u8>]) -> Result<rustls::ClientConfig, rustls::Error> {
    let mut roots = rustls::RootCertStore::empty();
    roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    for root in additional_roots {
        roots.add(CertificateDer::from_slice(root))?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(config)
}

fn retry_after_of(headers: &HeaderMap) -> Option<Duration> {
    retry_after::parse(headers.get(RETRY_AFTER)?.to_str().ok()?, real_time())
}

#[expect(clippy::disallowed_methods, reason = "other machines see real time, not the core's clock")]
fn real_time() -> SystemTime {
    SystemTime::now()
}

fn real_unix_seconds() -> i64 {
    let since_epoch = real_time().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since_epoch.as_secs()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_holds_no_url_secret_or_body() {
        let delivery = Delivery {
            account: AccountId::from_u128(1),
            url: "https://example.com/canary",
            secrets: &["whsec_canary"],
            event_type: "message.sent",
            delivery_id: "whd_1",
            body: "{\"body\":\"canary\"}".into(),
        };
        let attempt = Attempt {
            status_code: Some(200),
            failure: None,
            retry_after: None,
            duration: Duration::from_millis(12),
            response_body: b"canary".to_vec(),
        };
        let shown = format!("{delivery:?} {attempt:?}");
        assert!(shown.contains("whd_1") && shown.contains("200"), "{shown}");
        // Bytes would show as numbers: 99 is the letter c.
        assert!(!shown.contains("canary") && !shown.contains("[99"), "{shown}");
    }

    #[test]
    fn a_root_that_is_not_a_certificate_is_an_error() {
        let config = WebhookClientConfig {
            additional_roots: vec![b"not a certificate".to_vec()],
            ..WebhookClientConfig::default()
        };
        assert!(matches!(WebhookClient::new(config), Err(ClientError::Tls(_))));
    }

    #[test]
    fn the_defaults_are_those_of_the_specification() {
        let config = WebhookClientConfig::default();
        assert_eq!(config.timeout, Duration::from_secs(8));
        assert_eq!(config.reach, Reach::PublicOnly);
    }
}
