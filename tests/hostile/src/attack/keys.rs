//! A stranger asks with keys that are well formed and do not exist.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use futures_util::future::join_all;
use serde_json::Value;
use sms_core::account::Mode;
use sms_core::account::api_key::ApiKey;
use sms_core::random::SystemRandom;
use tokio::time::Instant;

use crate::client::{Connection, request};
use crate::failed::Failed;
use crate::site::Site;
use crate::storm::{Attack, Finding, Prepared};

const STRANGERS: usize = 16;

pub(super) struct Keys;

struct Ready;

#[async_trait]
impl Attack for Keys {
    async fn prepare(&self, _: &Site) -> Result<Box<dyn Prepared>, Failed> {
        Ok(Box::new(Ready))
    }
}

#[async_trait]
impl Prepared for Ready {
    async fn storm(&self, site: &Site, until: Instant) -> Result<Vec<Finding>, Failed> {
        let counts = [Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0))];
        let strangers =
            (0..STRANGERS).map(|_| tokio::spawn(guess(site.server.addr, until, counts.clone())));
        join_all(strangers).await;
        let [unknown, turned_away] = counts.map(|count| count.load(Ordering::Relaxed));
        let told = format!("{unknown} keys answered with 401, {turned_away} requests with 429");
        Ok(vec![Finding::judged(|| unknown < turned_away, told)])
    }
}

/// Asks with a new key each time.
async fn guess(addr: SocketAddr, until: Instant, [unknown, turned_away]: [Arc<AtomicU64>; 2]) {
    let mut connection = None;
    while Instant::now() < until {
        let mut open = match connection.take() {
            Some(open) => open,
            None => match Connection::open_as_stranger(addr).await {
                Ok(open) => open,
                Err(_) => continue,
            },
        };
        let key = ApiKey::generate(Mode::Live, &SystemRandom);
        let bytes = request("GET", "/api/v1/balance", key.reveal(), &Value::Null);
        if let Ok(answer) = open.ask(&bytes).await {
            let count = if answer.status == 401 { &unknown } else { &turned_away };
            count.fetch_add(1, Ordering::Relaxed);
            connection = Some(open);
        }
    }
}
