//! TLS with real handshakes. Each test generates an authority and its certificates.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use sms_core::random::{Random, SystemRandom};
use sms_core::route::RouteName;
use tokio::sync::mpsc;

use super::*;
use crate::address::Address;
use crate::carrier::Carrier;
use crate::pdu::ShortMessage;
use crate::scripted_peer::{self, until};
use crate::session::{Heard, Submitted};
use crate::settings::RouteSettings;

/// A certificate authority of a test, which no machine trusts.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut own = CertificateParams::new(Vec::new()).unwrap();
        own.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(own, KeyPair::generate().unwrap()).unwrap())
    }

    fn pem(&self) -> String {
        let octets = BASE64.encode(self.0.der());
        format!("-----BEGIN CERTIFICATE-----\n{octets}\n-----END CERTIFICATE-----\n")
    }

    /// A peer with a certificate for this name or address.
    async fn peer(&self, name: &str) -> scripted_peer::Peer {
        let key = KeyPair::generate().unwrap();
        let names = CertificateParams::new([name.to_owned()]).unwrap();
        let certificate = names.signed_by(&key, &self.0).unwrap();
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key);
        scripted_peer::Peer::start_over_tls(Arc::new(config.unwrap())).await
    }
}

/// The settings of a route to this port over TLS that trusts only this authority.
fn trusting(port: u16, authority: &Authority) -> RouteSettings {
    let roots = Roots::from_pem(authority.pem().as_bytes()).unwrap();
    scripted_peer::settings_at(&url(port)).roots(roots).unwrap()
}

fn url(port: u16) -> String {
    format!("smpps://example@127.0.0.1:{port}")
}

/// Why the connection fails.
async fn refusal(settings: &RouteSettings) -> String {
    match connect(&settings.peer, &settings.roots, settings.patience).await {
        Ok(_) => panic!("it is connected"),
        Err(refused) => refused.to_string(),
    }
}

#[tokio::test]
async fn a_message_is_submitted_over_tls_to_a_peer_that_the_given_authority_certified() {
    let authority = Authority::new();
    let peer = authority.peer("127.0.0.1").await;
    let settings = Arc::new(trusting(peer.port, &authority));
    let random: Arc<dyn Random> = Arc::new(SystemRandom);
    let carrier = Arc::new(Carrier::new(RouteName::new("main"), &settings, &random));
    let kept = Arc::clone(&carrier);
    let (arrivals, _) = mpsc::channel(1);
    let task = tokio::spawn(async move { kept.run(arrivals).await });
    until(|| carrier.standing().bound == 1).await;
    let text = ShortMessage::between(Address::name("a"), Address::name("b"));
    assert!(matches!(
        carrier.submit(text, sms_core::dispatch::Lane::Normal, || {}, Heard::nothing()).await,
        Submitted::Accepted { .. }
    ));
    assert_eq!(peer.messages().len(), 1);
    carrier.unbind().await;
    task.abort();
}

#[tokio::test]
async fn a_peer_without_a_trusted_certificate_gets_no_bind() {
    let (authority, other) = (Authority::new(), Authority::new());
    let peer = authority.peer("127.0.0.1").await;
    let public = scripted_peer::settings_at(&url(peer.port));
    for settings in [public, trusting(peer.port, &other)] {
        let told = refusal(&settings).await;
        assert!(told.contains("invalid peer certificate"), "{told}");
    }
    assert_eq!(peer.binds(), []);
}

#[tokio::test]
async fn a_peer_with_a_certificate_for_another_name_gets_no_bind() {
    let authority = Authority::new();
    for name in ["smsc.example.com", "127.0.0.2"] {
        let peer = authority.peer(name).await;
        let told = refusal(&trusting(peer.port, &authority)).await;
        assert!(told.contains("not valid for name"), "{told}");
        assert_eq!(peer.binds(), []);
    }
}
