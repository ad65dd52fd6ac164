//! Stops the loops for a while, for a clock that is moved by hand.

use std::sync::Arc;

use sms_core::service::Work;
use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};

use crate::worker::Worker;

/// How much of a kind of work a pausable loop does at once.
const BATCH: usize = 100;

/// Pauses the loops that were started with it
/// ([`WorkerOptions::pausable`](crate::WorkerOptions::pausable)). Clones share it.
///
/// A sandbox needs it: [`Sms::pass`](sms_core::Sms::pass) moves the clock, and no other worker may
/// hold anything meanwhile.
#[derive(Debug, Clone, Default)]
pub struct PauseSwitch(Arc<RwLock<()>>);

/// The loops pause until this is dropped. See [`PauseSwitch::pause`].
#[derive(Debug)]
#[must_use = "the loops go on when it is dropped"]
pub struct Paused {
    _held: OwnedRwLockWriteGuard<()>,
}

impl PauseSwitch {
    /// Waits until every loop has finished what it does, and lets none begin anything until the
    /// answer is dropped. Routes keep running, and outcomes that the store missed are still
    /// recorded.
    pub async fn pause(&self) -> Paused {
        Paused { _held: Arc::clone(&self.0).write_owned().await }
    }

    /// Permission to work; held until the work is done.
    pub(crate) async fn turn(&self) -> OwnedRwLockReadGuard<()> {
        Arc::clone(&self.0).read_owned().await
    }
}

/// Does work of one kind in batches, each of which is complete when it ends: between two of them
/// the loop holds nothing.
pub(crate) async fn run(mut worker: Worker, work: Work, switch: PauseSwitch) {
    while !worker.is_stopping() {
        let done = {
            let _turn = switch.turn().await;
            worker.sms.do_work(work, BATCH).await
        };
        match done {
            Ok(0) => worker.rest(work).await,
            Ok(_) => {}
            Err(error) => worker.failed("pausable work", &error).await,
        }
    }
}
