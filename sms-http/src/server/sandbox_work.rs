//! The loops of a sandbox: they take turns with the moves of its clock.

use sms_core::service::Work;
use tokio::task::JoinSet;

use super::upkeep;
use super::wake::Bells;
use super::work::{self, Stopping};
use crate::sandbox::Sandbox;

/// How much of a kind of work a loop does at once.
const BATCH: usize = 100;

/// Starts the loops: one for each kind of work, and those that keep order.
pub(super) fn start(sandbox: &Sandbox, bells: &Bells, stopping: &Stopping) -> JoinSet<()> {
    let mut loops = JoinSet::new();
    for kind in Work::ALL {
        loops.spawn(keep_doing(sandbox.clone(), kind, bells.clone(), stopping.clone()));
    }
    upkeep::start(&mut loops, sandbox.sms(), stopping);
    loops
}

async fn keep_doing(sandbox: Sandbox, kind: Work, bells: Bells, mut stopping: Stopping) {
    while !work::stopped(&stopping) {
        match sandbox.take_turn(kind, BATCH).await {
            Ok(0) => work::rest(sandbox.sms(), &bells, kind, &mut stopping).await,
            Ok(_) => {}
            Err(error) => work::failed("working in the sandbox", &error, &mut stopping).await,
        }
    }
}
