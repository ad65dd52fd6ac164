//! A customer without credits fills the store: 20,000 names of custom fields, and rejected
//! recipients of great length.

use async_trait::async_trait;
use serde_json::json;
use tokio::time::Instant;

use crate::client::{Connection, request};
use crate::failed::Failed;
use crate::site::{Site, Standing, person};
use crate::storm::{Attack, Finding, Prepared};

/// The most names of custom fields that an account may have.
const MOST_NAMES: usize = 1_000;
/// The longest answer that tells of 900 rejected recipients.
const MOST_ANSWER: usize = 300_000;

pub(super) struct Fields;

struct Ready {
    key: String,
}

#[async_trait]
impl Attack for Fields {
    async fn prepare(&self, site: &Site) -> Result<Box<dyn Prepared>, Failed> {
        Ok(Box::new(Ready { key: site.account(Standing::Active(0)).await?.key }))
    }
}

#[async_trait]
impl Prepared for Ready {
    async fn storm(&self, site: &Site, _: Instant) -> Result<Vec<Finding>, Failed> {
        let rows: Vec<_> = (0..site.rows.min(20_000))
            .map(|place| json!({ "phone": person(place), "custom": { format!("f{place}"): 1 } }))
            .collect();
        site.post("/contacts/import", &self.key, &json!({ "rows": rows })).await?;
        let names = site.get("/contacts/fields", &self.key).await?;
        let names = names.as_array().map_or(0, Vec::len);
        let to: Vec<_> = (0..900).map(|place| format!("{place}{}", "x".repeat(1_000))).collect();
        let body = json!({ "to": to, "body": "Your table is ready" });
        let send = request("POST", "/api/v1/messages", &self.key, &body);
        let answer = Connection::open(site.server.addr).await?.ask(&send).await?;
        let length = answer.body.len();
        Ok(vec![
            Finding::judged(
                || names <= MOST_NAMES,
                format!("{names} names of custom fields kept; at most {MOST_NAMES} may be"),
            ),
            Finding::judged(
                || length <= MOST_ANSWER,
                format!("a send to 900 times 1,000 characters is answered with {length} bytes"),
            ),
        ])
    }
}
