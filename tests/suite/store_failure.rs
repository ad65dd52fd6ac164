//! What the service does while its store fails.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::try_join_all;
use futures_util::{FutureExt, StreamExt, stream};
use sms_core::clock::ManualClock;
use sms_core::prelude::*;
use sms_core::random::SeededRandom;
use sms_core::route::{
    HandOver, HandOvers, HandedOver, OutboundMessage, Room, Route, RouteKind, RouteName, RouteSink,
    all_at_once,
};
use sms_core::service::AccountHandle;
use sms_core::service::work::DispatchFailed;
use sms_core::time::Timestamp;
use sms_store_memory::MemoryStore;
use sms_tests::failing_store::FailingStore;
use sms_workers::{WorkerOptions, Workers};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

/// A route that accepts every message, and counts them and the rooms that they take.
#[derive(Debug)]
struct Counting {
    name: RouteName,
    taken: Mutex<usize>,
    /// Each room holds one more.
    rooms: Arc<()>,
}

impl Counting {
    fn new(name: RouteName) -> Self {
        Self { name, taken: Mutex::new(0), rooms: Arc::new(()) }
    }

    fn rooms_taken(&self) -> usize {
        Arc::strong_count(&self.rooms) - 1
    }
}

#[async_trait]
impl Route for Counting {
    fn name(&self) -> &RouteName {
        &self.name
    }

    fn kind(&self) -> RouteKind {
        RouteKind::Real
    }

    fn hand_over<'a>(
        &'a self,
        messages: &'a [OutboundMessage],
        _sink: &'a dyn RouteSink,
    ) -> HandOvers<'a> {
        let room = || Room::held_by(Arc::clone(&self.rooms));
        all_at_once(async move {
            *self.taken.lock().unwrap() += messages.len();
            vec![HandOver::Taken { simulated: Vec::new() }; messages.len()]
        })
        .map(move |handed| HandedOver { room: room(), ..handed })
        .boxed()
    }

    async fn run(&self, _sink: Arc<dyn RouteSink>) {}
}

/// The result of a future that is ready at once; nothing here waits.
fn now<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().expect("it is ready at once")
}

/// Two services over one store that can be made to fail, and two queued messages.
struct Stage {
    clock: Arc<ManualClock>,
    store: Arc<FailingStore>,
    route: Arc<Counting>,
    sms: Sms,
    other: Sms,
    account: AccountHandle,
    sent: Sent,
}

impl Stage {
    fn new() -> Self {
        sms_test_log::watch();
        let clock = Arc::new(ManualClock::at(Timestamp::from_millis(1_795_000_000_000)));
        let store = Arc::new(FailingStore::new(Arc::new(MemoryStore::new())));
        let route = Arc::new(Counting::new(RouteName::new("counting")));
        let sms = Sms::builder(store.clone())
            .clock(clock.clone())
            .random(Arc::new(SeededRandom::new(3)))
            .route(route.clone())
            .build();
        let other = Sms::builder(store.clone()).clock(clock.clone()).route(route.clone()).build();
        let input = NewAccountInput::active("Bistro", 10);
        let account = now(sms.operator().account_create(input)).unwrap();
        now(sms.operator().number_create(NumberInput::shared("07700 900001"))).unwrap();
        let account = sms.account(account.id, Mode::Live);
        let request = SendRequest::new("hello").to("07700 900123, 07700 900124");
        let sent = now(account.send(request)).unwrap();
        Self { clock, store, route, sms, other, account, sent }
    }

    fn assert_sent_once(self) {
        assert_eq!(*self.route.taken.lock().unwrap(), 2, "each message was handed over once");
        for message in self.sent.messages {
            let message = now(self.account.message_get(message.id)).unwrap().message;
            assert_eq!(message.status, MessageStatus::Sent);
        }
    }
}

#[test]
fn a_stopping_program_records_what_was_sent_so_that_it_is_not_handed_over_again() {
    let stage = Stage::new();
    stage.store.refuse_outcomes(2);
    now(stage.sms.dispatch_due(10)).unwrap_err();
    now(stage.sms.record_kept()).unwrap_err();
    now(stage.sms.record_kept()).unwrap();
    stage.clock.advance(Duration::from_mins(1));
    assert_eq!(now(stage.other.dispatch_due(10)).unwrap().claimed, 0);
    stage.assert_sent_once();
}

#[test]
fn a_message_takes_room_in_its_route_until_its_outcome_is_recorded() {
    let stage = Stage::new();
    stage.store.refuse_outcomes(2);
    now(stage.sms.dispatch_due(10)).unwrap_err();
    assert_eq!(stage.route.rooms_taken(), 2);
    now(stage.sms.record_kept()).unwrap_err();
    assert_eq!(stage.route.rooms_taken(), 2, "it could not be recorded again");
    now(stage.sms.record_kept()).unwrap();
    assert_eq!(stage.route.rooms_taken(), 0);
    stage.assert_sent_once();
}

/// A route that has room for one message, until its outcome is safe.
#[derive(Debug)]
struct OneAtATime {
    name: RouteName,
    room: Arc<Semaphore>,
}

#[async_trait]
impl Route for OneAtATime {
    fn name(&self) -> &RouteName {
        &self.name
    }

    fn kind(&self) -> RouteKind {
        RouteKind::Real
    }

    fn hand_over<'a>(
        &'a self,
        messages: &'a [OutboundMessage],
        _sink: &'a dyn RouteSink,
    ) -> HandOvers<'a> {
        let places = stream::iter(0..messages.len());
        let one = async |place| {
            let room = Arc::clone(&self.room).acquire_owned().await.unwrap();
            let result = HandOver::Taken { simulated: Vec::new() };
            HandedOver { place, result, room: Room::held_by(room) }
        };
        places.then(one).boxed()
    }

    async fn run(&self, _sink: Arc<dyn RouteSink>) {}
}

#[tokio::test(start_paused = true)]
async fn messages_that_wait_for_room_leave_once_the_store_records_again() {
    let Stage { clock, store, account, sent, .. } = Stage::new();
    let (name, room) = (RouteName::new("counting"), Arc::new(Semaphore::new(1)));
    let route = Arc::new(OneAtATime { name, room });
    let sms = Sms::builder(store.clone()).clock(clock).route(route).build();
    store.refuse_outcomes(2);
    let workers = Workers::start(&sms, WorkerOptions::new().dispatch_loops(NonZeroUsize::MIN));
    let all_sent = async || {
        let found = sent.messages.iter().map(|message| account.message_get(message.id));
        let found = try_join_all(found).await.unwrap();
        found.iter().all(|found| found.message.status == MessageStatus::Sent)
    };
    let waiting = async {
        while !all_sent().await {
            sleep(Duration::from_millis(100)).await;
        }
    };
    timeout(Duration::from_mins(1), waiting).await.expect("both messages leave");
    workers.stop(Duration::from_secs(10)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_stopping_worker_records_what_it_held_from_the_start() {
    sms_test_log::watch();
    let store = Arc::new(FailingStore::new(Arc::new(MemoryStore::new())));
    let (name, room) = (RouteName::new("counting"), Arc::new(Semaphore::new(0)));
    let route = Arc::new(OneAtATime { name, room });
    let sms = Sms::builder(store.clone()).route(route.clone()).build();
    let operator = sms.operator();
    operator.number_create(NumberInput::shared("07700 900001")).await.unwrap();
    let account = operator.account_create(NewAccountInput::active("Bistro", 10)).await.unwrap();
    let account = sms.account(account.id, Mode::Live);
    let workers = Workers::start(&sms, WorkerOptions::new());
    // The workers find that nothing waits.
    sleep(Duration::from_secs(2)).await;
    let sent = account.send(SendRequest::new("hello").to("07700 900123")).await.unwrap();
    let status = async || account.message_get(sent.messages[0].id).await.unwrap().message.status;
    assert_eq!(status().await, MessageStatus::Sending, "it is held");
    store.refuse_outcomes(1);
    let stopping = tokio::spawn(workers.stop(Duration::from_secs(10)));
    // The loops that hold nothing stop, then the network answers.
    sleep(Duration::from_secs(1)).await;
    route.room.add_permits(1);
    stopping.await.unwrap().expect("workers that stop");
    assert_eq!(status().await, MessageStatus::Sent, "another program would send it again");
}

#[test]
fn outcomes_that_could_not_be_recorded_are_recorded_before_anything_is_handed_over_again() {
    let stage = Stage::new();
    let Stage { clock, store, sms, other, .. } = &stage;

    store.refuse_outcomes(3);
    for _ in 0..3 {
        now(sms.dispatch_due(10)).unwrap_err();
        // This takes longer than a lease, but the lease is renewed.
        for _ in 0..4 {
            clock.advance(Duration::from_secs(10));
            now(sms.renew_leases()).unwrap();
            assert_eq!(
                now(other.dispatch_due(10)).unwrap().claimed,
                0,
                "the other service has to wait"
            );
        }
    }
    let done = now(sms.dispatch_due(10)).unwrap();
    assert_eq!((done.claimed, done.sent), (0, 2), "outcomes recorded late are counted");
    stage.assert_sent_once();
}

#[test]
fn outcomes_that_were_recorded_are_reported_although_another_could_not_be() {
    let stage = Stage::new();
    let other = RouteName::new("other");
    let route = Arc::new(Counting::new(other.clone()));
    let sms = Sms::builder(stage.store.clone()).clock(stage.clock.clone());
    let sms = sms.route(stage.route.clone()).route(route).build();
    let input = NewAccountInput::active("Trattoria", 10);
    let account = now(sms.operator().account_create(input)).unwrap().id;
    let number = NumberInput::dedicated("07700 900002", account).route(other);
    let number = now(sms.operator().number_create(number)).unwrap();
    now(sms.operator().number_check_in(number.id)).unwrap();
    let request = SendRequest::new("hello").to("07700 900123");
    now(sms.account(account, Mode::Live).send(request)).unwrap();
    // One of the two routes' commits fails; which one does not matter.
    stage.store.refuse_outcomes(1);
    let DispatchFailed { done, error, .. } = now(sms.dispatch_due(10)).unwrap_err();
    assert!(matches!(error, Error::Store(_)), "{error:?}");
    assert_eq!(done.claimed, 3);
    assert!((1..3).contains(&done.sent), "{done:?}");
    let rest = now(sms.dispatch_due(10)).unwrap();
    assert_eq!((rest.claimed, done.sent + rest.sent), (0, 3));
    stage.assert_sent_once();
}
