//! 300 imports of three rows by 16 callers, and then large ones into one account.
//!
//! PostgreSQL plans a statement for any arguments once a connection has run it often enough. The
//! small imports bring every connection there.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::try_join_all;
use serde_json::json;
use tokio::time::Instant;

use crate::failed::Failed;
use crate::site::{Site, Standing, person};
use crate::storm::{Attack, Finding, Prepared};

const CALLERS: usize = 16;
const SMALL: usize = 300;
const LARGE: usize = 5;
/// The last import may take so much longer than the first, which finds an empty account.
const GROWTH: f64 = 3.0;

pub(super) struct Imports;

struct Ready {
    callers: Vec<String>,
    key: String,
}

#[async_trait]
impl Attack for Imports {
    async fn prepare(&self, site: &Site) -> Result<Box<dyn Prepared>, Failed> {
        let mut callers = Vec::new();
        for _ in 0..CALLERS {
            callers.push(site.account(Standing::Active(0)).await?.key);
        }
        let key = site.account(Standing::Active(0)).await?.key;
        Ok(Box::new(Ready { callers, key }))
    }
}

#[async_trait]
impl Prepared for Ready {
    async fn storm(&self, site: &Site, _: Instant) -> Result<Vec<Finding>, Failed> {
        let next = Arc::new(AtomicUsize::new(0));
        try_join_all(self.callers.iter().map(|key| small_imports(site, key, &next))).await?;
        let mut times = Vec::new();
        for import in 0..LARGE {
            let first = import * site.rows;
            let rows: Vec<_> =
                (first..first + site.rows).map(|place| json!({ "phone": person(place) })).collect();
            let asked = Instant::now();
            site.post("/contacts/import", &self.key, &json!({ "rows": rows })).await?;
            times.push(asked.elapsed());
        }
        let seconds: Vec<_> =
            times.iter().map(|time| format!("{:.2}", time.as_secs_f64())).collect();
        let grows = |times: &[Duration]| match times {
            [first, .., last] => last.as_secs_f64() / first.as_secs_f64(),
            _ => 1.0,
        };
        let told = format!("imports of {} rows took {} s", site.rows, seconds.join(", "));
        Ok(vec![Finding::judged(|| grows(&times) <= GROWTH, told)])
    }
}

async fn small_imports(site: &Site, key: &str, next: &AtomicUsize) -> Result<(), Failed> {
    loop {
        let import = next.fetch_add(1, Ordering::Relaxed);
        if import >= SMALL {
            return Ok(());
        }
        let rows: Vec<_> = (0..3).map(|row| json!({ "phone": person(import * 3 + row) })).collect();
        site.post("/contacts/import", key, &json!({ "rows": rows })).await?;
    }
}
