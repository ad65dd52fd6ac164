//! Look-ups of host names: one account's slow name servers delay no other account.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use sms_core::event::EventType;
use sms_core::ids::AccountId;
use sms_core::prelude::*;
use sms_core::webhook::EndpointInput;
use sms_store_memory::MemoryStore;
use sms_webhooks::{Delivery, DeliveryError, DnsResolver, HttpSender, LookupLimits, Resolve};
use sms_webhooks::{Reach, WebhookClient, WebhookClientConfig};
use tokio::task::JoinSet;

use crate::name_server::NameServer;
use crate::receiver::{Receiver, answer};
use crate::{delivery_to, open_config};

const SLOW: AccountId = AccountId::from_u128(7);
const QUICK: AccountId = AccountId::from_u128(8);

fn client(names: &NameServer, timeout: Duration) -> WebhookClient {
    let resolver = Arc::new(DnsResolver::asking(&[names.address]).unwrap());
    let lookups = LookupLimits { each: 4, total: 16 };
    let config =
        WebhookClientConfig { resolver: Some(resolver), lookups, timeout, ..open_config() };
    WebhookClient::new(config).unwrap()
}

fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}

#[tokio::test]
async fn names_that_are_never_answered_delay_no_other_account_and_hold_no_thread() {
    let names = NameServer::start(Ipv4Addr::LOCALHOST).await;
    let receiver = Receiver::start(answer("200 OK", "", "")).await;
    let port = receiver.address.port();
    // Longer than the test: the slow account's attempts are in flight throughout.
    let client = client(&names, Duration::from_mins(10));
    let before = threads();
    let mut slow = JoinSet::new();
    for n in 0..200 {
        let client = client.clone();
        slow.spawn(async move {
            let url = format!("http://n{n}.slow.example.com/");
            client.deliver(Delivery { account: SLOW, ..delivery_to(&url) }).await
        });
    }
    while names.names(".slow.example.com") < 4 {
        tokio::task::yield_now().await;
    }
    for n in 0..100 {
        let url = format!("http://n{n}.quick.example.com:{port}/");
        let attempt = client.deliver(Delivery { account: QUICK, ..delivery_to(&url) }).await;
        assert_eq!((attempt.status_code, attempt.failure), (Some(200), None), "{n}");
    }
    assert_eq!(names.names(".quick.example.com"), 100);
    assert!(threads() <= before + 2, "{} threads, {before} before", threads());
    slow.abort_all();
}

/// Never answers, and counts the look-ups in flight.
#[derive(Debug, Default)]
struct Endless {
    now: AtomicUsize,
    most: AtomicUsize,
}

#[async_trait]
impl Resolve for Endless {
    async fn resolve(&self, _host: &str) -> io::Result<Vec<IpAddr>> {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        let _in_flight = InFlight(self);
        std::future::pending().await
    }
}

struct InFlight<'a>(&'a Endless);

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn an_account_looks_up_four_names_at_once_and_all_accounts_as_many_as_are_allowed() {
    let endless = Arc::new(Endless::default());
    let config = WebhookClientConfig {
        resolver: Some(endless.clone()),
        lookups: LookupLimits { each: 4, total: 10 },
        timeout: Duration::from_millis(200),
        ..open_config()
    };
    let client = WebhookClient::new(config).unwrap();
    for (accounts, most) in [(1, 4), (2, 8), (9, 10)] {
        let mut attempts = JoinSet::new();
        for n in 0..90 {
            let client = client.clone();
            attempts.spawn(async move {
                let account = AccountId::from_u128(n % accounts);
                let delivery = delivery_to("http://hook.example.com/");
                client.deliver(Delivery { account, ..delivery }).await.failure
            });
        }
        while let Some(ended) = attempts.join_next().await {
            assert_eq!(ended.unwrap(), Some(DeliveryError::Timeout));
        }
        assert_eq!(endless.most.load(Ordering::SeqCst), most, "{accounts} accounts");
    }
    assert_eq!(endless.now.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn an_eleventh_endpoint_is_refused_without_a_look_up() {
    let names = NameServer::start(Ipv4Addr::new(8, 8, 8, 8)).await;
    let resolver = Arc::new(DnsResolver::asking(&[names.address]).unwrap());
    let reach = Reach::PublicOnly;
    let config = WebhookClientConfig { resolver: Some(resolver), reach, ..open_config() };
    let sender = HttpSender::with_client(WebhookClient::new(config).unwrap());
    let sms = Sms::builder(MemoryStore::new()).webhooks(Arc::new(sender)).build();
    let made = sms.operator().account_create(NewAccountInput::active("Bistro", 0)).await.unwrap();
    let account = sms.account(made.id, Mode::Live);
    let endpoint = |n| {
        let url = format!("https://hook-{n}.example.com/");
        account.webhook_create(EndpointInput::new(url, [EventType::MessageSent]))
    };
    for n in 0..10 {
        endpoint(n).await.unwrap();
    }
    assert_eq!(names.names("example.com"), 10);
    assert_eq!(endpoint(10).await.unwrap_err().code(), "webhook_limit_reached");
    let url = Some("https://hook-10.example.com/");
    assert_eq!(account.webhook_check_new(url, None).await.unwrap(), []);
    assert_eq!(names.names("example.com"), 10, "its name is not looked up");
    let nothing = account.webhook_create(EndpointInput::new("http:///x", [])).await.unwrap_err();
    assert_eq!(nothing.code(), "validation_failed", "an invalid request is 422 also then");
}

#[tokio::test]
async fn an_answer_is_remembered() {
    let names = NameServer::start(Ipv4Addr::LOCALHOST).await;
    let receiver = Receiver::start(answer("200 OK", "", "")).await;
    let client = client(&names, Duration::from_secs(8));
    let url = format!("http://hook.example.com:{}/", receiver.address.port());
    for _ in 0..20 {
        assert_eq!(client.deliver(delivery_to(&url)).await.failure, None);
    }
    assert_eq!(names.questions(), 2, "one for each version of IP");
}

#[tokio::test]
async fn a_remembered_address_is_judged_like_a_new_one() {
    let names = NameServer::start(Ipv4Addr::LOCALHOST).await;
    let resolver = Arc::new(DnsResolver::asking(&[names.address]).unwrap());
    let open = WebhookClientConfig { resolver: Some(resolver.clone()), ..open_config() };
    let open = WebhookClient::new(open).unwrap();
    let url = "http://hook.example.com:9/";
    assert_eq!(open.deliver(delivery_to(url)).await.failure, Some(DeliveryError::ConnectFailed));
    let guarded =
        WebhookClientConfig { resolver: Some(resolver), reach: Reach::PublicOnly, ..open_config() };
    let attempt = WebhookClient::new(guarded).unwrap().deliver(delivery_to(url)).await;
    assert_eq!(attempt.failure, Some(DeliveryError::ForbiddenAddress));
}
