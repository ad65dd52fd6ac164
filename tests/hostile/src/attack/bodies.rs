//! One test key begins imports of 8 MB and never ends them, while another customer imports.

use std::net::SocketAddr;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::join_all;
use serde_json::json;
use tokio::time::{Instant, sleep, sleep_until};

use crate::client::{Connection, head, request};
use crate::failed::Failed;
use crate::site::{Site, Standing, person};
use crate::storm::{Attack, Finding, Prepared};

/// How many imports are under way at once.
const IMPORTS: usize = 64;
/// The most that an import may have.
const LENGTH: usize = 8 * 1024 * 1024;

pub(super) struct Bodies;

struct Ready {
    attacker: String,
    importer: String,
}

#[async_trait]
impl Attack for Bodies {
    async fn prepare(&self, site: &Site) -> Result<Box<dyn Prepared>, Failed> {
        let account = site.account(Standing::Active(0)).await?;
        let attacker = site.key(&account.id, "test").await?;
        let importer = site.account(Standing::Active(0)).await?.key;
        Ok(Box::new(Ready { attacker, importer }))
    }
}

#[async_trait]
impl Prepared for Ready {
    async fn storm(&self, site: &Site, until: Instant) -> Result<Vec<Finding>, Failed> {
        let addr = site.server.addr;
        let attackers = (0..IMPORTS).map(|_| {
            let attacker = half_send(addr, self.attacker.clone());
            tokio::spawn(async move {
                tokio::select! {
                    () = attacker => {}
                    () = sleep_until(until) => {}
                }
            })
        });
        let attack = join_all(attackers);
        let (_, (imported, refused)) = tokio::join!(attack, self.import(site, until));
        let told =
            format!("another customer's imports of 5,000 rows: {imported} done, {refused} refused");
        Ok(vec![Finding::judged(|| refused == 0 && imported > 0, told)])
    }
}

impl Ready {
    /// Imports as an honest customer does, beside the attack. Returns how many imports were done
    /// and how many refused.
    async fn import(&self, site: &Site, until: Instant) -> (u64, u64) {
        let (mut done, mut refused) = (0, 0);
        // The attack is at its height.
        sleep(Duration::from_secs(2)).await;
        while Instant::now() < until {
            let rows: Vec<_> = (0..5_000)
                .map(|place| json!({ "phone": person(place), "notes": "n".repeat(100) }))
                .collect();
            let body = json!({ "rows": rows });
            let import = request("POST", "/api/v1/contacts/import", &self.importer, &body);
            let answer = match Connection::open(site.server.addr).await {
                Ok(mut connection) => connection.ask(&import).await,
                Err(error) => Err(error),
            };
            match answer {
                Ok(answer) if answer.status == 200 => done += 1,
                _ => refused += 1,
            }
            sleep(Duration::from_millis(500)).await;
        }
        (done, refused)
    }
}

/// Sends most of an import, and then a byte now and then; begins again when it is cut off.
async fn half_send(addr: SocketAddr, key: String) {
    let head = head("POST", "/api/v1/contacts/import", &key, LENGTH);
    let most = vec![b' '; LENGTH - 100];
    loop {
        if let Ok(mut connection) = Connection::open(addr).await
            && connection.write(&head).await.is_ok()
            && connection.write(&most).await.is_ok()
        {
            while connection.write(b" ").await.is_ok() {
                sleep(Duration::from_millis(500)).await;
            }
        }
        sleep(Duration::from_millis(100)).await;
    }
}
