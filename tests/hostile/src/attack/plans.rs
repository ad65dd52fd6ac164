//! Ten accounts plan the worst messages to the largest lists, over and over.
//!
//! Half of them wait for approval and ask for quotes of a body that merges into 266,500 characters.
//! The others try to send 20 tracked links to each contact, without the credits for it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use futures_util::future::join_all;
use serde_json::json;
use tokio::time::{Instant, sleep_until};

use crate::client::{Connection, request};
use crate::failed::Failed;
use crate::site::{Site, Standing, person};
use crate::storm::{Attack, Finding, Prepared};

/// How many accounts attack.
const ACCOUNTS: usize = 10;
/// How many characters the custom field has that the body repeats: the most that is allowed.
const FIELD: usize = 500;

pub(super) struct Plans;

struct Ready {
    requests: Vec<Vec<u8>>,
}

#[derive(Debug, Default)]
struct Counts {
    planned: AtomicU64,
    turned_away: AtomicU64,
    unanswered: AtomicU64,
}

#[async_trait]
impl Attack for Plans {
    fn lasts(&self) -> std::time::Duration {
        std::time::Duration::from_secs(20)
    }

    async fn prepare(&self, site: &Site) -> Result<Box<dyn Prepared>, Failed> {
        let mut requests = Vec::new();
        for place in 0..ACCOUNTS {
            let quotes = place % 2 == 0;
            let standing = if quotes { Standing::Pending } else { Standing::Active(0) };
            let key = site.account(standing).await?.key;
            let value = "x".repeat(FIELD);
            let contacts = (0..site.rows)
                .map(|place| json!({ "phone": person(place), "custom": { "a": value } }));
            let list = site.list_of(&key, contacts).await?;
            requests.push(if quotes {
                let body = json!({ "list_id": list, "body": "{a}".repeat(533) });
                request("POST", "/api/v1/messages/quote", &key, &body)
            } else {
                let links = (0..20).map(|n| format!("http://a.uk/{n}{{phone}}"));
                let links = links.collect::<Vec<_>>().join(" ");
                let body = json!({ "list_id": list, "body": links, "track_links": true });
                request("POST", "/api/v1/messages", &key, &body)
            });
        }
        Ok(Box::new(Ready { requests }))
    }
}

#[async_trait]
impl Prepared for Ready {
    async fn storm(&self, site: &Site, until: Instant) -> Result<Vec<Finding>, Failed> {
        let counts = Arc::new(Counts::default());
        let addr = site.server.addr;
        let attackers = self.requests.iter().map(|request| {
            let attacker = repeat(addr, request.clone(), Arc::clone(&counts));
            tokio::spawn(async move {
                tokio::select! {
                    () = attacker => {}
                    () = sleep_until(until) => {}
                }
            })
        });
        join_all(attackers).await;
        let Counts { planned, turned_away, unanswered } = &*counts;
        let (planned, turned_away) =
            (planned.load(Ordering::Relaxed), turned_away.load(Ordering::Relaxed));
        let unanswered = unanswered.load(Ordering::Relaxed);
        Ok(vec![Finding::told(format!(
            "{planned} plans answered, {turned_away} turned away, {unanswered} without an answer"
        ))])
    }
}

async fn repeat(addr: SocketAddr, request: Vec<u8>, counts: Arc<Counts>) {
    loop {
        let answer = match Connection::open(addr).await {
            Ok(mut connection) => connection.ask(&request).await,
            Err(error) => Err(error),
        };
        let count = match answer.map(|answer| answer.status) {
            Ok(429 | 503) => &counts.turned_away,
            Ok(_) => &counts.planned,
            Err(_) => &counts.unanswered,
        };
        count.fetch_add(1, Ordering::Relaxed);
    }
}
