//! The trait through which deliveries are sent. `sms-webhooks` implements it over HTTP; a
//! simulation or a test brings another implementation.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;

use super::delivery::DeliveryError;
use super::rotation::SigningSecrets;
use super::secret::Secret;
use crate::event::{EventBody, EventType};
use crate::ids::{AccountId, DeliveryId};

/// One attempt to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookRequest<S = Secret> {
    /// The account of the endpoint.
    pub account: AccountId,
    /// The URL to call.
    pub url: String,
    /// The secrets that sign the request.
    pub secrets: SigningSecrets<S>,
    /// The id of the delivery, the same in every attempt.
    pub delivery: DeliveryId,
    /// The kind of event that it carries.
    pub event_type: EventType,
    /// The bytes that it carries.
    pub body: EventBody,
}

/// The result of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookAnswer {
    /// Success (a 2xx in time), or the cause of the failure.
    pub result: Result<(), DeliveryError>,
    /// The status code of the answer; `None` without an answer.
    pub status_code: Option<u16>,
    /// How long the endpoint asked to wait before the next request (`Retry-After`); `None` if it
    /// did not say.
    pub retry_after: Option<Duration>,
    /// How long the attempt took.
    pub duration: Duration,
    /// The first 1,024 bytes of the answer's body.
    pub response_body: Vec<u8>,
}

/// Why a URL cannot be an endpoint's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UrlRefused {
    /// It is no URL, or has no host.
    #[error("not a valid URL; give one such as https://example.com/hook")]
    Malformed,
    /// It is longer than 2,048 characters.
    #[error("a URL may have at most 2,048 characters")]
    TooLong,
    /// Its scheme is neither http nor https.
    #[error("the URL must start with http:// or https://")]
    Scheme,
    /// It contains a user name or password.
    #[error("the URL must not contain a user name or password; deliveries are signed")]
    Credentials,
    /// Its host is, or resolves to, an address that is not on the public internet.
    #[error("the host's address is not on the public internet")]
    ForbiddenAddress,
    /// Its host name has no address.
    #[error("the host name cannot be resolved; check its spelling and its DNS records")]
    DnsFailed,
}

impl UrlRefused {
    /// The stable code in the API's `details`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Malformed => "invalid_format",
            Self::TooLong => "too_long",
            Self::Scheme => "unsupported_scheme",
            Self::Credentials => "credentials_in_url",
            Self::ForbiddenAddress => "forbidden_address",
            Self::DnsFailed => "dns_failed",
        }
    }
}

/// How much of a URL is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UrlCheck {
    /// The URL itself, without looking its host name up.
    Form,
    /// The URL, and the addresses of its host name.
    Address,
}

/// Sends webhooks on behalf of the core, which knows no HTTP.
#[async_trait]
pub trait WebhookSender: Send + Sync + fmt::Debug {
    /// Whether an endpoint of `account` may have this URL; checked when an endpoint is saved. The
    /// slow look-ups of one account must not delay those of another.
    async fn check_url(
        &self,
        account: AccountId,
        url: &str,
        check: UrlCheck,
    ) -> Result<(), UrlRefused>;

    /// Makes one attempt within the time limit for endpoints. Signs with the real time, and checks
    /// the address again.
    async fn send(&self, request: WebhookRequest) -> WebhookAnswer;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_to_refuse_a_url_has_a_separate_code() {
        use UrlRefused as U;
        for (refused, code) in [
            (U::Malformed, "invalid_format"),
            (U::TooLong, "too_long"),
            (U::Scheme, "unsupported_scheme"),
            (U::Credentials, "credentials_in_url"),
            (U::ForbiddenAddress, "forbidden_address"),
            (U::DnsFailed, "dns_failed"),
        ] {
            assert_eq!(refused.as_str(), code);
        }
    }
}
