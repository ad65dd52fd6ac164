//! Where an SMSC listens.

use std::fmt;

/// Where an SMSC listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    /// Its host name or IP address.
    pub host: String,
    /// Its port; by default 2775, or 3550 with TLS.
    pub port: u16,
    /// Whether the connection uses TLS.
    pub transport: Transport,
}

/// Whether a connection uses TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// It does not: passwords and messages are sent in plain text.
    Plain,
    /// It does. The certificate and its name are verified.
    Tls,
}

/// What is wrong with the URL of an SMSC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadUrl {
    /// It has another form.
    #[error("must be smpp://system_id@host:port, or smpps:// for TLS")]
    Form,
    /// It has no `@`.
    #[error("has no system_id before the @")]
    SystemIdMissing,
    /// The system_id is empty, or longer than 15 octets.
    #[error("must have a system_id of 1 to 15 octets")]
    SystemIdLength,
    /// It holds a password.
    #[error("must not hold the password")]
    Password,
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match self.transport {
            Transport::Plain => "smpp",
            Transport::Tls => "smpps",
        };
        write!(f, "{scheme}://{}:{}", self.host, self.port)
    }
}

/// Parses `smpp://system_id@host:port` into the SMSC's address and the account there.
pub(super) fn parse(url: &str) -> Result<(Peer, String), BadUrl> {
    let (scheme, rest) = url.split_once("://").ok_or(BadUrl::Form)?;
    let (transport, default_port) = match scheme {
        "smpp" => (Transport::Plain, 2775),
        "smpps" => (Transport::Tls, 3550),
        _ => return Err(BadUrl::Form),
    };
    let (system_id, place) = rest.rsplit_once('@').ok_or(BadUrl::SystemIdMissing)?;
    if system_id.contains(':') {
        return Err(BadUrl::Password);
    }
    if !(1..=15).contains(&system_id.len()) {
        return Err(BadUrl::SystemIdLength);
    }
    let place = place.trim_end_matches('/');
    // The port follows the last colon, unless that colon is part of a bracketed IPv6 address.
    let (host, port) = match place.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => {
            (host, port.parse().map_err(|_| BadUrl::Form)?)
        }
        _ => (place, default_port),
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    if host.is_empty() || host.contains(['/', '?', '#']) {
        return Err(BadUrl::Form);
    }
    Ok((Peer { host: host.to_owned(), port, transport }, system_id.to_owned()))
}
