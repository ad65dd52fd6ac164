//! What the guard refuses, end to end. The listeners count connections.

use std::collections::VecDeque;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use sms_webhooks::{DeliveryError, Reach, Resolve, UnresolvedNames, UrlRefused};
use sms_webhooks::{WebhookClient, WebhookClientConfig};

use crate::receiver::{Receiver, answer};
use crate::{ACCOUNT, Fixed, delivery_to, open_config};

const PUBLIC: &str = "8.8.8.8";

/// Returns its lists one after the other, then fails.
#[derive(Debug)]
struct Flipping(Mutex<VecDeque<Vec<IpAddr>>>);

impl Flipping {
    fn over(lists: &[&[&str]]) -> Arc<Flipping> {
        let parse = |list: &&[&str]| list.iter().map(|text| text.parse().unwrap()).collect();
        Arc::new(Flipping(Mutex::new(lists.iter().map(parse).collect())))
    }

    fn left(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}

#[async_trait]
impl Resolve for Flipping {
    async fn resolve(&self, _host: &str) -> io::Result<Vec<IpAddr>> {
        let next = self.0.lock().unwrap().pop_front();
        next.ok_or_else(|| io::Error::other("no more answers"))
    }
}

/// Never answers.
#[derive(Debug)]
struct Silent;

#[async_trait]
impl Resolve for Silent {
    async fn resolve(&self, _host: &str) -> io::Result<Vec<IpAddr>> {
        std::future::pending().await
    }
}

fn guarded(resolver: Arc<dyn Resolve>) -> WebhookClientConfig {
    WebhookClientConfig { resolver: Some(resolver), ..WebhookClientConfig::default() }
}

async fn failure_of(config: WebhookClientConfig, url: &str) -> DeliveryError {
    let attempt = WebhookClient::new(config).unwrap().deliver(delivery_to(url)).await;
    assert_eq!(attempt.status_code, None);
    attempt.failure.unwrap()
}

#[tokio::test]
async fn an_address_in_the_url_is_refused_in_every_spelling_before_connecting() {
    use DeliveryError::{ConnectFailed, ForbiddenAddress};
    let receiver = Receiver::start(answer("200 OK", "", "")).await;
    let port = receiver.address.port();
    let hosts = [
        ("127.0.0.1", ForbiddenAddress),
        ("[::ffff:127.0.0.1]", ForbiddenAddress),
        ("0.0.0.0", ForbiddenAddress),
        ("localhost", ForbiddenAddress),
        ("a.localhost.", ForbiddenAddress),
        // No endpoint can be saved with these.
        ("127.1", ConnectFailed),
        ("0x7f.1", ConnectFailed),
        ("2130706433", ConnectFailed),
        ("0177.0.0.1", ConnectFailed),
        ("127.0.0.1.", ConnectFailed),
        ("%31%32%37.0.0.1", ConnectFailed),
    ];
    for (host, failure) in hosts {
        let url = format!("http://{host}:{port}/");
        let config = guarded(Fixed::of(&["127.0.0.1"]));
        assert_eq!(failure_of(config, &url).await, failure, "{host}");
    }
    assert_eq!(receiver.connections().await, 0);
}

#[tokio::test]
async fn loopback_reaches_the_receiver_when_any_address_is_allowed() {
    let receiver = Receiver::start(answer("200 OK", "", "")).await;
    let port = receiver.address.port();
    let hosts = ["127.0.0.1", "[::ffff:127.0.0.1]", "localhost"];
    let client = WebhookClient::new(WebhookClientConfig {
        resolver: Some(Fixed::of(&["127.0.0.1"])),
        ..open_config()
    })
    .unwrap();
    for host in hosts {
        let attempt = client.deliver(delivery_to(&format!("http://{host}:{port}/"))).await;
        assert_eq!(attempt.failure, None, "{host}");
    }
    assert_eq!(receiver.connections().await, hosts.len());
}

#[tokio::test]
async fn a_name_that_resolves_to_loopback_after_registration_is_never_connected_to() {
    let receiver = Receiver::start(answer("200 OK", "", "")).await;
    let url = format!("http://rebound.example.com:{}/", receiver.address.port());
    let resolver = Flipping::over(&[&[PUBLIC], &["127.0.0.1"], &["::ffff:127.0.0.1"]]);
    let client = WebhookClient::new(guarded(resolver.clone())).unwrap();
    assert_eq!(client.check_url(ACCOUNT, &url).await, Ok(()));
    for left in [1, 0] {
        let attempt = client.deliver(delivery_to(&url)).await;
        assert_eq!(attempt.failure, Some(DeliveryError::ForbiddenAddress));
        assert_eq!(resolver.left(), left);
    }
    assert_eq!(receiver.connections().await, 0);
}

#[tokio::test]
async fn one_forbidden_address_among_public_ones_refuses_the_name() {
    let receiver = Receiver::start(answer("200 OK", "", "")).await;
    let url = format!("http://mixed.example.com:{}/", receiver.address.port());
    for list in [["127.0.0.1", PUBLIC], [PUBLIC, "127.0.0.1"]] {
        let config = guarded(Fixed::of(&list));
        assert_eq!(failure_of(config.clone(), &url).await, DeliveryError::ForbiddenAddress);
        let client = WebhookClient::new(config).unwrap();
        assert_eq!(client.check_url(ACCOUNT, &url).await, Err(UrlRefused::ForbiddenAddress));
    }
    assert_eq!(receiver.connections().await, 0);
}

// Other systems have only one loopback address.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_delivery_resolves_once_and_connects_to_the_addresses_found() {
    let first = Receiver::start(answer("200 OK", "", "")).await;
    let port = first.address.port();
    let second = Receiver::start_at(&format!("127.0.0.2:{port}"), answer("200 OK", "", "")).await;
    let resolver = Flipping::over(&[&["127.0.0.1"], &["127.0.0.2"]]);
    let config = WebhookClientConfig { resolver: Some(resolver.clone()), ..open_config() };
    let client = WebhookClient::new(config).unwrap();
    let url = format!("http://flipping.example.com:{port}/");

    assert_eq!(client.deliver(delivery_to(&url)).await.failure, None);
    assert_eq!(resolver.left(), 1);
    assert_eq!((first.connections().await, second.connections().await), (1, 0));

    // Nothing is cached: the next delivery resolves again and connects to the new address.
    assert_eq!(client.deliver(delivery_to(&url)).await.failure, None);
    assert_eq!(resolver.left(), 0);
    assert_eq!((first.connections().await, second.connections().await), (0, 1));

    assert_eq!(client.deliver(delivery_to(&url)).await.failure, Some(DeliveryError::DnsFailed));
}

// Other systems have only one loopback address.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn when_the_first_address_is_dead_the_next_one_is_tried() {
    let receiver = Receiver::start_at("127.0.0.3:0", answer("200 OK", "", "")).await;
    let resolver = Fixed::of(&["127.0.0.4", "127.0.0.3"]);
    let client =
        WebhookClient::new(WebhookClientConfig { resolver: Some(resolver), ..open_config() })
            .unwrap();
    let url = format!("http://two.example.com:{}/", receiver.address.port());
    assert_eq!(client.deliver(delivery_to(&url)).await.failure, None);
}

#[tokio::test]
async fn a_name_without_addresses_is_dns_failed() {
    let none = guarded(Fixed::of(&[]));
    assert_eq!(failure_of(none, "http://none.example.com/").await, DeliveryError::DnsFailed);
    let failing = guarded(Flipping::over(&[]));
    assert_eq!(failure_of(failing, "https://none.example.com/").await, DeliveryError::DnsFailed);
}

#[tokio::test]
async fn the_deadline_covers_the_lookup() {
    let timeout = Duration::from_millis(300);
    let config = WebhookClientConfig { timeout, ..guarded(Arc::new(Silent)) };
    assert_eq!(failure_of(config, "http://silent.example.com/").await, DeliveryError::Timeout);
}

#[tokio::test]
async fn registration_checks_the_url_and_its_addresses() {
    let client = WebhookClient::new(guarded(Fixed::of(&["10.0.0.1"]))).unwrap();
    let table = [
        ("https://inner.example.com/", Err(UrlRefused::ForbiddenAddress)),
        ("https://127.0.0.1/", Err(UrlRefused::ForbiddenAddress)),
        ("https://8.8.8.8/", Ok(())),
        ("ftp://inner.example.com/", Err(UrlRefused::Scheme)),
        ("nonsense", Err(UrlRefused::Malformed)),
    ];
    for (url, verdict) in table {
        assert_eq!(client.check_url(ACCOUNT, url).await, verdict, "{url}");
    }
    let public = WebhookClient::new(guarded(Fixed::of(&[PUBLIC, "2606:4700::1111"]))).unwrap();
    assert_eq!(public.check_url(ACCOUNT, "https://example.com/hooks").await, Ok(()));
}

#[tokio::test]
async fn registration_of_an_unresolved_name_follows_the_setting() {
    let url = "https://new.example.com/hooks";
    let resolvers: [Arc<dyn Resolve>; 3] = [Fixed::of(&[]), Flipping::over(&[]), Arc::new(Silent)];
    for resolver in resolvers {
        let lookup_timeout = Duration::from_millis(50);
        let lenient = WebhookClientConfig { lookup_timeout, ..guarded(resolver.clone()) };
        let unresolved_names = UnresolvedNames::Refuse;
        let strict = WebhookClientConfig { unresolved_names, ..lenient.clone() };
        assert_eq!(WebhookClient::new(lenient).unwrap().check_url(ACCOUNT, url).await, Ok(()));
        let refused = Err(UrlRefused::DnsFailed);
        assert_eq!(WebhookClient::new(strict).unwrap().check_url(ACCOUNT, url).await, refused);
    }
    let open = WebhookClientConfig { reach: Reach::AnyAddress, ..guarded(Arc::new(Silent)) };
    assert_eq!(WebhookClient::new(open).unwrap().check_url(ACCOUNT, url).await, Ok(()));
}
