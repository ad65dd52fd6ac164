//! The loops that keep a service going. Each calls one of the core's bounded pieces of work, and
//! sleeps until a bell rings, something falls due, or a short while has passed.

use std::time::Duration;

use sms_core::number::rent::RentsCharged;
use sms_core::service::Work;
use sms_core::{Error, Sms};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};

use super::wake::Bells;
use crate::domain_error::causes;
use sms_webhooks::courier::Courier;

/// How many texts one claim takes.
const DISPATCH_BATCH: usize = 500;
/// Workers that hand texts over side by side.
const DISPATCHERS: usize = 2;
/// How many simulated comebacks are brought back at once.
const FOLLOW_UP_BATCH: usize = 500;
/// How many numbers' rent is taken at once.
const RENT_BATCH: usize = 200;
/// The longest sleep of the loop that takes rent, which falls due without a bell: well within the
/// minute that is promised.
const LONGEST_RENT_SLEEP: Duration = Duration::from_secs(15);
/// The longest sleep: the net beneath the bells.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);
/// The shortest sleep when something is due that could not be taken: others hold it, or there are
/// no
/// slots for it.
const BLOCKED_SLEEP: Duration = Duration::from_millis(250);
/// How long to wait after the store failed.
const AFTER_FAILURE: Duration = Duration::from_secs(1);
/// Leases are renewed so many times in their length.
const RENEWALS: u32 = 3;
/// How long a server that stops tries to record what left; less than it may take to stop.
const LAST_RECORDS: Duration = Duration::from_secs(5);
const LAST_RECORDS_EVERY: Duration = Duration::from_millis(200);
const TIDY_EVERY: Duration = Duration::from_mins(1);
const TIDY_BATCH: usize = 1_000;
/// How often searches are prepared, and in how many texts at once.
const PREPARE_EVERY: Duration = Duration::from_mins(1);
const PREPARE_BATCH: usize = 5_000;

/// How often statistics are added up, and how many differences at once.
const FOLD_EVERY: Duration = Duration::from_secs(10);
const FOLD_BATCH: usize = 2_000;

/// Told to stop by the server, once; dropped by a server that is gone.
pub type Stopping = watch::Receiver<()>;

/// Starts all loops. They end after [`Stopping`] changes, each when what it has in hand is done.
pub fn start(sms: &Sms, bells: &Bells, stopping: &Stopping) -> JoinSet<()> {
    let mut loops = JoinSet::new();
    for _ in 0..DISPATCHERS {
        loops.spawn(dispatch(sms.clone(), bells.clone(), stopping.clone()));
    }
    loops.spawn(follow_up(sms.clone(), bells.clone(), stopping.clone()));
    loops.spawn(deliver(sms.clone(), bells.clone(), stopping.clone()));
    loops.spawn(charge_rents(sms.clone(), bells.clone(), stopping.clone()));
    loops.spawn(renew(sms.clone(), stopping.clone()));
    start_upkeep(&mut loops, sms, stopping);
    loops
}

/// Starts the loops that keep order, whoever does what falls due, and the routes' own.
pub(super) fn start_upkeep(loops: &mut JoinSet<()>, sms: &Sms, stopping: &Stopping) {
    loops.spawn(tidy(sms.clone(), stopping.clone()));
    loops.spawn(prepare_search(sms.clone(), stopping.clone()));
    loops.spawn(fold_statistics(sms.clone(), stopping.clone()));
    for route in sms.routes() {
        let (route, sink, mut stopping) = (route.clone(), sms.sink(), stopping.clone());
        loops.spawn(async move {
            tokio::select! {
                () = route.run(sink) => {}
                _ = stopping.changed() => {}
            }
        });
    }
}

async fn dispatch(sms: Sms, bells: Bells, mut stopping: Stopping) {
    while !stopped(&stopping) {
        let done = match sms.dispatch_due(DISPATCH_BATCH).await {
            Ok(done) => done,
            Err(error) => {
                failed("handing over texts", &error, &mut stopping).await;
                continue;
            }
        };
        metrics::counter!("sms_texts_sent_total").increment(done.sent as u64);
        metrics::counter!("sms_texts_failed_total").increment(done.failed as u64);
        metrics::counter!("sms_hand_overs_retried_total").increment(done.retried as u64);
        metrics::counter!("sms_hand_overs_lost_total").increment(done.lost as u64);
        if done.claimed < DISPATCH_BATCH {
            rest(&sms, &bells, Work::Dispatch, &mut stopping).await;
        } else {
            // There may be more than one worker can take.
            bells.bell(Work::Dispatch).notify_one();
        }
    }
    record_the_rest(&sms).await;
}

/// Records what left and could not be recorded: nobody else knows of it.
async fn record_the_rest(sms: &Sms) {
    let until = Instant::now() + LAST_RECORDS;
    while let Err(error) = sms.record_kept().await {
        if Instant::now() > until {
            tracing::error!(error = %causes(&error), "texts left that could not be recorded");
            return;
        }
        sleep(LAST_RECORDS_EVERY).await;
    }
}

async fn follow_up(sms: Sms, bells: Bells, mut stopping: Stopping) {
    while !stopped(&stopping) {
        match sms.simulate_due(FOLLOW_UP_BATCH).await {
            Ok(count) if count == FOLLOW_UP_BATCH => {}
            Ok(_) => rest(&sms, &bells, Work::FollowUps, &mut stopping).await,
            Err(error) => failed("simulating a network", &error, &mut stopping).await,
        }
    }
}

async fn deliver(sms: Sms, bells: Bells, mut stopping: Stopping) {
    let mut courier = Courier::new(sms.clone());
    while !stopped(&stopping) {
        match courier.fill().await {
            Ok(_) => {}
            Err(error) => failed("claiming webhook deliveries", &error, &mut stopping).await,
        }
        tokio::select! {
            attempted = courier.next_done() => count_attempt(&attempted),
            () = rest(&sms, &bells, Work::Webhooks, &mut stopping) => {}
        }
    }
    // What is under way ends within an endpoint's time to answer.
    while courier.under_way() > 0 {
        count_attempt(&courier.next_done().await);
    }
}

fn count_attempt(attempted: &Result<sms_core::service::webhook::Attempted, Error>) {
    use sms_core::service::webhook::Attempted;
    let outcome = match attempted {
        Ok(Attempted::Delivered) => "delivered",
        Ok(Attempted::Failed) => "failed",
        Ok(Attempted::LeaseLost) => "lease_lost",
        Err(error) => {
            tracing::warn!(error = %causes(error), "a webhook attempt could not be recorded");
            "unrecorded"
        }
    };
    metrics::counter!("sms_webhook_attempts_total", "outcome" => outcome).increment(1);
}

async fn charge_rents(sms: Sms, bells: Bells, mut stopping: Stopping) {
    while !stopped(&stopping) {
        match sms.charge_rents(RENT_BATCH).await {
            Ok(RentsCharged { taken: 0, unpaid }) if unpaid < RENT_BATCH => {
                rest_for(&sms, &bells, Work::Rents, LONGEST_RENT_SLEEP, &mut stopping).await;
            }
            Ok(charged) => metrics::counter!("sms_rents_total").increment(charged.taken as u64),
            Err(error) => failed("taking rent", &error, &mut stopping).await,
        }
    }
}

async fn renew(sms: Sms, mut stopping: Stopping) {
    let mut ticks = interval(sms.lease_length() / RENEWALS);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            _ = stopping.changed() => return,
        }
        if let Err(error) = sms.renew_leases().await {
            tracing::warn!(error = %causes(&error), "leases could not be renewed");
        }
    }
}

async fn tidy(sms: Sms, mut stopping: Stopping) {
    let mut ticks = interval(TIDY_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            _ = stopping.changed() => return,
        }
        // Until there is no more, in small portions that hold up nobody.
        while !stopped(&stopping) {
            match sms.tidy(TIDY_BATCH).await {
                Ok(0) => break,
                Ok(removed) => tracing::debug!(removed, "removed what is past its keep"),
                Err(error) => {
                    tracing::warn!(error = %causes(&error), "tidying failed");
                    break;
                }
            }
        }
    }
}

async fn prepare_search(sms: Sms, mut stopping: Stopping) {
    let mut ticks = interval(PREPARE_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            _ = stopping.changed() => return,
        }
        while !stopped(&stopping) {
            match sms.prepare_search(PREPARE_BATCH).await {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!(error = %causes(&error), "preparing searches failed");
                    break;
                }
            }
        }
    }
}

async fn fold_statistics(sms: Sms, mut stopping: Stopping) {
    let mut ticks = interval(FOLD_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            _ = stopping.changed() => return,
        }
        while !stopped(&stopping) {
            match sms.fold_statistics(FOLD_BATCH).await {
                // The few that are left come with the next ones.
                Ok(folded) if folded < FOLD_BATCH => break,
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!(error = %causes(&error), "adding up statistics failed");
                    break;
                }
            }
        }
    }
}

/// Sleeps until there may be work of this kind, or the server stops.
pub(super) async fn rest(sms: &Sms, bells: &Bells, work: Work, stopping: &mut Stopping) {
    rest_for(sms, bells, work, LONGEST_SLEEP, stopping).await;
}

async fn rest_for(
    sms: &Sms,
    bells: &Bells,
    work: Work,
    longest: Duration,
    stopping: &mut Stopping,
) {
    let next = sms.next_work(work).await.ok().flatten();
    let until = match next.map(|at| at.since(sms.now())) {
        None => longest,
        // It was due just now and was not taken: asking again at once would not help.
        Some(Duration::ZERO) => BLOCKED_SLEEP,
        Some(until) => until.min(longest),
    };
    tokio::select! {
        () = bells.bell(work).notified() => {}
        () = sleep(until) => {}
        _ = stopping.changed() => {}
    }
}

pub(super) async fn failed(doing: &str, error: &Error, stopping: &mut Stopping) {
    tracing::warn!(error = %causes(error), "{doing} failed; trying again");
    tokio::select! {
        () = sleep(AFTER_FAILURE) => {}
        _ = stopping.changed() => {}
    }
}

pub(super) fn stopped(stopping: &Stopping) -> bool {
    // The server signals once, or is gone altogether.
    stopping.has_changed().unwrap_or(true)
}
