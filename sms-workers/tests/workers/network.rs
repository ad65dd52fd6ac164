//! Workers between a store and its routes: none waits for another's network, and all of them stop
//! in order.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use sms_core::Sms;
use sms_core::account::Mode;
use sms_core::dispatch::Lane;
use sms_core::ids::AccountId;
use sms_core::route::{
    Fitness, HandOver, HandOvers, OutboundMessage, Route, RouteKind, RouteName, RouteSink,
    all_at_once,
};
use sms_core::sending::request::SendRequest;
use sms_core::service::SmsBuilder;
use sms_core::service::operator::{NewAccountInput, NumberInput};
use sms_store_memory::MemoryStore;
use sms_workers::{WorkerOptions, Workers};
use tokio::sync::{Notify, Semaphore};

use crate::{TIME_TO_STOP, until};

/// So many messages in hand are enough for a network.
const ENOUGH: usize = 250;

/// A network that says nothing of its messages before it is closed.
#[derive(Debug)]
pub(crate) struct Network {
    name: RouteName,
    room: usize,
    in_hand: AtomicUsize,
    steps: Mutex<Vec<&'static str>>,
    answers: Semaphore,
    runs: Notify,
}

impl Network {
    pub(crate) fn new(name: &'static str, room: usize) -> Arc<Self> {
        Arc::new(Self {
            name: RouteName::new(name),
            room,
            in_hand: AtomicUsize::new(0),
            steps: Mutex::default(),
            answers: Semaphore::new(0),
            runs: Notify::new(),
        })
    }

    fn step(&self, step: &'static str) {
        self.steps.lock().unwrap().push(step);
    }

    pub(crate) async fn until_in_hand(&self, count: usize) {
        let what = format!("{count} messages at {}", self.name);
        until(&what, async || (self.in_hand.load(Ordering::SeqCst) >= count).then_some(())).await;
    }
}

/// Says when it is dropped.
struct Running<'n>(&'n Network);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.step("not running");
    }
}

#[async_trait]
impl Route for Network {
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
        self.in_hand.fetch_add(messages.len(), Ordering::SeqCst);
        all_at_once(async move {
            self.answers.acquire().await.unwrap().forget();
            self.step("answered");
            vec![HandOver::TryLater { detail: "closed".to_owned() }; messages.len()]
        })
    }

    fn fitness(&self, _lane: Lane) -> Fitness {
        let has_room = self.in_hand.load(Ordering::SeqCst) < self.room;
        if has_room { Fitness::Ready } else { Fitness::Full }
    }

    async fn run(&self, _sink: Arc<dyn RouteSink>) {
        let _running = Running(self);
        self.runs.notify_one();
        std::future::pending::<()>().await;
    }

    async fn close(&self) {
        self.step("closing");
        self.answers.add_permits(Semaphore::MAX_PERMITS);
    }
}

/// A service whose workers run from when they are started until it is told to stop.
struct Service {
    sms: Sms,
    workers: Option<Workers>,
}

impl Service {
    fn new(networks: &[&Arc<Network>]) -> Self {
        let builder = Sms::builder(Arc::new(MemoryStore::new()));
        let routes = networks.iter().map(|network| Arc::clone(network) as Arc<dyn Route>);
        Self::over(routes.fold(builder, SmsBuilder::route))
    }

    fn over(builder: SmsBuilder) -> Self {
        Self { sms: builder.build(), workers: None }
    }

    fn start(&mut self) {
        self.workers = Some(Workers::start(&self.sms, WorkerOptions::new()));
    }

    /// An account whose messages go by this route.
    async fn account(&self, number: &str, route: &str) -> AccountId {
        let operator = self.sms.operator();
        let account = operator.account_create(NewAccountInput::active("x", 10_000)).await.unwrap();
        let input = NumberInput::dedicated(number, account.id);
        let input = input.route(RouteName::new(route));
        let number = operator.number_create(input).await.unwrap();
        operator.number_check_in(number.id).await.unwrap();
        account.id
    }

    async fn send(&self, account: AccountId, count: usize) {
        let numbers: Vec<String> = (0..count).map(|n| format!("07700 900{n:03}")).collect();
        let request = SendRequest::new("Hello").to(numbers.join(","));
        self.sms.account(account, Mode::Live).send(request).await.unwrap();
    }

    async fn stop(self) {
        self.workers.expect("started").stop(TIME_TO_STOP).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_route_that_is_slow_holds_up_no_other() {
    let (slow, other) = (Network::new("slow", ENOUGH), Network::new("other", ENOUGH));
    let mut service = Service::new(&[&slow, &other]);
    let at_slow = service.account("07700 900001", "slow").await;
    let at_other = service.account("07700 900002", "other").await;
    // More than all workers together claim when they start at one moment.
    for _ in 0..5 {
        service.send(at_slow, 900).await;
    }
    service.start();
    slow.until_in_hand(ENOUGH).await;
    service.send(at_other, 3).await;
    other.until_in_hand(3).await;
    let taken = slow.in_hand.load(Ordering::SeqCst);
    assert!(taken < ENOUGH + 500, "{taken}: it is claimed for while it has room");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_route_is_closed_while_it_runs_and_what_it_said_last_is_recorded() {
    let network = Network::new("main", ENOUGH);
    let mut service = Service::new(&[&network]);
    let account = service.account("07700 900001", "main").await;
    service.send(account, 1).await;
    service.start();
    network.until_in_hand(1).await;
    // On a busy machine the loop that runs it begins after messages are in hand.
    network.runs.notified().await;
    let sms = service.sms.clone();
    service.stop().await;
    let steps = network.steps.lock().unwrap().clone();
    assert_eq!(steps[0], "closing", "{steps:?}");
    assert!(steps.contains(&"answered") && steps.contains(&"not running"), "{steps:?}");
    let next = sms.next_work(sms_core::service::Work::Dispatch).await.unwrap().unwrap();
    let wait = next.since(sms.now());
    assert!(wait < Duration::from_secs(5), "{wait:?}: not held, but to be tried again");
}

/// A network that is full until it has been asked so many times.
#[derive(Debug)]
struct FullAtFirst {
    name: RouteName,
    asks_left: AtomicUsize,
    carried: Notify,
}

#[async_trait]
impl Route for FullAtFirst {
    fn kind(&self) -> RouteKind {
        RouteKind::Real
    }

    fn name(&self) -> &RouteName {
        &self.name
    }

    fn hand_over<'a>(
        &'a self,
        messages: &'a [OutboundMessage],
        _sink: &'a dyn RouteSink,
    ) -> HandOvers<'a> {
        all_at_once(async move {
            self.carried.notify_one();
            vec![HandOver::Taken { simulated: Vec::new() }; messages.len()]
        })
    }

    fn fitness(&self, _lane: Lane) -> Fitness {
        let one_less = |left: usize| left.checked_sub(1);
        match self.asks_left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less) {
            Ok(_) => Fitness::Full,
            Err(_) => Fitness::Ready,
        }
    }

    async fn run(&self, _sink: Arc<dyn RouteSink>) {}
}

#[tokio::test(start_paused = true)]
async fn a_route_that_was_full_gets_messages_as_soon_as_it_has_room() {
    // Room may be there again at any moment: while a claim is made that still leaves the messages,
    // or just before somebody begins to wait for it.
    for asks in 0..=24 {
        let route = Arc::new(FullAtFirst {
            name: RouteName::new("main"),
            asks_left: AtomicUsize::new(asks),
            carried: Notify::new(),
        });
        let store = Arc::new(MemoryStore::new());
        let mut service = Service::over(Sms::builder(store).route(route.clone()));
        let account = service.account("07700 900001", "main").await;
        service.send(account, 1).await;
        // This clock stands still while anything is done, and moves only to what is waited for.
        let begin = tokio::time::Instant::now();
        service.start();
        route.carried.notified().await;
        let took = begin.elapsed();
        assert!(took <= Duration::from_millis(40), "{took:?} when it was full {asks} times");
        service.stop().await;
    }
}
