//! One attack after the other, each on a server of its own.

use std::path::PathBuf;
use std::time::Duration;

use tokio::time::Instant;

use crate::attack::Kind;
use crate::failed::Failed;
use crate::report::{Outcome, Verdict, print, print_head};
use crate::server::StoreKind;
use crate::site::Site;
use crate::storm::Finding;
use crate::witness::Witness;

/// What to run.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The server's program; `None` is this one.
    pub(crate) server: Option<PathBuf>,
    /// How long to watch before and after.
    pub(crate) quiet: Duration,
    /// How long every attack lasts, in place of its own time.
    pub(crate) lasts: Option<Duration>,
    pub(crate) rows: usize,
}

/// Runs the attacks on the stores and prints the table.
pub(crate) async fn run(
    plan: &Plan,
    kinds: &[Kind],
    stores: &[StoreKind],
) -> Result<Verdict, Failed> {
    let mut verdict = Verdict::Held;
    print_head();
    for kind in kinds {
        for store in stores {
            let outcome = attack(plan, *kind, *store).await?;
            if print(outcome) == Verdict::GaveWay {
                verdict = Verdict::GaveWay;
            }
        }
    }
    Ok(verdict)
}

async fn attack(plan: &Plan, kind: Kind, store: StoreKind) -> Result<Outcome, Failed> {
    let attack = kind.attack();
    let site = Site::start(plan.server.as_deref(), store, &attack.options(), plan.rows).await?;
    let witness = Witness::new(&site).await?;
    let prepared = attack.prepare(&site).await?;
    let before = witness.watch(&site, plan.quiet).await;
    let lasts = plan.lasts.unwrap_or_else(|| attack.lasts());
    let until = Instant::now() + lasts;
    let storm = prepared.storm(&site, until);
    let (during, found) = tokio::join!(witness.watch(&site, lasts), storm);
    let mut findings: Vec<Finding> = found?;
    let after = witness.watch(&site, plan.quiet).await;
    findings.extend(prepared.aftermath(&site).await?);
    Ok(Outcome { kind, store, before, during, after, findings })
}
