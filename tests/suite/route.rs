//! Which route carries a message, and when its outcome is recorded.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::stream::{self, StreamExt};
use futures_util::{FutureExt, poll};
use sms_core::clock::ManualClock;
use sms_core::dispatch::Lane;
use sms_core::dispatch::VALIDITY;
use sms_core::ids::MessageId;
use sms_core::number::Number;
use sms_core::prelude::*;
use sms_core::route::{
    Fitness, HandOver, HandOvers, OutboundMessage, Route, RouteKind, RouteName, RouteSink,
    all_at_once,
};
use sms_core::service::AccountHandle;
use sms_core::time::Timestamp;
use sms_store_memory::MemoryStore;

/// A route whose fitness the test sets.
#[derive(Debug)]
struct Told {
    name: RouteName,
    kind: RouteKind,
    fitness: Mutex<Fitness>,
    carried: Mutex<Vec<MessageId>>,
    /// Which of the messages handed over get an answer.
    answers: Answers,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answers {
    All,
    FirstOnly,
}

#[async_trait]
impl Route for Told {
    fn name(&self) -> &RouteName {
        &self.name
    }

    fn kind(&self) -> RouteKind {
        self.kind
    }

    fn hand_over<'a>(
        &'a self,
        messages: &'a [OutboundMessage],
        _sink: &'a dyn RouteSink,
    ) -> HandOvers<'a> {
        let all = all_at_once(async {
            self.carried.lock().unwrap().extend(messages.iter().map(|text| text.message));
            vec![HandOver::Taken { simulated: Vec::new() }; messages.len()]
        });
        match self.answers {
            Answers::All => all,
            Answers::FirstOnly => all.take(1).chain(stream::pending()).boxed(),
        }
    }

    fn fitness(&self, _lane: Lane) -> Fitness {
        *self.fitness.lock().unwrap()
    }

    async fn run(&self, _sink: Arc<dyn RouteSink>) {}
}

impl Told {
    fn new(name: &str, answers: Answers) -> Arc<Self> {
        Self::of_kind(RouteKind::Real, name, answers)
    }

    fn of_kind(kind: RouteKind, name: &str, answers: Answers) -> Arc<Self> {
        let (fitness, carried) = (Mutex::new(Fitness::Ready), Mutex::default());
        Arc::new(Self { name: RouteName::new(name), kind, fitness, carried, answers })
    }

    fn is(&self, fitness: Fitness) {
        *self.fitness.lock().unwrap() = fitness;
    }

    fn carried(&self) -> usize {
        self.carried.lock().unwrap().len()
    }
}

/// The result of a future that is ready at once; nothing here waits.
fn now<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().expect("it is ready at once")
}

struct Stage {
    clock: Arc<ManualClock>,
    sms: Sms,
    account: AccountHandle,
}

impl Stage {
    fn with(routes: &[&Arc<Told>]) -> Self {
        let clock = Arc::new(ManualClock::at(Timestamp::from_millis(1_795_000_000_000)));
        let builder = Sms::builder(Arc::new(MemoryStore::new())).clock(clock.clone());
        let add = |builder: SmsBuilder, route: &&Arc<Told>| builder.route((*route).clone());
        let sms = routes.iter().fold(builder, add).build();
        let account = now(sms.operator().account_create(NewAccountInput::active("Bistro", 50)));
        let account = sms.account(account.unwrap().id, Mode::Live);
        now(sms.operator().number_create(NumberInput::shared("07700 900001"))).unwrap();
        Self { clock, sms, account }
    }

    fn send(&self) -> MessageId {
        let request = SendRequest::new("hello").to("07700 900123");
        now(self.account.send(request)).unwrap().messages[0].id
    }

    fn status(&self, id: MessageId) -> MessageStatus {
        now(self.account.message_get(id)).unwrap().message.status
    }

    fn dispatch(&self) -> usize {
        now(self.sms.dispatch_due(10)).unwrap().claimed
    }

    fn numbers(&self) -> Vec<Number> {
        now(self.sms.operator().number_list()).unwrap()
    }
}

#[test]
fn messages_of_a_route_that_is_down_use_the_next_route_until_it_is_up_again() {
    let [main, backup] = ["main", "backup"].map(|name| Told::new(name, Answers::All));
    let stage = Stage::with(&[&main, &backup]);
    for (fitness, carried) in
        [(Fitness::Ready, (1, 0)), (Fitness::Down, (1, 1)), (Fitness::Ready, (2, 1))]
    {
        main.is(fitness);
        let id = stage.send();
        assert_eq!(stage.dispatch(), 1);
        assert_eq!((main.carried(), backup.carried()), carried, "{fitness:?}");
        assert_eq!(stage.status(id), MessageStatus::Sent);
    }
}

#[test]
fn messages_that_expire_while_their_route_is_full_fail_within_seconds() {
    let main = Told::new("main", Answers::All);
    let stage = Stage::with(&[&main]);
    let id = stage.send();
    main.is(Fitness::Full);
    let done = now(stage.sms.dispatch_due(10)).unwrap();
    assert_eq!((done.claimed, done.lanes_left), (0, 2));
    // The last check before the message expires is one second earlier.
    stage.clock.advance(VALIDITY.saturating_sub(Duration::from_secs(1)));
    assert_eq!(stage.dispatch(), 0);
    for (seconds, failed) in [(1, 0), (8, 0), (1, 1)] {
        stage.clock.advance(Duration::from_secs(seconds));
        let done = now(stage.sms.dispatch_due(10)).unwrap();
        assert_eq!((done.claimed, done.failed), (failed, failed), "after {seconds} s more");
    }
    assert_eq!(stage.status(id), MessageStatus::Failed);
    assert_eq!(main.carried(), 0);
}

#[test]
fn all_expired_messages_fail_at_once_however_many_they_are() {
    let main = Told::new("main", Answers::All);
    let stage = Stage::with(&[&main]);
    let ids = [(); 25].map(|()| stage.send());
    main.is(Fitness::Full);
    stage.clock.advance(VALIDITY);
    assert_eq!([(); 4].map(|()| stage.dispatch()), [10, 10, 5, 0]);
    assert!(ids.iter().all(|id| stage.status(*id) == MessageStatus::Failed));
}

#[test]
fn messages_wait_in_the_queue_while_their_route_is_full_or_every_route_is_down() {
    let [main, backup] = ["main", "backup"].map(|name| Told::new(name, Answers::All));
    let stage = Stage::with(&[&main, &backup]);
    let id = stage.send();
    for (first, second) in [(Fitness::Full, Fitness::Ready), (Fitness::Down, Fitness::Down)] {
        main.is(first);
        backup.is(second);
        assert_eq!(stage.dispatch(), 0, "{first:?} {second:?}");
    }
    assert_eq!(stage.status(id), MessageStatus::Queued);
    main.is(Fitness::Ready);
    assert_eq!((stage.dispatch(), main.carried()), (1, 1));
}

#[test]
fn a_simulated_route_never_replaces_a_real_one_nor_the_other_way_round() {
    let [main, backup] = ["main", "backup"].map(|name| Told::new(name, Answers::All));
    let simulator = Told::of_kind(RouteKind::Simulated, "simulator", Answers::All);
    let stage = Stage::with(&[&main, &simulator, &backup]);
    let id = stage.send();
    main.is(Fitness::Down);
    backup.is(Fitness::Down);
    assert_eq!((stage.dispatch(), simulator.carried()), (0, 0));
    assert_eq!(stage.status(id), MessageStatus::Queued);
    backup.is(Fitness::Ready);
    assert_eq!((stage.dispatch(), simulator.carried(), backup.carried()), (1, 0, 1));
    let stage = Stage::with(&[&simulator, &backup]);
    simulator.is(Fitness::Down);
    stage.send();
    assert_eq!((stage.dispatch(), backup.carried()), (0, 1));
}

#[test]
fn live_messages_never_use_the_test_route_and_test_messages_use_no_other() {
    let [main, test] = ["main", "test"].map(|name| Told::new(name, Answers::All));
    let stage = Stage::with(&[&main, &test]);
    let sandbox = stage.sms.account(stage.account.id(), Mode::Test);
    main.is(Fitness::Down);
    stage.send();
    now(sandbox.send(SendRequest::new("hello").to("07700 900123"))).unwrap();
    stage.clock.advance(Duration::from_secs(1));
    assert_eq!((stage.dispatch(), main.carried(), test.carried()), (1, 0, 1));
    main.is(Fitness::Ready);
    test.is(Fitness::Down);
    now(sandbox.send(SendRequest::new("hello").to("07700 900123"))).unwrap();
    stage.clock.advance(Duration::from_secs(1));
    assert_eq!((stage.dispatch(), main.carried(), test.carried()), (1, 1, 1));
}

#[tokio::test]
async fn the_outcome_of_a_message_is_recorded_while_others_are_still_under_way() {
    let main = Told::new("main", Answers::FirstOnly);
    let stage = Stage::with(&[&main]);
    let ids = [stage.send(), stage.send()];
    let mut dispatching = Box::pin(stage.sms.dispatch_due(10));
    for _ in 0..5 {
        assert!(poll!(&mut dispatching).is_pending(), "the second is never answered");
    }
    let statuses = ids.map(|id| stage.status(id));
    assert_eq!(statuses, [MessageStatus::Sent, MessageStatus::Sending]);
}

#[test]
fn a_connected_route_brings_its_numbers_online_and_the_first_route_those_without_one() {
    let [main, backup] = ["main", "backup"].map(|name| Told::new(name, Answers::All));
    let stage = Stage::with(&[&main, &backup]);
    let online = |stage: &Stage| stage.numbers()[0].is_online(stage.sms.now());
    now(stage.sms.sink().connected(&backup.name)).unwrap();
    assert!(!online(&stage));
    now(stage.sms.sink().connected(&main.name)).unwrap();
    assert!(online(&stage));
    stage.clock.advance(Duration::from_mins(6));
    assert!(!online(&stage));
}
