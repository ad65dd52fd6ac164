//! A stranger follows one tracked link without end, and the customer's receiver says that it has
//! enough.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::client::{Connection, request};
use crate::failed::Failed;
use crate::receiver::{Receiver, Refuses};
use crate::site::{Account, Site, Standing, word};
use crate::storm::{Attack, Finding, Prepared};

const STRANGERS: usize = 16;
/// A delivery that was refused is tried again after a minute.
const RETRIED_WITHIN: Duration = Duration::from_secs(90);

pub(super) struct Clicks;

struct Ready {
    account: Account,
    receiver: Receiver,
    endpoint: String,
    code: String,
}

#[async_trait]
impl Attack for Clicks {
    async fn prepare(&self, site: &Site) -> Result<Box<dyn Prepared>, Failed> {
        let account = site.account(Standing::Active(1_000)).await?;
        let receiver = Receiver::start().await?;
        let url = format!("http://{}/", receiver.addr);
        let body = json!({ "url": url, "events": ["link.clicked", "message.received"] });
        let endpoint = word(&site.post("/webhooks", &account.key, &body).await?["id"]);
        let body = json!({
            "to": "07700 900555", "body": "See https://example.com/menu", "track_links": true,
        });
        site.post("/messages", &account.key, &body).await?;
        let code = word(&site.get("/links", &account.key).await?[0]["code"]);
        Ok(Box::new(Ready { account, receiver, endpoint, code }))
    }
}

#[async_trait]
impl Prepared for Ready {
    async fn storm(&self, site: &Site, until: Instant) -> Result<Vec<Finding>, Failed> {
        self.receiver.refuse(Refuses::Everything);
        let counts = [Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0))];
        let hit = request("GET", &format!("/l/{}", self.code), "", &Value::Null);
        let strangers = (0..STRANGERS)
            .map(|_| tokio::spawn(follow(site.server.addr, hit.clone(), until, counts.clone())));
        join_all(strangers).await;
        // A message arrives while the receiver still refuses.
        let (from, to) = ("+447700900555", &self.account.number);
        let body = json!({ "from": from, "to": to, "body": "Is the table still free?" });
        site.operator("/admin/v1/inbound", &body).await?;
        let [followed, turned_away] = counts.map(|count| count.load(Ordering::Relaxed));
        let refused = self.receiver.refused();
        Ok(vec![
            Finding::told(format!("{followed} hits followed, {turned_away} answered with 429")),
            Finding::told(format!("{refused} deliveries were sent to the receiver and refused")),
        ])
    }

    async fn aftermath(&self, site: &Site) -> Result<Vec<Finding>, Failed> {
        self.receiver.refuse(Refuses::Nothing);
        let endpoints = site.get("/webhooks", &self.account.key).await?;
        let enabled = endpoints[0]["enabled"] == true;
        let failures = &endpoints[0]["consecutive_failures"];
        let received = self.received(site).await?;
        Ok(vec![
            Finding::judged(
                || enabled,
                format!("the endpoint is {}, after {failures} failures", on_or_off(&endpoints[0])),
            ),
            Finding::judged(
                || received == "delivered",
                format!("message.received of that time is {received}"),
            ),
        ])
    }
}

impl Ready {
    /// What became of the delivery of `message.received`.
    async fn received(&self, site: &Site) -> Result<String, Failed> {
        let until = Instant::now() + RETRIED_WITHIN;
        let path = format!("/webhooks/{}/deliveries?limit=100", self.endpoint);
        loop {
            let page = site.get(&path, &self.account.key).await?;
            let mut all = page.as_array().into_iter().flatten();
            let found = all.find(|delivery| delivery["event_type"] == "message.received");
            let status = found.map_or_else(|| "not there".into(), |found| word(&found["status"]));
            if status != "pending" || Instant::now() > until {
                return Ok(status);
            }
            sleep(Duration::from_secs(1)).await;
        }
    }
}

fn on_or_off(endpoint: &Value) -> &'static str {
    if endpoint["enabled"] == true { "on" } else { "off" }
}

/// Follows the link until then. Counts redirects and refusals.
async fn follow(
    addr: SocketAddr,
    hit: Vec<u8>,
    until: Instant,
    [followed, turned_away]: [Arc<AtomicU64>; 2],
) {
    let mut connection = None;
    while Instant::now() < until {
        let mut open = match connection.take() {
            Some(open) => open,
            None => match Connection::open_as_stranger(addr).await {
                Ok(open) => open,
                Err(_) => continue,
            },
        };
        if let Ok(answer) = open.ask(&hit).await {
            let count = if answer.status == 302 { &followed } else { &turned_away };
            count.fetch_add(1, Ordering::Relaxed);
            connection = Some(open);
        }
    }
}
