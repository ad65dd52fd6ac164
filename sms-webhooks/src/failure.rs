//! The closed list of reasons why an attempt failed, and how an HTTP error becomes one of them.
//!
//! Customers read these words, so they tell nothing about addresses, ports or resolvers: an
//! endpoint must not become a means to look around in the operator's network.

use std::error::Error;
use std::fmt;
use std::io;

use crate::resolver::GuardError;

/// Why an attempt failed.
///
/// The core knows one more word, `endpoint_off`, for deliveries that were never attempted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Failure {
    /// The name did not resolve to any address.
    DnsFailed,
    /// The host is, or resolves to, an address that webhooks may not reach. Nothing was sent.
    ForbiddenAddress,
    /// No connection, or one that ended or spoke something else than HTTP before a status line.
    ConnectFailed,
    /// The TLS handshake failed: no TLS, a wrong name, or a certificate that is not trusted.
    TlsFailed,
    /// No status line before the deadline.
    Timeout,
    /// An answer with another status than 2xx. Redirects are not followed: 3xx is one of these.
    HttpStatus,
}

impl Failure {
    /// Every reason, in the order of the declaration.
    pub const ALL: [Failure; 6] = [
        Failure::DnsFailed,
        Failure::ForbiddenAddress,
        Failure::ConnectFailed,
        Failure::TlsFailed,
        Failure::Timeout,
        Failure::HttpStatus,
    ];

    /// The reason as it is stored and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Failure::DnsFailed => "dns_failed",
            Failure::ForbiddenAddress => "forbidden_address",
            Failure::ConnectFailed => "connect_failed",
            Failure::TlsFailed => "tls_failed",
            Failure::Timeout => "timeout",
            Failure::HttpStatus => "http_status",
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// Which part of an attempt a cause belongs to, from the errors that wrap it.
pub(crate) fn failure_of(error: &reqwest::Error) -> Failure {
    if let Some(failure) = causes(error).find_map(failure_of_cause) {
        return failure;
    }
    if error.is_dns() {
        return Failure::DnsFailed;
    }
    if error.is_timeout() {
        return Failure::Timeout;
    }
    let wants_tls = error.url().is_some_and(|url| url.scheme() == "https");
    if wants_tls && error.is_connect() && causes(error).any(is_broken_handshake) {
        return Failure::TlsFailed;
    }
    Failure::ConnectFailed
}

fn failure_of_cause(cause: &(dyn Error + 'static)) -> Option<Failure> {
    if let Some(refused) = cause.downcast_ref::<GuardError>() {
        return Some(match refused {
            GuardError::NotResolved(_) => Failure::DnsFailed,
            GuardError::Forbidden => Failure::ForbiddenAddress,
        });
    }
    cause.is::<rustls::Error>().then_some(Failure::TlsFailed)
}

/// A peer that hangs up in the middle of the handshake leaves an I/O error that says no more. A
/// TCP connection that was never made fails with other kinds (refused, unreachable).
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
/// `io::Error::source` skips the error that it wraps, which is the very one looked for here.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_those_of_the_decisions() {
        let words: Vec<_> = Failure::ALL.iter().map(ToString::to_string).collect();
        let expected = [
            "dns_failed",
            "forbidden_address",
            "connect_failed",
            "tls_failed",
            "timeout",
            "http_status",
        ];
        assert_eq!(words, expected);
    }
}
