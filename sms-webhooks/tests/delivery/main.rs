//! Deliveries over real sockets: what is sent, how every kind of answer ends, what the
//! guard refuses, TLS, and the environment's proxies.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod answers;
mod courier;
mod guard;
mod lookup;
mod name_server;
mod proxy;
mod rebinding;
mod receiver;
mod request;
mod sealing;
mod tls;

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use sms_core::ids::AccountId;
use sms_webhooks::{Delivery, Reach, Resolve, WebhookClient, WebhookClientConfig};

const ACCOUNT: AccountId = AccountId::from_u128(1);
const SECRET: &str = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE";
const BODY: &str = r#"{"id":"evt_1","type":"message.received","data":{"body":"héllo 👋"}}"#;

/// A resolver that always returns the same addresses.
#[derive(Debug)]
struct Fixed(Vec<IpAddr>);

impl Fixed {
    fn of(addresses: &[&str]) -> Arc<Fixed> {
        Arc::new(Fixed(addresses.iter().map(|text| text.parse().unwrap()).collect()))
    }
}

#[async_trait]
impl Resolve for Fixed {
    async fn resolve(&self, _host: &str) -> io::Result<Vec<IpAddr>> {
        Ok(self.0.clone())
    }
}

/// May reach loopback, where the test receivers are.
fn open_config() -> WebhookClientConfig {
    sms_test_log::watch();
    sms_test_log::secret("héllo 👋");
    WebhookClientConfig { reach: Reach::AnyAddress, ..WebhookClientConfig::default() }
}

fn open_client() -> WebhookClient {
    WebhookClient::new(open_config()).unwrap()
}

/// Gives up early, for receivers that never finish.
fn hasty_client() -> WebhookClient {
    let config = WebhookClientConfig { timeout: Duration::from_millis(300), ..open_config() };
    WebhookClient::new(config).unwrap()
}

fn delivery_to(url: &str) -> Delivery<'_> {
    Delivery {
        url,
        account: ACCOUNT,
        secrets: &[SECRET],
        event_type: "message.received",
        delivery_id: "whd_1",
        body: BODY.into(),
    }
}
