//! 1,100 silent connections to a server that may open 1,024 files.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::join_all;
use tokio::time::{Instant, sleep, timeout_at};

use crate::client::Connection;
use crate::failed::Failed;
use crate::server::Options;
use crate::site::Site;
use crate::storm::{Attack, Finding, Prepared};

const CONNECTIONS: usize = 1_100;

pub(super) struct Handles;

struct Ready;

#[async_trait]
impl Attack for Handles {
    fn options(&self) -> Options {
        Options { handles: Some(1_024), settings: Vec::new() }
    }

    async fn prepare(&self, _: &Site) -> Result<Box<dyn Prepared>, Failed> {
        Ok(Box::new(Ready))
    }
}

#[async_trait]
impl Prepared for Ready {
    async fn storm(&self, site: &Site, until: Instant) -> Result<Vec<Finding>, Failed> {
        let closed = Arc::new(AtomicU64::new(0));
        let silent = (0..CONNECTIONS)
            .map(|_| tokio::spawn(keep_silent(site.server.addr, until, Arc::clone(&closed))));
        join_all(silent).await;
        let closed = closed.load(Ordering::Relaxed);
        Ok(vec![Finding::told(format!(
            "{CONNECTIONS} connections were held open; the server ended {closed} of them"
        ))])
    }
}

/// Holds a connection open and says nothing; opens it again when the server ends it.
async fn keep_silent(addr: SocketAddr, until: Instant, closed: Arc<AtomicU64>) {
    while Instant::now() < until {
        let Ok(mut connection) = Connection::open_as_stranger(addr).await else {
            sleep(Duration::from_millis(100)).await;
            continue;
        };
        while let Ok(read) = timeout_at(until, connection.read_some(512)).await {
            if !matches!(read, Ok(1..)) {
                closed.fetch_add(1, Ordering::Relaxed);
                sleep(Duration::from_millis(100)).await;
                break;
            }
        }
    }
}
