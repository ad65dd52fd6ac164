//! A connection to a peer, with or without TLS.

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

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum ConnectFailed {
    /// It took too long.
    #[error("the SMSC cannot be reached in time")]
    Late,
    /// It was refused or broke; with TLS, the certificate may be the reason.
    #[error("the SMSC cannot be reached: {0}")]
    Io(#[from] std::io::Error),
    /// The peer's name cannot stand in a certificate.
    #[error("the host name of the SMSC cannot be in a certificate")]
    Name,
    /// TLS cannot be set up here.
    #[error("TLS cannot be set up: {0}")]
    Tls(#[from] rustls::Error),
}

/// What a session needs of a connection.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// Connects within `patience`.
pub(super) async fn connect(
    peer: &Peer,
    roots: &Roots,
    patience: Duration,
) -> Result<Box<dyn Stream>, ConnectFailed> {
    timeout(patience, open(peer, roots)).await.map_err(|_| ConnectFailed::Late)?
}

async fn open(peer: &Peer, roots: &Roots) -> Result<Box<dyn Stream>, ConnectFailed> {
    let stream = TcpStream::connect((peer.host.as_str(), peer.port)).await?;
    // Answers are small and waited for.
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
