//! The loops that keep order, whoever does what falls due, and the routes' own.

use std::sync::Arc;
use std::time::Duration;

use sms_core::route::{Route, RouteSink};
use sms_core::{Error, Sms};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::route_gauges;
use super::work::{Stopping, stopped};
use crate::domain_error::causes;

/// How long a route may take to have answered what is under way and to disconnect; the rest of the
/// time that a server has to stop is for recording what became of it.
const TIME_TO_CLOSE: Duration = Duration::from_secs(7);

/// Work that is done every so often, in small portions that hold up nobody.
struct Upkeep {
    doing: &'static str,
    every: Duration,
    /// A portion of less is the last for now.
    worth_going_on: usize,
}

const TIDY_BATCH: usize = 1_000;
const TIDY: Upkeep = Upkeep { doing: "tidying", every: Duration::from_mins(1), worth_going_on: 1 };
const PREPARE_BATCH: usize = 5_000;
const PREPARE: Upkeep =
    Upkeep { doing: "preparing searches", every: Duration::from_mins(1), worth_going_on: 1 };
const FOLD_BATCH: usize = 2_000;
/// The few differences that are left come with the next ones.
const FOLD: Upkeep = Upkeep {
    doing: "adding up statistics",
    every: Duration::from_secs(10),
    worth_going_on: FOLD_BATCH,
};

/// Starts them all.
pub(super) fn start(loops: &mut JoinSet<()>, sms: &Sms, stopping: &Stopping) {
    let tidy = |sms: Sms| async move { sms.tidy(TIDY_BATCH).await };
    loops.spawn(TIDY.keep(sms.clone(), stopping.clone(), tidy));
    let prepare = |sms: Sms| async move { sms.prepare_search(PREPARE_BATCH).await };
    loops.spawn(PREPARE.keep(sms.clone(), stopping.clone(), prepare));
    let fold = |sms: Sms| async move { sms.fold_statistics(FOLD_BATCH).await };
    loops.spawn(FOLD.keep(sms.clone(), stopping.clone(), fold));
    loops.spawn(route_gauges::keep(sms.clone(), stopping.clone()));
    for route in sms.routes() {
        loops.spawn(keep_route(route.clone(), sms.sink(), stopping.clone()));
    }
}

impl Upkeep {
    async fn keep<P>(self, sms: Sms, mut stopping: Stopping, portion: impl Fn(Sms) -> P)
    where
        P: Future<Output = Result<usize, Error>>,
    {
        let Self { doing, every, worth_going_on } = self;
        let mut ticks = interval(every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                _ = stopping.changed() => return,
            }
            while !stopped(&stopping) {
                match portion(sms.clone()).await {
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

/// Lets a route run until the server stops, and then until it is closed: what is under way is
/// answered, and what its network brings meanwhile is taken in.
async fn keep_route(route: Arc<dyn Route>, sink: Arc<dyn RouteSink>, mut stopping: Stopping) {
    let running = async {
        route.run(sink).await;
        // It has nothing to do in between, and is closed all the same.
        std::future::pending::<()>().await;
    };
    let closed = async {
        // An error means that the sender is gone, which is how stopping is told.
        let _ = stopping.changed().await;
        timeout(TIME_TO_CLOSE, route.close()).await
    };
    let in_time = tokio::select! {
        () = running => Ok(()),
        in_time = closed => in_time,
    };
    if in_time.is_err() {
        tracing::warn!(route = route.name().as_str(), "the network did not let go in time");
    }
}
