//! Names that resolve differently from one lookup to the next, at random. Listeners on forbidden
//! addresses count connections: there must be none.

use std::collections::VecDeque;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use sms_webhooks::{DeliveryError, Guard, GuardError, Reach, Resolve, UrlRefused};
use sms_webhooks::{WebhookClient, WebhookClientConfig};

use crate::receiver::{Receiver, answer};
use crate::{ACCOUNT, delivery_to};

/// The listeners' address, in every spelling.
const LISTENING: [&str; 5] =
    ["127.0.0.1", "::1", "::ffff:127.0.0.1", "64:ff9b::127.0.0.1", "::127.0.0.1"];
/// Other forbidden addresses.
const INNER: [&str; 7] = [
    "10.0.0.1",
    "192.168.1.1",
    "172.16.0.1",
    "169.254.169.254",
    "100.64.0.1",
    "fd00::1",
    "0.0.0.0",
];
const PUBLIC: [&str; 3] = ["8.8.8.8", "1.1.1.1", "2606:4700::1111"];

/// Random numbers from a seed (Knuth's LCG), so that a failure repeats.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % bound
    }

    fn one_of(&mut self, addresses: &[&'static str]) -> IpAddr {
        addresses[self.below(addresses.len())].parse().unwrap()
    }

    /// Only public addresses.
    fn public(&mut self) -> Vec<IpAddr> {
        (0..=self.below(3)).map(|_| self.one_of(&PUBLIC)).collect()
    }

    /// Public addresses and at least one forbidden address, in any order.
    fn mixed(&mut self) -> Vec<IpAddr> {
        let mut list = if self.below(3) == 0 { Vec::new() } else { self.public() };
        for _ in 0..=self.below(2) {
            let forbidden =
                if self.below(2) == 0 { self.one_of(&LISTENING) } else { self.one_of(&INNER) };
            list.insert(self.below(list.len() + 1), forbidden);
        }
        list
    }
}

/// Returns each of the queued answers once.
#[derive(Debug, Default)]
struct Changing(Mutex<VecDeque<Vec<IpAddr>>>);

impl Changing {
    fn next_is(&self, answers: impl IntoIterator<Item = Vec<IpAddr>>) {
        let mut queue = self.0.lock().unwrap();
        assert!(queue.is_empty(), "every expected lookup has been made");
        queue.extend(answers);
    }

    fn left(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}

#[async_trait]
impl Resolve for Changing {
    async fn resolve(&self, _host: &str) -> io::Result<Vec<IpAddr>> {
        let next = self.0.lock().unwrap().pop_front();
        next.ok_or_else(|| io::Error::other("one lookup too many"))
    }
}

/// Listeners on one port of both loopback addresses, where the machine has both.
async fn listeners() -> (u16, Vec<Receiver>) {
    let first = Receiver::start(answer("200 OK", "", "")).await;
    let port = first.address.port();
    let mut all = vec![first];
    if std::net::TcpListener::bind(("::1", port)).is_ok() {
        all.push(Receiver::start_at(&format!("[::1]:{port}"), answer("200 OK", "", "")).await);
    }
    (port, all)
}

fn client(reach: Reach, resolver: &Arc<Changing>) -> WebhookClient {
    let resolver: Arc<dyn Resolve> = resolver.clone();
    let config =
        WebhookClientConfig { reach, resolver: Some(resolver), ..WebhookClientConfig::default() };
    WebhookClient::new(config).unwrap()
}

#[tokio::test]
async fn no_answer_after_registration_leads_to_a_forbidden_address() {
    let (port, listeners) = listeners().await;
    let url = format!("http://changing.example.com:{port}/");
    let resolver = Arc::new(Changing::default());
    let client = client(Reach::PublicOnly, &resolver);
    let mut dice = Dice(2026);
    for round in 0..300 {
        resolver.next_is([dice.public()]);
        assert_eq!(client.check_url(ACCOUNT, &url).await, Ok(()), "round {round}");
        let answer = dice.mixed();
        // A second lookup would lead to a listener.
        let behind = vec![LISTENING[0].parse().unwrap()];
        resolver.next_is([answer.clone(), behind.clone()]);
        let attempt = client.deliver(delivery_to(&url)).await;
        assert_eq!(
            attempt.failure,
            Some(DeliveryError::ForbiddenAddress),
            "round {round}: {answer:?}"
        );
        assert_eq!((attempt.status_code, resolver.left()), (None, 1), "round {round}");
        assert_eq!(client.check_url(ACCOUNT, &url).await, Err(UrlRefused::ForbiddenAddress));
    }
    for listener in listeners {
        assert_eq!(listener.connections().await, 0, "{}", listener.address);
    }
}

#[tokio::test]
async fn the_guard_passes_public_answers_unchanged_and_no_others() {
    let resolver = Arc::new(Changing::default());
    let guard = Guard::new(Reach::PublicOnly, resolver.clone());
    let mut dice = Dice(7);
    for round in 0..2_000 {
        let is_public = dice.below(2) == 0;
        let answer = if is_public { dice.public() } else { dice.mixed() };
        resolver.next_is([answer.clone()]);
        match guard.addresses("changing.example.com").await {
            Ok(addresses) => assert_eq!((is_public, addresses), (true, answer), "round {round}"),
            Err(GuardError::Forbidden) => assert!(!is_public, "round {round}: {answer:?}"),
            Err(other) => panic!("{other}"),
        }
    }
}

/// Shows that the listeners of the first test do count connections.
#[tokio::test]
async fn the_same_answers_reach_the_listeners_when_any_address_is_allowed() {
    let (port, listeners) = listeners().await;
    let url = format!("http://changing.example.com:{port}/");
    let resolver = Arc::new(Changing::default());
    let client = client(Reach::AnyAddress, &resolver);
    for listener in &listeners {
        resolver.next_is([vec![listener.address.ip()]]);
        assert_eq!(client.deliver(delivery_to(&url)).await.failure, None);
    }
    for listener in &listeners {
        assert_eq!(listener.connections().await, 1, "{}", listener.address);
    }
}

/// The endpoint is at a permitted address and redirects to a forbidden one.
#[tokio::test]
async fn a_redirect_to_a_forbidden_address_is_not_followed() {
    let target = Receiver::start(answer("200 OK", "", "")).await;
    let places = [
        format!("http://changing.example.com:{}/", target.address.port()),
        format!("//127.0.0.1:{}/", target.address.port()),
    ];
    for status in ["301 Moved", "302 Found", "303 See Other", "307 Same", "308 Same"] {
        for place in &places {
            let headers = format!("location: {place}\r\nrefresh: 0; url={place}\r\n");
            let endpoint = Receiver::start(answer(status, &headers, "")).await;
            let url = format!("http://changing.example.com:{}/", endpoint.address.port());
            let resolver = Arc::new(Changing::default());
            let here = vec![endpoint.address.ip()];
            resolver.next_is([here.clone(), here]);
            let attempt = client(Reach::AnyAddress, &resolver).deliver(delivery_to(&url)).await;
            assert_eq!(attempt.failure, Some(DeliveryError::HttpStatus), "{status}");
            assert_eq!(resolver.left(), 1, "{status}: no further lookup");
        }
    }
    assert_eq!(target.connections().await, 0);
}
