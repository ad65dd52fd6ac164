//! Messages that a worker holds from the moment they are accepted: which they are, and how they
//! reach their route.

use std::future::ready;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt;
use sms_core::account::{AccountChange, AccountStatus};
use sms_core::clock::ManualClock;
use sms_core::dispatch::Lane;
use sms_core::prelude::*;
use sms_core::route::{
    Fitness, HandOver, HandOvers, HandedOver, OutboundMessage, Room, Route, RouteKind, RouteName,
    RouteSink, all_at_once,
};
use sms_core::service::{AccountHandle, Wake, Work};
use sms_core::time::Timestamp;
use sms_store_memory::MemoryStore;
use sms_tests::claim_counter::ClaimCounter;
use sms_tests::unlucky_store::UnluckyStore;
use tokio::sync::{Semaphore, oneshot};
use tokio::task::{JoinHandle, yield_now};

/// A route that takes everything, and remembers what.
#[derive(Debug)]
struct Open {
    name: RouteName,
    taken: Mutex<Vec<String>>,
    is_full: AtomicBool,
    /// How many messages without a recorded outcome it says that it takes.
    rooms: AtomicUsize,
}

#[async_trait]
impl Route for Open {
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
        let bodies = messages.iter().map(|text| text.body.as_str().to_owned());
        self.taken.lock().unwrap().extend(bodies);
        let taken = HandOver::Taken { simulated: Vec::new() };
        let rooms = self.rooms.load(Ordering::SeqCst);
        all_at_once(async move { vec![taken; messages.len()] })
            .map(move |it| HandedOver { room: Room::one_of(rooms, ()), ..it })
            .boxed()
    }

    fn fitness(&self, _lane: Lane) -> Fitness {
        if self.is_full.load(Ordering::SeqCst) { Fitness::Full } else { Fitness::Ready }
    }

    async fn run(&self, _sink: Arc<dyn RouteSink>) {}
}

/// Notes what it is woken for.
#[derive(Debug, Default)]
struct Heard(Mutex<Vec<Work>>);

impl Wake for Heard {
    fn wake(&self, work: Work) {
        self.0.lock().unwrap().push(work);
    }
}

/// A send to so many.
fn all(count: u32) -> SendRequest {
    let numbers = (0..count).map(|n| format!("+44770090{n:04}"));
    numbers.fold(SendRequest::new("all"), SendRequest::to)
}

struct Scene {
    sms: Sms,
    account: AccountHandle,
    route: Arc<Open>,
    store: Arc<ClaimCounter>,
    sends: Arc<UnluckyStore>,
    clock: Arc<ManualClock>,
}

impl Scene {
    async fn new() -> Self {
        sms_test_log::watch();
        let sends = Arc::new(UnluckyStore::new(Arc::new(MemoryStore::new())));
        let store = Arc::new(ClaimCounter::new(sends.clone(), usize::MAX));
        let clock = Arc::new(ManualClock::at(Timestamp::from_millis(1_795_244_830_123)));
        let (name, taken) = (RouteName::new("main"), Mutex::default());
        let (is_full, rooms) = (AtomicBool::new(false), AtomicUsize::new(1_000));
        let route = Arc::new(Open { name, taken, is_full, rooms });
        let sms = Sms::builder(store.clone())
            .clock(clock.clone())
            .route(route.clone() as Arc<dyn Route>)
            .build();
        let operator = sms.operator();
        operator.number_create(NumberInput::shared("07700 900001")).await.unwrap();
        let new = NewAccountInput::active("Bistro", 10_000);
        let account = operator.account_create(new).await.unwrap();
        let account = sms.account(account.id, Mode::Live);
        Self { sms, account, route, store, sends, clock }
    }

    /// Sends a message with these words, and says in which status it is afterwards.
    async fn send(&self, words: &str) -> MessageStatus {
        let sent = self.account.send(SendRequest::new(words).to("07700 900123")).await.unwrap();
        assert_eq!(sent.messages[0].status, MessageStatus::Queued, "the answer never tells");
        self.status(sent.messages[0].id).await
    }

    async fn status(&self, id: sms_core::ids::MessageId) -> MessageStatus {
        self.sms.store().message_get(self.account_id(), id).await.unwrap().unwrap().0.status
    }

    fn account_id(&self) -> sms_core::ids::AccountId {
        self.account.id()
    }

    /// Offers room from now on, until it is told to stop.
    async fn offer(&self) -> (oneshot::Sender<()>, JoinHandle<()>) {
        self.offer_and_pause(|| ready(())).await
    }

    /// The same with pauses between records, each of which ends by a permit.
    async fn offer_with_pauses(&self) -> (oneshot::Sender<()>, JoinHandle<()>, Arc<Semaphore>) {
        let ends = Arc::new(Semaphore::new(0));
        let pauses = Arc::clone(&ends);
        let pause = move || {
            let pauses = Arc::clone(&pauses);
            async move { pauses.acquire().await.unwrap().forget() }
        };
        let (stop, task) = self.offer_and_pause(pause).await;
        self.claim().await;
        (stop, task, ends)
    }

    async fn offer_and_pause<P: Future<Output = ()> + Send>(
        &self,
        pause: impl FnMut() -> P + Send + 'static,
    ) -> (oneshot::Sender<()>, JoinHandle<()>) {
        let (stop, stopped) = oneshot::channel::<()>();
        let sms = self.sms.clone();
        let task = tokio::spawn(async move {
            let stop = async { drop(stopped.await) };
            let recorded = |recorded: Result<_, _>| assert!(recorded.is_ok(), "recorded");
            sms.dispatch_held(stop, pause, recorded).await;
        });
        self.settle().await;
        (stop, task)
    }

    async fn claim(&self) -> usize {
        self.sms.dispatch_due(10).await.expect("dispatched").claimed
    }

    /// Lets everything run that can.
    async fn settle(&self) {
        for _ in 0..50 {
            yield_now().await;
        }
    }

    fn taken(&self) -> Vec<String> {
        std::mem::take(&mut self.route.taken.lock().unwrap())
    }
}

#[tokio::test]
async fn a_message_that_finds_room_is_handed_over_without_a_claim() {
    let scene = Scene::new().await;
    let (stop, task) = scene.offer().await;
    assert_eq!(scene.claim().await, 0);
    assert_eq!(scene.send("one").await, MessageStatus::Sending);
    assert_eq!(scene.send("two").await, MessageStatus::Sending);
    scene.settle().await;
    assert_eq!((scene.taken(), scene.store.claims()), (vec!["one".into(), "two".into()], 1));
    stop.send(()).unwrap();
    task.await.unwrap();
    assert_eq!(scene.send("three").await, MessageStatus::Queued, "nobody offers room any more");
    assert_eq!(scene.claim().await, 1);
}

#[tokio::test]
async fn a_message_goes_to_the_queue_while_nobody_offers_room() {
    let scene = Scene::new().await;
    assert_eq!(scene.claim().await, 0);
    assert_eq!(scene.send("one").await, MessageStatus::Queued);
    assert_eq!((scene.claim().await, scene.taken()), (1, vec!["one".into()]));
}

#[tokio::test]
async fn a_new_message_does_not_overtake_one_that_waits_in_the_queue() {
    let scene = Scene::new().await;
    assert_eq!(scene.send("first").await, MessageStatus::Queued);
    let _worker = scene.offer().await;
    assert_eq!(scene.send("second").await, MessageStatus::Queued, "nobody knows what waits");
    assert_eq!(scene.sms.dispatch_due(1).await.expect("dispatched").claimed, 1);
    assert_eq!(scene.send("third").await, MessageStatus::Queued, "the claim left some behind");
    assert_eq!(scene.claim().await, 2);
    assert_eq!(scene.send("fourth").await, MessageStatus::Sending);
    scene.settle().await;
    assert_eq!(scene.taken(), ["first", "second", "third", "fourth"]);
}

#[tokio::test]
async fn a_claim_that_leaves_an_account_waiting_for_its_turn_opens_nothing() {
    let scene = Scene::new().await;
    let _worker = scene.offer().await;
    let other = scene.sms.operator().account_create(NewAccountInput::active("Cafe", 100)).await;
    let other = scene.sms.account(other.unwrap().id, Mode::Live);
    for words in ["first", "second", "third"] {
        scene.send(words).await;
    }
    let also = SendRequest::new("also").to("07700 900123");
    other.send(also).await.unwrap();
    assert_eq!(scene.sms.dispatch_due(1).await.expect("dispatched").claimed, 1);
    // Of five, an account gets three at most while another waits.
    scene.send("fourth").await;
    scene.send("fifth").await;
    assert_eq!(scene.sms.dispatch_due(5).await.expect("dispatched").claimed, 4);
    assert_eq!(scene.send("sixth").await, MessageStatus::Queued, "one waits for its turn");
    assert_eq!(scene.claim().await, 2);
    assert_eq!(scene.send("seventh").await, MessageStatus::Sending);
}

#[tokio::test]
async fn bulk_that_waits_holds_up_nothing_that_somebody_waits_for() {
    let scene = Scene::new().await;
    let _worker = scene.offer().await;
    let bulk = |words: &str| SendRequest::new(words).to("07700 900123").priority(Lane::Bulk);
    scene.claim().await;
    let held = scene.account.send(bulk("held")).await.unwrap();
    assert_eq!(scene.status(held.messages[0].id).await, MessageStatus::Sending);
    scene.settle().await;
    scene.route.is_full.store(true, Ordering::SeqCst);
    assert_eq!(scene.send("normal waits").await, MessageStatus::Queued);
    scene.route.is_full.store(false, Ordering::SeqCst);
    let waits = scene.account.send(bulk("bulk waits")).await.unwrap();
    let status = scene.status(waits.messages[0].id).await;
    assert_eq!(status, MessageStatus::Queued, "what goes before it waits");
    assert_eq!(
        scene.sms.dispatch_lanes(&[Lane::Normal], 10, |_| {}).await.expect("dispatched").claimed,
        1
    );
    assert_eq!(scene.send("one").await, MessageStatus::Sending, "only bulk waits");
    let next = scene.account.send(bulk("next")).await.unwrap();
    assert_eq!(scene.status(next.messages[0].id).await, MessageStatus::Queued);
    assert_eq!(scene.claim().await, 2);
    let last = scene.account.send(bulk("last")).await.unwrap();
    assert_eq!(scene.status(last.messages[0].id).await, MessageStatus::Sending);
}

#[tokio::test]
async fn a_route_that_is_full_holds_nothing_until_a_claim_finds_its_queue_empty() {
    let scene = Scene::new().await;
    let _worker = scene.offer().await;
    scene.claim().await;
    scene.route.is_full.store(true, Ordering::SeqCst);
    assert_eq!(scene.send("one").await, MessageStatus::Queued);
    scene.route.is_full.store(false, Ordering::SeqCst);
    assert_eq!(scene.send("two").await, MessageStatus::Queued, "one waits");
    assert_eq!(scene.claim().await, 2);
    assert_eq!(scene.send("three").await, MessageStatus::Sending);
}

#[tokio::test]
async fn there_is_room_for_500_messages_of_a_route() {
    let scene = Scene::new().await;
    let _worker = scene.offer().await;
    scene.claim().await;
    scene.account.send(all(501)).await.unwrap();
    assert_eq!(scene.claim().await, 10, "more than there is room for goes to the queue");
    while scene.claim().await > 0 {}
    scene.account.send(all(500)).await.unwrap();
    assert_eq!(scene.claim().await, 0);
    scene.settle().await;
    assert_eq!(scene.taken().len(), 1_001);
}

#[tokio::test]
async fn a_held_message_that_waited_a_second_for_its_worker_is_looked_at_again() {
    let scene = Scene::new().await;
    let (stop, task) = scene.offer().await;
    scene.claim().await;
    let sent = scene.account.send(SendRequest::new("late").to("07700 900123")).await.unwrap();
    scene.clock.advance(Duration::from_millis(1_001));
    let operator = scene.sms.operator();
    let suspended = AccountChange { status: Some(AccountStatus::Suspended), ..Default::default() };
    operator.account_update(scene.account_id(), suspended).await.unwrap();
    scene.settle().await;
    assert_eq!((scene.taken(), scene.claim().await), (vec![], 1));
    assert_eq!(scene.status(sent.messages[0].id).await, MessageStatus::Failed);
    stop.send(()).unwrap();
    task.await.unwrap();
}

#[tokio::test]
async fn what_is_held_when_the_worker_stops_is_given_back() {
    let scene = Scene::new().await;
    let (stop, task) = scene.offer().await;
    scene.claim().await;
    assert_eq!(scene.send("one").await, MessageStatus::Sending);
    task.abort();
    drop(stop);
    assert!(task.await.unwrap_err().is_cancelled());
    scene.sms.record_kept().await.expect("given back");
    assert_eq!((scene.claim().await, scene.taken()), (1, vec!["one".into()]));
}

#[tokio::test]
async fn what_is_committed_while_the_worker_stops_is_given_back_before_it_has_stopped() {
    let scene = Scene::new().await;
    let (stop, task) = scene.offer().await;
    scene.claim().await;
    scene.sends.hold_sends_up();
    let account = scene.account.clone();
    let send = async move { account.send(SendRequest::new("one").to("07700 900123")).await };
    let send = tokio::spawn(send);
    scene.settle().await;
    stop.send(()).unwrap();
    scene.settle().await;
    assert!(!task.is_finished(), "a commit is under way");
    scene.sends.let_sends_through();
    let sent = send.await.unwrap().expect("accepted");
    task.await.unwrap();
    assert_eq!(scene.taken(), [""; 0]);
    let other = Sms::builder(scene.store.clone())
        .clock(scene.clock.clone())
        .route(scene.route.clone() as Arc<dyn Route>)
        .build();
    assert_eq!(other.dispatch_due(10).await.expect("dispatched").claimed, 1);
    let history = scene.account.message_get(sent.messages[0].id).await.unwrap();
    assert!(history.timeline.iter().all(|line| line.detail.is_none()), "{history:?}");
}

#[tokio::test]
async fn a_send_that_is_planned_on_what_is_old_again_and_again_goes_to_the_queue() {
    let scene = Scene::new().await;
    let _worker = scene.offer().await;
    scene.claim().await;
    // As when another server released a number, and this one still remembers it.
    scene.sends.find_held_stale();
    assert_eq!(scene.send("one").await, MessageStatus::Queued);
    assert_eq!((scene.claim().await, scene.taken()), (1, vec!["one".into()]));
}

#[tokio::test]
async fn outcomes_that_arrive_within_a_pause_are_recorded_together() {
    let scene = Scene::new().await;
    let (_stop, _task, ends) = scene.offer_with_pauses().await;
    scene.send("one").await;
    scene.settle().await;
    assert_eq!(scene.store.records(), 1, "the first waits for nothing");
    scene.send("two").await;
    let three = scene.account.send(SendRequest::new("three").to("07700 900123")).await.unwrap();
    scene.settle().await;
    assert_eq!((scene.taken().len(), scene.store.records()), (3, 1));
    ends.add_permits(1);
    scene.settle().await;
    assert_eq!(scene.store.records(), 2);
    assert_eq!(scene.status(three.messages[0].id).await, MessageStatus::Sent);
}

#[tokio::test]
async fn fifty_outcomes_do_not_wait_for_the_end_of_a_pause() {
    let scene = Scene::new().await;
    let (_stop, _task, _ends) = scene.offer_with_pauses().await;
    scene.send("one").await;
    scene.settle().await;
    scene.account.send(all(49)).await.unwrap();
    scene.settle().await;
    assert_eq!((scene.taken().len(), scene.store.records()), (50, 1));
    scene.send("another").await;
    scene.settle().await;
    assert_eq!(scene.store.records(), 2);
}

#[tokio::test]
async fn outcomes_that_hold_a_quarter_of_a_routes_rooms_do_not_wait() {
    let scene = Scene::new().await;
    scene.route.rooms.store(8, Ordering::SeqCst);
    let (_stop, _task, _ends) = scene.offer_with_pauses().await;
    for (words, records) in [("one", 1), ("two", 1), ("three", 2), ("four", 2), ("five", 3)] {
        scene.send(words).await;
        scene.settle().await;
        assert_eq!(scene.store.records(), records, "{words}");
    }
}

#[tokio::test]
async fn a_worker_that_stops_records_what_it_knows_without_a_pause() {
    let scene = Scene::new().await;
    let (stop, task, _ends) = scene.offer_with_pauses().await;
    scene.send("one").await;
    scene.settle().await;
    let two = scene.account.send(SendRequest::new("two").to("07700 900123")).await.unwrap();
    scene.settle().await;
    assert_eq!(scene.status(two.messages[0].id).await, MessageStatus::Sending);
    stop.send(()).unwrap();
    task.await.unwrap();
    assert_eq!(scene.status(two.messages[0].id).await, MessageStatus::Sent);
}

#[tokio::test]
async fn the_outcomes_of_a_real_network_wake_no_worker_for_follow_ups() {
    let scene = Scene::new().await;
    let (_stop, _task) = scene.offer().await;
    scene.claim().await;
    let heard = Arc::new(Heard::default());
    scene.sms.wake_with(&(heard.clone() as Arc<dyn Wake>));
    scene.send("one").await;
    scene.settle().await;
    assert_eq!(*heard.0.lock().unwrap(), [Work::Webhooks]);
}
