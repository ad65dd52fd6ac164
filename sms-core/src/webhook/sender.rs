//! The port through which deliveries leave. `sms-webhooks` implements it over HTTP; a simulation
//! with whatever it likes.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;

use super::Secret;
use super::delivery::DeliveryError;
use crate::event::{EventBody, EventType};
use crate::ids::DeliveryId;

/// One attempt to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookRequest {
    /// Where to.
    pub url: String,
    /// What signs it.
    pub secret: Secret,
    /// The same in every attempt of a delivery.
    pub delivery: DeliveryId,
    /// The kind of event it tells of.
    pub event_type: EventType,
    /// The bytes it carries.
    pub body: EventBody,
}

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookAnswer {
    /// Taken (2xx in time), or why not.
    pub result: Result<(), DeliveryError>,
    /// The status code, if there was an answer.
    pub status_code: Option<u16>,
    /// How long it took.
    pub duration: Duration,
    /// The first 1,024 bytes of the answer.
    pub response_body: Vec<u8>,
}

/// Why an address cannot be an endpoint's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UrlRefused {
    /// It is no URL, or has no host.
    #[error("not a URL such as https://example.com/hook")]
    Malformed,
    /// It is longer than 2,048 characters.
    #[error("longer than 2,048 characters")]
    TooLong,
    /// It is neither http nor https.
    #[error("only http and https can be called")]
    Scheme,
    /// It holds a user name or password.
    #[error("a URL may not hold credentials; deliveries are signed instead")]
    Credentials,
    /// It is, or resolves to, an address that is not on the public internet.
    #[error("the address is not on the public internet")]
    ForbiddenAddress,
    /// Its name has no address.
    #[error("the host name cannot be resolved")]
    DnsFailed,
}

impl UrlRefused {
    /// The stable code of the API's `details`.
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

/// Calls endpoints.
#[async_trait]
pub trait WebhookSender: Send + Sync + fmt::Debug {
    /// Whether an endpoint may have this address: asked when it is saved.
    async fn check_url(&self, url: &str) -> Result<(), UrlRefused>;

    /// Makes one attempt, within the time an endpoint may take. Signs with the real time. The
    /// address is checked again.
    async fn send(&self, request: WebhookRequest) -> WebhookAnswer;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn why_a_url_is_refused_has_a_code_of_its_own() {
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
