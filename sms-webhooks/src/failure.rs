//! How an error of the HTTP client becomes one of the core's reasons why an attempt failed.
//!
//! Customers read these reasons, so they say nothing about addresses, ports or resolvers: an
//! endpoint must not become a means to explore the operator's network.

use std::error::Error;
use std::io;

use sms_core::webhook::delivery::DeliveryError;
use sms_core::webhook::sender::UrlRefused;

use crate::resolver::GuardError;

/// What a URL that may no longer be an endpoint means for an attempt.
pub(crate) fn failure_of_url(refused: UrlRefused) -> DeliveryError {
    match refused {
        UrlRefused::ForbiddenAddress => DeliveryError::ForbiddenAddress,
        UrlRefused::DnsFailed => DeliveryError::DnsFailed,
        UrlRefused::TooLong
        | UrlRefused::Malformed
        | UrlRefused::Scheme
        | UrlRefused::Credentials => DeliveryError::ConnectFailed,
    }
}

/// What a look-up that found no permitted address means for an attempt.
pub(crate) fn failure_of_lookup(error: &GuardError) -> DeliveryError {
    match error {
        GuardError::NotResolved(_) => DeliveryError::DnsFailed,
        GuardError::Forbidden => DeliveryError::ForbiddenAddress,
    }
}

/// Why an attempt failed, found among the causes of the client's error.
pub(crate) fn failure_of(error: &reqwest::Error) -> DeliveryError {
    if let Some(failure) = causes(error).find_map(failure_of_cause) {
        return failure;
    }
    if error.is_dns() {
        return DeliveryError::DnsFailed;
    }
    if error.is_timeout() {
        return DeliveryError::Timeout;
    }
    let wants_tls = error.url().is_some_and(|url| url.scheme() == "https");
    if wants_tls && error.is_connect() && causes(error).any(is_broken_handshake) {
        return DeliveryError::TlsFailed;
    }
    DeliveryError::ConnectFailed
}

fn failure_of_cause(cause: &(dyn Error + 'static)) -> Option<DeliveryError> {
    cause.is::<rustls::Error>().then_some(DeliveryError::TlsFailed)
}

/// A peer that closes the connection during the handshake causes one of these I/O errors. A TCP
/// connection that was never established fails with another kind (refused, unreachable).
fn is_broken_handshake(cause: &(dyn Error + 'static)) -> bool {
    let kind = cause.downcast_ref::<io::Error>().map(io::Error::kind);
    matches!(
        kind,
        Some(
            io::ErrorKind::UnexpectedEof
                | io::ErrorKind::ConnectionReset
                | io::ErrorKind::ConnectionAborted
                | io::ErrorKind::BrokenPipe
        )
    )
}

/// The error and everything below it.
///
/// `io::Error::source` skips the error that it wraps, which is the one needed here.
fn causes<'a>(error: &'a reqwest::Error) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    let first: &'a (dyn Error + 'static) = error;
    std::iter::successors(Some(first), |cause| cause_below(*cause))
}

fn cause_below<'a>(cause: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    match cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        Some(wrapped) => Some(wrapped),
        None => cause.source(),
    }
}
