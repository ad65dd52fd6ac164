//! TLS, with a real handshake. Each run creates a certificate and a key for
//! `receiver.example.com`.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;

use rcgen::{CertifiedKey, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use sms_webhooks::{DeliveryError, WebhookClient, WebhookClientConfig, verify};

use crate::receiver::{Behaviour, Receiver, answer};
use crate::{Fixed, SECRET, delivery_to, open_client, open_config};

/// A self-signed certificate and its key.
fn identity() -> &'static CertifiedKey<KeyPair> {
    static IDENTITY: OnceLock<CertifiedKey<KeyPair>> = OnceLock::new();
    IDENTITY.get_or_init(|| {
        rcgen::generate_simple_self_signed(vec!["receiver.example.com".to_owned()]).unwrap()
    })
}

fn certificate() -> CertificateDer<'static> {
    identity().cert.der().clone()
}

/// Serves one connection and returns what was received, or the error of the handshake.
fn serve_one_connection() -> (SocketAddr, JoinHandle<std::io::Result<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let key = PrivateKeyDer::try_from(identity().signing_key.serialize_der()).unwrap();
    let config =
        ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate()], key)
            .unwrap();
    let serving = std::thread::spawn(move || {
        let (tcp, _) = listener.accept()?;
        let connection = ServerConnection::new(Arc::new(config)).unwrap();
        let mut stream = StreamOwned::new(connection, tcp);
        let mut bytes = Vec::new();
        while !bytes.ends_with(b"}}") {
            let mut piece = [0_u8; 1_024];
            let count = stream.read(&mut piece)?;
            bytes.extend_from_slice(&piece[..count]);
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nsecure")?;
        stream.flush()?;
        Ok(String::from_utf8(bytes).unwrap())
    });
    (address, serving)
}

/// Trusts the tests' certificate. Every name resolves to loopback.
fn trusting_client() -> WebhookClient {
    let config = WebhookClientConfig {
        resolver: Some(Fixed::of(&["127.0.0.1"])),
        additional_roots: vec![certificate().to_vec()],
        ..open_config()
    };
    WebhookClient::new(config).unwrap()
}

async fn received_by(serving: JoinHandle<std::io::Result<String>>) -> std::io::Result<String> {
    tokio::task::spawn_blocking(move || serving.join().unwrap()).await.unwrap()
}

#[tokio::test]
async fn a_delivery_over_tls_arrives_and_verifies() {
    let (address, serving) = serve_one_connection();
    let url = format!("https://receiver.example.com:{}/hooks", address.port());
    let attempt = trusting_client().deliver(delivery_to(&url)).await;
    assert_eq!((attempt.status_code, attempt.failure), (Some(200), None));
    assert_eq!(attempt.response_body, b"secure");

    let request = received_by(serving).await.unwrap();
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("POST /hooks HTTP/1.1\r\n"), "{head}");
    let signature =
        head.lines().find_map(|line| line.strip_prefix("X-Connect-Signature: ")).unwrap();
    let time = signature.strip_prefix("t=").unwrap().split(',').next().unwrap();
    assert_eq!(verify(SECRET, signature, body.as_bytes(), time.parse().unwrap()), Ok(()));
}

#[tokio::test]
async fn a_certificate_for_another_name_is_tls_failed() {
    let (address, serving) = serve_one_connection();
    let url = format!("https://other.example.com:{}/", address.port());
    let attempt = trusting_client().deliver(delivery_to(&url)).await;
    assert_eq!((attempt.status_code, attempt.failure), (None, Some(DeliveryError::TlsFailed)));
    assert!(received_by(serving).await.is_err(), "nothing was sent");
}

#[tokio::test]
async fn an_untrusted_certificate_is_tls_failed() {
    let (address, serving) = serve_one_connection();
    let config = WebhookClientConfig { resolver: Some(Fixed::of(&["127.0.0.1"])), ..open_config() };
    let client = WebhookClient::new(config).unwrap();
    let url = format!("https://receiver.example.com:{}/", address.port());
    let attempt = client.deliver(delivery_to(&url)).await;
    assert_eq!((attempt.status_code, attempt.failure), (None, Some(DeliveryError::TlsFailed)));
    assert!(received_by(serving).await.is_err(), "nothing was sent");
}

#[tokio::test]
async fn https_to_a_plain_receiver_is_tls_failed() {
    for behaviour in [answer("200 OK", "", ""), Behaviour::CloseAtOnce] {
        let receiver = Receiver::start(behaviour.clone()).await;
        let url = format!("https://{}/", receiver.address);
        let attempt = open_client().deliver(delivery_to(&url)).await;
        let found = (attempt.status_code, attempt.failure);
        assert_eq!(found, (None, Some(DeliveryError::TlsFailed)), "{behaviour:?}");
    }
}
