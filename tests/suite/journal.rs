//! A service whose program is killed while it hands messages over, and its next run, over a journal
//! in a file.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::{FutureExt, StreamExt, stream};
use sms_core::clock::ManualClock;
use sms_core::dispatch::journal::{Entry, IfUnanswered, Journal};
use sms_core::ids::{AccountId, MessageId};
use sms_core::message::TimelineEntry;
use sms_core::prelude::*;
use sms_core::route::{
    HandOver, HandOvers, HandedOver, OutboundMessage, Room, Route, RouteKind, RouteName, RouteSink,
};
use sms_core::service::AccountHandle;
use sms_core::time::Timestamp;
use sms_store_memory::MemoryStore;
use sms_tests::failing_store::FailingStore;
use sms_workers::FileJournal;

/// A network that notes the first message, submits it, and never answers; answers the second; and
/// has not come to the third.
#[derive(Debug)]
struct Network {
    name: RouteName,
    journal: Arc<dyn Journal>,
    unanswered: IfUnanswered,
    /// Each room holds one more.
    rooms: Arc<()>,
    handed: Arc<AtomicUsize>,
}

#[async_trait]
impl Route for Network {
    fn name(&self) -> &RouteName {
        &self.name
    }

    fn kind(&self) -> RouteKind {
        RouteKind::Real
    }

    fn journals_submissions(&self) -> bool {
        true
    }

    fn hand_over<'a>(
        &'a self,
        messages: &'a [OutboundMessage],
        _sink: &'a dyn RouteSink,
    ) -> HandOvers<'a> {
        self.handed.fetch_add(messages.len(), Ordering::SeqCst);
        let first_two = messages[..2].iter().map(|text| text.message).collect();
        let unanswered = self.unanswered;
        self.journal.append(vec![Entry::Submitting { messages: first_two, unanswered }]).unwrap();
        let room = Room::held_by(Arc::clone(&self.rooms));
        let result = HandOver::Taken { simulated: Vec::new() };
        let answer = HandedOver { place: 1, result, room };
        stream::iter([answer]).chain(stream::pending()).boxed()
    }

    async fn run(&self, _sink: Arc<dyn RouteSink>) {}
}

/// The result of a future that is ready at once; nothing here waits.
fn now<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().expect("it is ready at once")
}

struct Stage {
    clock: Arc<ManualClock>,
    store: Arc<FailingStore>,
    folder: PathBuf,
    account: AccountId,
    messages: Vec<MessageId>,
    handed: Arc<AtomicUsize>,
    unanswered: IfUnanswered,
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Stage {
    /// Three messages were claimed by a program that was killed.
    fn killed(name: &str, unanswered: IfUnanswered) -> Self {
        let folder = std::env::temp_dir().join(format!("sms-killed-{}-{name}", std::process::id()));
        let store = Arc::new(FailingStore::new(Arc::new(MemoryStore::new())));
        let clock = Arc::new(ManualClock::at(Timestamp::from_millis(1_795_000_000_000)));
        let sms = Sms::builder(store.clone()).clock(clock.clone()).build();
        let input = NewAccountInput::active("Bistro", 10);
        let account = now(sms.operator().account_create(input)).unwrap().id;
        let handed = Arc::new(AtomicUsize::new(0));
        let mut stage =
            Self { clock, store, folder, account, messages: Vec::new(), handed, unanswered };
        let (first, rooms) = stage.run();
        now(first.operator().number_create(NumberInput::shared("07700 900001"))).unwrap();
        let request = SendRequest::new("hello").to("07700 900123, 07700 900124, 07700 900125");
        let sent = now(first.account(account, Mode::Live).send(request)).unwrap();
        stage.messages = sent.messages.iter().map(|message| message.id).collect();
        stage.store.refuse_outcomes(1);
        // The kill: nothing comes after the outcome that could not be recorded.
        assert!(first.dispatch_due(10).now_or_never().is_none());
        assert_eq!(Arc::strong_count(&rooms), 2, "what is answered and in the journal has no room");
        stage
    }

    /// A run of the program, and the rooms of its route.
    fn run(&self) -> (Sms, Arc<()>) {
        let journal: Arc<dyn Journal> = Arc::new(FileJournal::open(&self.folder).unwrap());
        let rooms = Arc::new(());
        let network = Network {
            name: RouteName::new("network"),
            journal: journal.clone(),
            unanswered: self.unanswered,
            rooms: Arc::clone(&rooms),
            handed: Arc::clone(&self.handed),
        };
        let builder = Sms::builder(self.store.clone()).clock(self.clock.clone());
        (builder.route(Arc::new(network)).journal(journal).build(), rooms)
    }

    fn account(&self, sms: &Sms) -> AccountHandle {
        sms.account(self.account, Mode::Live)
    }

    /// The status of each message, and the last thing that its events explain.
    fn told(&self, sms: &Sms) -> Vec<(MessageStatus, String)> {
        let told = |id: &MessageId| {
            let found = now(self.account(sms).message_get(*id)).unwrap();
            let detail = found.timeline.into_iter().filter_map(|line| line.detail).next_back();
            (found.message.status, detail.unwrap_or_default())
        };
        self.messages.iter().map(told).collect()
    }
}

const MAY_BE_SENT: &str = "the server stopped before the network answered; the message may have \
                           been sent; will be retried";
const NOT_SUBMITTED: &str = "the server stopped before it submitted the message; will be retried";

#[test]
fn the_next_run_records_what_the_last_one_knew_before_it_claims_anything() {
    let stage = Stage::killed("next", IfUnanswered::Again);
    let (next, _) = stage.run();
    // The leases have run out, but nobody else took the messages over.
    stage.clock.advance(Duration::from_mins(1));
    stage.store.refuse_outcomes(1);
    now(next.dispatch_due(10)).unwrap_err();
    assert_eq!(stage.handed.load(Ordering::SeqCst), 3, "nothing is claimed before the record");
    let done = now(next.dispatch_due(10)).unwrap();
    assert_eq!((done.claimed, done.sent, done.retried), (0, 1, 2));
    let expected = [
        (MessageStatus::Sending, MAY_BE_SENT.to_owned()),
        (MessageStatus::Sent, String::new()),
        (MessageStatus::Sending, NOT_SUBMITTED.to_owned()),
    ];
    assert_eq!(stage.told(&next), expected);
    drop(next);
    let (third, _) = stage.run();
    assert_eq!(now(third.dispatch_due(10)).unwrap().retried, 0, "it is recorded once");
}

#[test]
fn a_message_without_an_answer_ends_as_the_route_wants() {
    let stage = Stage::killed("ends", IfUnanswered::Undelivered);
    let (next, _) = stage.run();
    now(next.dispatch_due(10)).unwrap();
    let told = stage.told(&next);
    assert_eq!(told[0].0, MessageStatus::Undelivered);
    assert!(told[0].1.ends_with("may have been sent"), "{told:?}");
}

#[test]
fn what_another_server_took_over_stays_as_it_is() {
    let stage = Stage::killed("other", IfUnanswered::Again);
    stage.clock.advance(Duration::from_mins(1));
    let other = Sms::builder(stage.store.clone()).clock(stage.clock.clone());
    let other = other.route(Arc::new(OtherNetwork)).build();
    assert_eq!(now(other.dispatch_due(10)).unwrap().sent, 3);
    let before = stage.told(&other);
    assert!(before.iter().all(|(status, _)| *status == MessageStatus::Sent));
    let (next, _) = stage.run();
    assert_eq!(now(next.dispatch_due(10)).unwrap().lost, 3);
    assert_eq!(stage.told(&next), before);
    for id in &stage.messages {
        let timeline = now(stage.account(&next).message_get(*id)).unwrap().timeline;
        let names = |line: &TimelineEntry| {
            line.detail.as_deref().is_some_and(|told| told.ends_with("it may be sent twice"))
        };
        assert_eq!(timeline.iter().filter(|line| names(line)).count(), 1, "{timeline:?}");
    }
}

/// The network of the other server.
#[derive(Debug)]
struct OtherNetwork;

#[async_trait]
impl Route for OtherNetwork {
    fn name(&self) -> &RouteName {
        static NAME: std::sync::LazyLock<RouteName> =
            std::sync::LazyLock::new(|| RouteName::new("network"));
        &NAME
    }

    fn kind(&self) -> RouteKind {
        RouteKind::Real
    }

    fn hand_over<'a>(
        &'a self,
        messages: &'a [OutboundMessage],
        _sink: &'a dyn RouteSink,
    ) -> HandOvers<'a> {
        sms_core::route::all_at_once(async move {
            vec![HandOver::Taken { simulated: Vec::new() }; messages.len()]
        })
    }

    async fn run(&self, _sink: Arc<dyn RouteSink>) {}
}
