//! How replays go on beside other work. The runtime's clock is paused: it advances only while every
//! task waits.

use std::sync::Arc;
use std::time::Duration;

use sms_core::Error;
use sms_core::clock::{Clock, ManualClock, MovableClock};
use sms_core::event::EventType;
use sms_core::event::position::Position;
use sms_core::prelude::*;
use sms_core::service::replay::{ReplayFrom, ReplayRequest};
use sms_core::time::Timestamp;
use sms_core::webhook::endpoint::{Endpoint, EndpointInput};
use sms_core::webhook::replay::{EVERY, PORTION};
use sms_store_memory::MemoryStore;
use sms_tests::call_counter::CallCounter;
use sms_tests::failing_store::FailingStore;
use sms_tests::troubled_replays::TroubledReplays;
use sms_workers::{WorkerOptions, Workers};
use tokio::time::{Instant, sleep, timeout};

use crate::webhook::{Answering, PATIENCE, Stage, TAKES, until};

/// How many events there are before an endpoint is made.
const MISSED: usize = 3;
/// How long a worker pauses at least when it does not listen for new work.
const PAUSE: Duration = Duration::from_secs(1);

/// A service whose account has missed events, on a store that can be given trouble with replays.
async fn stage() -> (Arc<TroubledReplays>, Stage) {
    stage_with(204, MISSED).await
}

/// The same, with endpoints that give this answer, and an account that has missed so many.
async fn stage_with(answer: u16, missed: usize) -> (Arc<TroubledReplays>, Stage) {
    sms_test_log::watch();
    let store = Arc::new(TroubledReplays::new(Arc::new(MemoryStore::new())));
    let stage = Stage::new(store.clone(), &Answering::with(answer), missed).await;
    (store, stage)
}

/// An endpoint that missed all events so far.
async fn late_endpoint(stage: &Stage) -> Endpoint {
    let input = EndpointInput::new("https://example.com/late", [EventType::MessageSent]);
    stage.account.webhook_create(input).await.unwrap().0
}

fn everything() -> ReplayRequest {
    ReplayRequest { from: ReplayFrom::Position(Position::START), to: None, types: None }
}

async fn replay_all(stage: &Stage, endpoint: &Endpoint) {
    let begun = stage.account.webhook_replay(endpoint.id, everything()).await.unwrap();
    assert_eq!(begun.events, MISSED);
}

#[tokio::test(start_paused = true)]
async fn a_replay_that_fails_does_not_keep_other_replays_from_going_on() {
    let (store, stage) = stage().await;
    let (failing, other) = (late_endpoint(&stage).await, late_endpoint(&stage).await);
    store.fail_replays_to(failing.id);
    replay_all(&stage, &failing).await;
    // The one that fails is due first.
    sleep(TAKES).await;
    replay_all(&stage, &other).await;
    let error = stage.sms.replays_go_on().await.unwrap_err();
    assert!(matches!(error, Error::Store(_)), "the failure is reported: {error:?}");
    assert_eq!(store.failures(), 1);
    assert_eq!(stage.deliveries_to(&other).await.len(), MISSED);
    assert_eq!(stage.deliveries_to(&failing).await, []);
    store.fail_no_replays();
    sleep(EVERY).await;
    assert_eq!(stage.sms.replays_go_on().await.unwrap(), 1, "it is tried again");
    assert_eq!(stage.deliveries_to(&failing).await.len(), MISSED);
}

#[tokio::test(start_paused = true)]
async fn a_replay_that_fails_does_not_hold_up_other_deliveries() {
    let (store, stage) = stage().await;
    let failing = late_endpoint(&stage).await;
    store.fail_replays_to(failing.id);
    let workers = Workers::start(&stage.sms, WorkerOptions::new());
    until("what waits is delivered", async || stage.is_delivered().await).await;
    replay_all(&stage, &failing).await;
    for round in 1..=3 {
        let before = store.failures();
        until("the replay fails again", async || store.failures() > before).await;
        let number = format!("07700 90020{round}");
        stage.account.send(SendRequest::new("hello").to(number)).await.unwrap();
        let delivered = until("the new event is delivered", async || {
            stage.deliveries_to(&stage.endpoint).await.len() == MISSED + round
                && stage.is_delivered().await
        });
        timeout(PAUSE / 2, delivered).await.expect("nothing waits for the replay that fails");
    }
    workers.stop(PATIENCE).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_replay_that_hangs_does_not_hold_up_deliveries() {
    let (store, stage) = stage().await;
    let hanging = late_endpoint(&stage).await;
    store.hang_replays_to(hanging.id);
    let workers = Workers::start(&stage.sms, WorkerOptions::new());
    until("what waits is delivered", async || stage.is_delivered().await).await;
    replay_all(&stage, &hanging).await;
    until("a portion hangs", async || store.hung() == 1).await;
    for round in 1..=3 {
        stage.account.send(SendRequest::new("hello").to("07700 900200")).await.unwrap();
        let delivered = until("the new event is delivered", async || {
            stage.deliveries_to(&stage.endpoint).await.len() == MISSED + round
                && stage.is_delivered().await
        });
        timeout(PAUSE / 2, delivered).await.expect("nothing waits for the portion that hangs");
    }
    assert_eq!(store.hung(), 1);
    workers.stop(PATIENCE).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_endpoint_that_is_down_for_some_minutes_keeps_its_replay() {
    const EVENTS: usize = 100;
    let (_, stage) = stage_with(500, EVENTS).await;
    let endpoint = late_endpoint(&stage).await;
    let begun = stage.account.webhook_replay(endpoint.id, everything()).await.unwrap();
    assert_eq!(begun.events, EVENTS);
    let workers = Workers::start(&stage.sms, WorkerOptions::new());
    sleep(PATIENCE).await;
    until("the first portion has failed twice", async || {
        let made = stage.deliveries_to(&endpoint).await;
        made.iter().filter(|delivery| delivery.attempts == 2).count() >= PORTION.get()
    })
    .await;
    assert_eq!(stage.deliveries_to(&endpoint).await.len(), PORTION.get(), "no second portion");
    let endpoint = stage.account.webhook_get(endpoint.id).await.unwrap();
    assert!(endpoint.power.is_on() && endpoint.replay.is_some(), "{endpoint:?}");
    workers.stop(PATIENCE).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn nine_replays_of_an_account_send_no_faster_than_one() {
    const EVENTS: usize = 60;
    let (_, stage) = stage_with(204, EVENTS).await;
    let mut endpoints = Vec::new();
    // The account has an endpoint already, which needs no replay, and may have ten.
    for _ in 0..9 {
        endpoints.push(late_endpoint(&stage).await);
    }
    for endpoint in &endpoints {
        let begun = stage.account.webhook_replay(endpoint.id, everything()).await.unwrap();
        assert_eq!(begun.events, EVENTS);
    }
    let began = Instant::now();
    let workers = Workers::start(&stage.sms, WorkerOptions::new());
    for endpoint in &endpoints {
        until("the replay was sent", async || {
            let made = stage.deliveries_to(endpoint).await;
            made.iter().filter(|delivery| delivery.delivered_at.is_some()).count() == EVENTS
        })
        .await;
    }
    // Each has five portions, and rests after four of them.
    let took = began.elapsed();
    assert!(took >= 36 * EVERY, "{took:?}");
    workers.stop(PATIENCE).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn requests_of_an_account_for_replays_read_the_log_one_after_another() {
    let (store, stage) = stage().await;
    let (one, other) = (late_endpoint(&stage).await, late_endpoint(&stage).await);
    store.hold_the_log();
    let before = store.reads();
    let ask = |endpoint: &Endpoint| {
        let (account, endpoint) = (stage.account.clone(), endpoint.id);
        tokio::spawn(async move { account.webhook_replay(endpoint, everything()).await })
    };
    let first = ask(&one);
    until("the first request reads", async || store.reads() > before).await;
    let (of_other, again) = (ask(&other), ask(&one));
    sleep(PAUSE).await;
    assert_eq!(store.reads() - before, 1, "the others wait for their turn");
    store.let_the_log_through();
    assert_eq!(first.await.unwrap().unwrap().events, MISSED);
    assert_eq!(of_other.await.unwrap().unwrap().events, MISSED);
    let again = again.await.unwrap().unwrap_err();
    assert_eq!(again.code(), "replay_under_way");
    assert_eq!(store.reads() - before, 2, "the refused request reads nothing");
}

#[tokio::test(start_paused = true)]
async fn time_that_passes_asks_seldom_for_a_replay_to_an_endpoint_that_is_down() {
    const EVENTS: usize = 20;
    sms_test_log::watch();
    let start = Arc::new(ManualClock::at(Timestamp::from_millis(1_795_000_000_000)));
    let clock = Arc::new(MovableClock::new(start));
    let store = Arc::new(CallCounter::new(Arc::new(MemoryStore::new())));
    let sms = Sms::builder(store.clone()).clock(clock.clone()).webhooks(Answering::with(500));
    let sms = sms.build();
    let operator = sms.operator();
    operator.number_create(NumberInput::shared("07700 900001")).await.unwrap();
    let account = operator.account_create(NewAccountInput::active("Bistro", 100)).await.unwrap();
    let account = sms.account(account.id, Mode::Live);
    let numbers: Vec<String> = (0..EVENTS).map(|n| format!("07700 900{n:03}")).collect();
    account.send(SendRequest::new("hello").to(numbers.join(","))).await.unwrap();
    sms.pass(&clock, Duration::from_mins(10)).await.unwrap();
    let input = EndpointInput::new("https://example.com/late", [EventType::MessageSent]);
    let endpoint = account.webhook_create(input).await.unwrap().0;
    assert_eq!(account.webhook_replay(endpoint.id, everything()).await.unwrap().events, EVENTS);
    let looks = || store.calls("next(Replays)") + store.calls("endpoint_list(ReplaysDue)");
    let before = looks();
    sms.pass(&clock, Duration::from_hours(12)).await.unwrap();
    let endpoint = account.webhook_get(endpoint.id).await.unwrap();
    assert!(endpoint.replay.is_some(), "it waits: {endpoint:?}");
    let looks = looks() - before;
    assert!(looks < 1_000, "{looks} calls");
}

#[tokio::test(start_paused = true)]
async fn a_replay_that_begins_while_the_store_looks_for_replays_goes_on_at_once() {
    let (store, stage) = stage().await;
    let endpoint = late_endpoint(&stage).await;
    store.hold_a_look_up();
    let begins = async {
        store.look_waits().await;
        replay_all(&stage, &endpoint).await;
        store.let_the_look_through();
    };
    let both = async { tokio::join!(stage.sms.replays_go_on(), begins) };
    let (looked, ()) = timeout(PATIENCE, both).await.expect("the look-up ends");
    assert_eq!(looked.unwrap(), 0, "it began after the store had its answer");
    assert_eq!(stage.sms.replays_go_on().await.unwrap(), 1, "no time has passed");
    assert_eq!(stage.deliveries_to(&endpoint).await.len(), MISSED);
}

/// Three messages leave. The outcome of the first is recorded two minutes late, after so many of
/// the others. Returns how many events replays have from then on, and until then.
async fn replayed_around_a_late_outcome(recorded_after: usize) -> (usize, usize) {
    sms_test_log::watch();
    let clock = Arc::new(ManualClock::at(Timestamp::from_millis(1_795_000_000_000)));
    let store = Arc::new(FailingStore::new(Arc::new(MemoryStore::new())));
    let server = || {
        let sms = Sms::builder(store.clone()).clock(clock.clone());
        sms.webhooks(Answering::with(204)).build()
    };
    let (sms, other) = (server(), server());
    let operator = sms.operator();
    operator.number_create(NumberInput::shared("07700 900001")).await.unwrap();
    let account = operator.account_create(NewAccountInput::active("Bistro", 10)).await.unwrap();
    let account = sms.account(account.id, Mode::Live);
    let send = async || account.send(SendRequest::new("hello").to("07700 900123")).await.unwrap();
    send().await;
    store.refuse_outcomes(1);
    sms.dispatch_due(1).await.unwrap_err();
    for _ in 0..12 {
        clock.advance(Duration::from_secs(10));
        sms.renew_leases().await.unwrap();
    }
    let since = clock.now().minus(Duration::from_secs(45));
    for sent in 1..=2 {
        clock.advance(Duration::from_secs(1));
        send().await;
        assert_eq!(other.dispatch_due(1).await.unwrap().sent, 1);
        if sent == recorded_after {
            sms.record_kept().await.unwrap();
        }
    }
    let input = EndpointInput::new("https://example.com/late", [EventType::MessageSent]);
    let endpoint = account.webhook_create(input.clone()).await.unwrap().0;
    let request = ReplayRequest { from: ReplayFrom::Time(since), to: None, types: None };
    let after = account.webhook_replay(endpoint.id, request).await.unwrap();
    let endpoint = account.webhook_create(input).await.unwrap().0;
    let from = ReplayFrom::Position(Position::START);
    let request = ReplayRequest { from, to: Some(since), types: None };
    let before = account.webhook_replay(endpoint.id, request).await.unwrap();
    (after.events, before.events)
}

#[tokio::test]
async fn a_replay_by_time_has_what_was_recorded_late_and_what_came_before_it() {
    for recorded_after in [1, 2] {
        let events = replayed_around_a_late_outcome(recorded_after).await;
        assert_eq!(events, (2, 1), "recorded after {recorded_after} others");
    }
}
