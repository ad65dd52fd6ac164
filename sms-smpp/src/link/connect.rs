//! Connects to an SMSC, with or without TLS.

use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::settings::{Peer, Transport};
use crate::trust::Roots;

/// Why the connection failed.
#[derive(Debug, thiserror::Error)]
pub enum ConnectFailed {
    /// It took too long.
    #[error("timed out while connecting to the SMSC")]
    Late,
    /// It was refused or broke; with TLS, the certificate may be invalid.
    #[error("cannot connect to the SMSC: {0}")]
    Io(#[from] std::io::Error),
    /// The host is not a name that a certificate can hold.
    #[error("the host name of the SMSC is not valid for TLS")]
    Name,
    /// TLS cannot be configured.
    #[error("cannot set up TLS: {0}")]
    Tls(#[from] rustls::Error),
}

/// A connection that a session can use.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// Connects, with the TLS handshake if there is one, within `patience`.
pub(super) async fn connect(
    peer: &Peer,
    roots: &Roots,
    patience: Duration,
) -> Result<Box<dyn Stream>, ConnectFailed> {
    timeout(patience, open(peer, roots)).await.map_err(|_| ConnectFailed::Late)?
}

async fn open(peer: &Peer, roots: &Roots) -> Result<Box<dyn Stream>, ConnectFailed> {
    let stream = TcpStream::connect((peer.host.as_str(), peer.port)).await?;
    // PDUs are small, and the other side waits for each.
    stream.set_nodelay(true)?;
    match peer.transport {
        Transport::Plain => Ok(Box::new(stream)),
        Transport::Tls => {
            let name = ServerName::try_from(peer.host.clone()).map_err(|_| ConnectFailed::Name)?;
            let connector = TlsConnector::from(Arc::new(tls(roots)?));
            Ok(Box::new(connector.connect(name, stream).await?))
        }
    }
}

fn tls(roots: &Roots) -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(config.with_root_certificates(roots.store()).with_no_client_auth())
}

#[cfg(test)]
mod tests;
