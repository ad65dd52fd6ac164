//! The loops that keep a service going. Each calls one of the core's bounded pieces of work, and
//! sleeps until a bell rings, something falls due, or a short while has passed.

use std::future::pending;
use std::pin::pin;
use std::time::Duration;

use sms_core::number::rent::RentsCharged;
use sms_core::route::RouteName;
use sms_core::service::Work;
use sms_core::service::work::DispatchFailed;
use sms_core::{Error, Sms};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};

use super::upkeep;
use super::wake::Bells;
use crate::domain_error::causes;
use sms_webhooks::courier::Courier;

/// How many texts one claim takes.
const DISPATCH_BATCH: usize = 500;
/// Workers that hand texts over side by side: so many for each route that carries live texts, lest
/// one that is slow holds up another, and so many at most.
const DISPATCHERS_PER_ROUTE: usize = 2;
const MOST_DISPATCHERS: usize = 8;
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
/// no slots for it.
const BLOCKED_SLEEP: Duration = Duration::from_millis(250);
/// The least time between two claims that had to leave texts of a route, and found no others.
const BETWEEN_BLOCKED: Duration = Duration::from_millis(50);
/// How often it is looked whether a route that was full has room: a window that is answered in
/// milliseconds must not be empty for long.
const LOOK_FOR_ROOM_EVERY: Duration = Duration::from_millis(10);
/// So often at first, and then more rarely.
const SOON: usize = 100;
const LOOK_LATER_EVERY: Duration = Duration::from_millis(50);
/// How long to wait after the store failed.
const AFTER_FAILURE: Duration = Duration::from_secs(1);
/// Leases are renewed so many times in their length.
const RENEWALS: u32 = 3;
/// How long a server that stops tries to record what left; less than it may take to stop.
const LAST_RECORDS: Duration = Duration::from_secs(5);
const LAST_RECORDS_EVERY: Duration = Duration::from_millis(200);

/// Told to stop by the server, once; dropped by a server that is gone.
pub type Stopping = watch::Receiver<()>;

/// Starts all loops. They end after [`Stopping`] changes, each when what it has in hand is done.
pub fn start(sms: &Sms, bells: &Bells, stopping: &Stopping) -> JoinSet<()> {
    let mut loops = JoinSet::new();
    for _ in 0..dispatchers(sms) {
        loops.spawn(dispatch(sms.clone(), bells.clone(), stopping.clone()));
    }
    loops.spawn(follow_up(sms.clone(), bells.clone(), stopping.clone()));
    loops.spawn(deliver(sms.clone(), bells.clone(), stopping.clone()));
    loops.spawn(charge_rents(sms.clone(), bells.clone(), stopping.clone()));
    loops.spawn(renew(sms.clone(), stopping.clone()));
    upkeep::start(&mut loops, sms, stopping);
    loops
}

fn dispatchers(sms: &Sms) -> usize {
    let live = sms.routes().iter().filter(|route| *route.name() != RouteName::test()).count();
    (live * DISPATCHERS_PER_ROUTE).clamp(DISPATCHERS_PER_ROUTE, MOST_DISPATCHERS)
}

async fn dispatch(sms: Sms, bells: Bells, mut stopping: Stopping) {
    while !stopped(&stopping) {
        let (done, error) = match sms.dispatch_due(DISPATCH_BATCH).await {
            Ok(done) => (done, None),
            Err(DispatchFailed { done, error }) => (done, Some(error)),
        };
        metrics::counter!("sms_texts_sent_total").increment(done.sent as u64);
        metrics::counter!("sms_texts_failed_total").increment(done.failed as u64);
        metrics::counter!("sms_hand_overs_retried_total").increment(done.retried as u64);
        metrics::counter!("sms_hand_overs_lost_total").increment(done.lost as u64);
        if let Some(error) = error {
            failed("handing over texts", &error, &mut stopping).await;
            continue;
        }
        if done.claimed >= DISPATCH_BATCH {
            // There may be more than one worker can take.
            bells.bell(Work::Dispatch).notify_one();
            continue;
        }
        // What is due although some was taken fell due meanwhile.
        let blocked = if done.claimed > 0 { Duration::ZERO } else { BLOCKED_SLEEP };
        let pause = Pause { longest: LONGEST_SLEEP, blocked };
        if done.routes_left == 0 {
            rest_for(&sms, &bells, Work::Dispatch, pause, pending(), &mut stopping).await;
            continue;
        }
        // Texts were left: they are taken as soon as there is room, and until then no claim is made
        // for every single text that is accepted meanwhile.
        let mut room = pin!(room(&sms, done.routes_left));
        if done.claimed == 0 {
            tokio::select! {
                () = &mut room => continue,
                () = sleep(BETWEEN_BLOCKED) => {}
                _ = stopping.changed() => continue,
            }
        }
        rest_for(&sms, &bells, Work::Dispatch, pause, room, &mut stopping).await;
    }
    record_the_rest(&sms).await;
}

/// Resolves when fewer routes leave their texts in the queue than did.
async fn room(sms: &Sms, before: usize) {
    let mut looks = 0;
    while sms.routes_that_wait().len() >= before {
        // A window that is answered in milliseconds must not be empty for long; a network that has
        // been away for a while need not be looked at as often.
        let pause = if looks < SOON { LOOK_FOR_ROOM_EVERY } else { LOOK_LATER_EVERY };
        sleep(pause).await;
        looks += 1;
    }
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
                let pause = Pause { longest: LONGEST_RENT_SLEEP, blocked: BLOCKED_SLEEP };
                rest_for(&sms, &bells, Work::Rents, pause, pending(), &mut stopping).await;
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

/// Sleeps until there may be work of this kind, or the server stops.
pub(super) async fn rest(sms: &Sms, bells: &Bells, work: Work, stopping: &mut Stopping) {
    let pause = Pause { longest: LONGEST_SLEEP, blocked: BLOCKED_SLEEP };
    rest_for(sms, bells, work, pause, pending(), stopping).await;
}

/// How long to sleep.
struct Pause {
    /// At most.
    longest: Duration,
    /// When something is due already: it was due just now and was not taken, so that asking again
    /// at once would not help.
    blocked: Duration,
}

async fn rest_for(
    sms: &Sms,
    bells: &Bells,
    work: Work,
    pause: Pause,
    sooner: impl Future<Output = ()>,
    stopping: &mut Stopping,
) {
    let next = sms.next_work(work).await.ok().flatten();
    let until = match next.map(|at| at.since(sms.now())) {
        None => pause.longest,
        Some(Duration::ZERO) => pause.blocked,
        Some(until) => until.min(pause.longest),
    };
    tokio::select! {
        () = bells.bell(work).notified() => {}
        () = sleep(until) => {}
        () = sooner => {}
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
