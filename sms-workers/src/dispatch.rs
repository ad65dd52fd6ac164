//! The loop that hands due messages to their routes.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use sms_core::Sms;
use sms_core::dispatch::Lane;
use sms_core::error::causes;
use sms_core::route::RouteName;
use sms_core::service::Work;
use tokio::time::{Instant, sleep};

use crate::carrying::{Carrying, counted};
use crate::stopping::Stopping;
use crate::worker::{BLOCKED_SLEEP, Rest, Worker};

/// Loops side by side for each route that carries live messages, so that a slow route does not hold
/// up another, and the most loops in all.
const LOOPS_PER_ROUTE: usize = 2;
const MOST_LOOPS: usize = 8;
/// The least time between two claims that had to leave messages of a route and found no others.
const BETWEEN_BLOCKED: Duration = Duration::from_millis(50);
/// How often a route that was full is asked whether it has room. A window that is answered in
/// milliseconds must not stay empty for long; a network that has been away for a while needs fewer
/// looks.
const LOOK_FOR_ROOM_EVERY: Duration = Duration::from_millis(10);
const LOOK_LATER_EVERY: Duration = Duration::from_millis(50);
/// The number of quick looks before the slower ones.
const QUICK_LOOKS: usize = 100;
/// The longest that a stopping loop tries to record outcomes, and the pause between two tries.
const RECORD_FOR: Duration = Duration::from_secs(5);
const RECORD_EVERY: Duration = Duration::from_millis(200);

/// How many loops hand over the normal lane alone.
pub(crate) const NORMAL_LOOPS: usize = 2;
/// How often they look although no bell rang, for what falls due meanwhile.
const LOOK_UNASKED_EVERY: Duration = Duration::from_secs(1);

/// How many of these loops run side by side unless it is set.
pub(crate) fn default_loops(sms: &Sms) -> usize {
    let live = sms.routes().iter().filter(|route| *route.name() != RouteName::test()).count();
    (live * LOOPS_PER_ROUTE).clamp(LOOPS_PER_ROUTE, MOST_LOOPS)
}

pub(crate) async fn run(mut worker: Worker) {
    let mut carrying = Carrying::default();
    while !worker.is_stopping() {
        let Some(done) = carrying.claim(&mut worker, &Lane::ALL).await else { continue };
        if done.is_full {
            // There may be more than one loop can take.
            worker.bells.bell(Work::Dispatch).notify_one();
            continue;
        }
        // What is due although some was taken fell due meanwhile.
        let blocked = if done.claimed > 0 { Duration::ZERO } else { BLOCKED_SLEEP };
        let rest = Rest { blocked, ..Rest::default() };
        if done.lanes_left == 0 {
            rest_until(&mut worker, rest, std::future::pending()).await;
            continue;
        }
        // Messages were left. They are claimed as soon as there is room; until then, a message that
        // is accepted does not cause a claim each time.
        let sms = worker.sms.clone();
        let mut room = pin!(room(&sms, done.lanes_left));
        if done.claimed == 0 {
            tokio::select! {
                () = &mut room => continue,
                () = sleep(BETWEEN_BLOCKED) => {}
                () = worker.stopping.requested() => continue,
            }
        }
        rest_until(&mut worker, rest, room).await;
    }
    carrying.ends().await;
    record_the_rest(&worker.sms, &worker.stopping).await;
}

/// Rests as a loop that takes what comes next.
async fn rest_until(worker: &mut Worker, rest: Rest, sooner: impl Future<Output = ()>) {
    let bells = Arc::clone(&worker.bells);
    let _resting = bells.rests();
    worker.rest_for(Work::Dispatch, rest, sooner).await;
}

/// Hands over the normal lane, while the other loops claim or record much.
pub(crate) async fn run_normal(mut worker: Worker) {
    let mut carrying = Carrying::default();
    while !worker.is_stopping() {
        let bells = Arc::clone(&worker.bells);
        tokio::select! {
            () = bells.normal().notified() => {}
            () = sleep(LOOK_UNASKED_EVERY) => {}
            () = worker.stopping.requested() => break,
        }
        while !worker.is_stopping() {
            let Some(done) = carrying.claim(&mut worker, &[Lane::Normal]).await else { break };
            if done.is_full {
                bells.normal().notify_one();
            }
            if done.claimed > 0 {
                continue;
            }
            if done.lanes_left == 0 {
                break;
            }
            // What is accepted for a route without room does not cause a claim each time.
            tokio::select! {
                () = room(&worker.sms, done.lanes_left) => {}
                () = sleep(BETWEEN_BLOCKED) => break,
                () = worker.stopping.requested() => break,
            }
        }
    }
    carrying.ends().await;
}

/// Resolves when fewer routes leave their messages in the queue than did.
async fn room(sms: &Sms, before: usize) {
    let mut looks = 0;
    while sms.lanes_that_wait().len() >= before {
        sleep(if looks < QUICK_LOOKS { LOOK_FOR_ROOM_EVERY } else { LOOK_LATER_EVERY }).await;
        looks += 1;
    }
}

/// Records outcomes that the store could not record when they came: only this program knows them.
pub(crate) async fn record_the_rest(sms: &Sms, stopping: &Stopping) {
    let until = Instant::now() + RECORD_FOR.min(stopping.time_left().saturating_sub(RECORD_EVERY));
    while let (_, Err(error)) = counted(sms.record_kept().await) {
        if Instant::now() >= until {
            tracing::error!(
                error = %causes(&error),
                "outcomes of submitted messages could not be recorded"
            );
            return;
        }
        sleep(RECORD_EVERY).await;
    }
}
