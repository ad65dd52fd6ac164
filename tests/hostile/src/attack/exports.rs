//! Sixty exports of one customer that are read at 150 bytes a second.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout_at};

use crate::client::{Connection, request};
use crate::failed::Failed;
use crate::site::{Site, Standing, person};
use crate::storm::{Attack, Finding, Prepared};

const EXPORTS: usize = 60;
/// How many an account may have.
const AT_ONCE: u64 = 3;
/// Recipients of each send that makes the messages.
const SEND: usize = 1_000;

pub(super) struct Exports;

struct Ready {
    key: String,
}

#[async_trait]
impl Attack for Exports {
    fn lasts(&self) -> Duration {
        Duration::from_secs(90)
    }

    async fn prepare(&self, site: &Site) -> Result<Box<dyn Prepared>, Failed> {
        let key = site.account(Standing::Active(10_000_000)).await?.key;
        for _ in 0..site.rows.div_ceil(SEND) {
            let to: Vec<_> = (0..SEND).map(person).collect();
            let body = json!({ "to": to, "body": "b".repeat(150) });
            site.post("/messages", &key, &body).await?;
        }
        Ok(Box::new(Ready { key }))
    }
}

#[async_trait]
impl Prepared for Ready {
    async fn storm(&self, site: &Site, until: Instant) -> Result<Vec<Finding>, Failed> {
        let export = request("GET", "/api/v1/messages/export", &self.key, &Value::Null);
        let (begun, alive) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let readers = (0..EXPORTS).map(|_| {
            let reader = read_slowly(
                site.server.addr,
                export.clone(),
                until,
                [Arc::clone(&begun), Arc::clone(&alive)],
            );
            tokio::spawn(reader)
        });
        join_all(readers).await;
        let (begun, alive) = (begun.load(Ordering::Relaxed), alive.load(Ordering::Relaxed));
        let told = format!("of {EXPORTS} exports {begun} began, and {alive} are alive at the end");
        // What is alive then may be read from the machine's own buffers.
        Ok(vec![Finding::judged(|| begun <= AT_ONCE, told)])
    }
}

/// Reads an export at 150 bytes a second until then, and counts itself as begun and as alive.
async fn read_slowly(
    addr: SocketAddr,
    export: Vec<u8>,
    until: Instant,
    [begun, alive]: [Arc<AtomicU64>; 2],
) {
    let Ok(mut connection) = Connection::open(addr).await else { return };
    if connection.write(&export).await.is_err() {
        return;
    }
    let mut read = 0;
    while Instant::now() < until {
        match timeout_at(until, connection.read_some(150)).await {
            // A refusal is shorter than the start of an export, and then the server is silent.
            Ok(Ok(some @ 1..)) => {
                read += some;
                if read >= 1_500 && read - some < 1_500 {
                    begun.fetch_add(1, Ordering::Relaxed);
                }
            }
            Ok(Ok(0) | Err(_)) => return,
            Err(_) => break,
        }
        sleep(Duration::from_secs(1)).await;
    }
    if read >= 1_500 {
        alive.fetch_add(1, Ordering::Relaxed);
    }
}
