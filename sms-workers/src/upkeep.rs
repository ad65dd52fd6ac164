//! The loops that keep a store in order, at intervals and in small batches.

use std::time::Duration;

use sms_core::error::causes;
use sms_core::{Error, Sms};
use tokio::time::{MissedTickBehavior, interval};

use crate::pause::PauseSwitch;
use crate::stopping::Stopping;

/// Work that is done at intervals.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Upkeep {
    doing: &'static str,
    every: Duration,
    batch: usize,
    /// A batch that does less than this is the last until the next interval.
    worth_going_on: usize,
}

pub(crate) const TIDY: Upkeep =
    Upkeep { doing: "tidying", every: Duration::from_mins(1), batch: 1_000, worth_going_on: 1 };
pub(crate) const PREPARE_SEARCH: Upkeep = Upkeep {
    doing: "preparing searches",
    every: Duration::from_mins(1),
    batch: 5_000,
    worth_going_on: 1,
};
const FOLD_BATCH: usize = 2_000;
pub(crate) const FOLD_STATISTICS: Upkeep = Upkeep {
    doing: "adding up statistics",
    every: Duration::from_secs(10),
    batch: FOLD_BATCH,
    // The few differences that are left wait for the next interval.
    worth_going_on: FOLD_BATCH,
};

impl Upkeep {
    /// Does one batch after another, then waits for the next interval.
    pub(crate) async fn run<B>(
        self,
        sms: Sms,
        mut stopping: Stopping,
        switch: PauseSwitch,
        batch_of: impl Fn(Sms, usize) -> B,
    ) where
        B: Future<Output = Result<usize, Error>>,
    {
        let Self { doing, every, batch, worth_going_on } = self;
        let mut ticks = interval(every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                () = stopping.requested() => return,
            }
            while !stopping.is_requested() {
                let _turn = switch.turn().await;
                match batch_of(sms.clone(), batch).await {
                    Ok(done) if done < worth_going_on => break,
                    Ok(done) => tracing::debug!(done, "{doing}"),
                    Err(error) => {
                        tracing::warn!(error = %causes(&error), "{doing} failed");
                        break;
                    }
                }
            }
        }
    }
}
