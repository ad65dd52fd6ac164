//! An SMPP route under the whole core on the memory store, with a scripted SMSC over real sockets.

mod journal;
mod look;
mod room;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use futures_util::FutureExt;
use sms_core::Sms;
use sms_core::account::Mode;
use sms_core::clock::{SteadyClock, SystemClock};
use sms_core::ids::MessageId;
use sms_core::inbound::InboundMessage;
use sms_core::inbound::segment::InboundSegment;
use sms_core::message::{ErrorCode, Message, MessageFilter, MessageStatus};
use sms_core::page::PageRequest;
use sms_core::phone::parse_any;
use sms_core::random::SystemRandom;
use sms_core::receipt::Receipt;
use sms_core::receipt::report::{NetworkReport, Reported};
use sms_core::route::HandOver;
use sms_core::sending::SendRequest;
use sms_core::service::AccountHandle;
use sms_core::service::operator::{NewAccountInput, NumberInput};
use sms_store_memory::MemoryStore;
use tokio::task::JoinHandle;

use super::*;
use crate::address::Address;
use crate::pdu::{ShortMessage, Status};
use crate::samples;
use crate::scripted_peer::{Peer, Say, settings_of, until};
use crate::settings::{Binds, Unanswered};

/// A service with one route, which is bound to the peer.
struct Stage {
    sms: Sms,
    account: AccountHandle,
    route: Arc<SmppRoute>,
    task: JoinHandle<()>,
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn route(settings: RouteSettings) -> SmppRoute {
    let random: Arc<dyn Random> = Arc::new(SystemRandom);
    SmppRoute::new(RouteName::new("main"), settings, Arc::new(SystemClock), &random)
}

impl Stage {
    async fn over(settings: RouteSettings) -> Self {
        Self::of(route(settings)).await
    }

    async fn of(route: SmppRoute) -> Self {
        Self::by(Arc::new(SteadyClock::start()), route).await
    }

    async fn by(clock: Arc<dyn Clock>, route: SmppRoute) -> Self {
        let route = Arc::new(route);
        let store = Arc::new(MemoryStore::new());
        let sms = Sms::builder(store).clock(clock).route(route.clone()).build();
        let input = NewAccountInput::active("Bistro", 100);
        let account = sms.operator().account_create(input).await.unwrap();
        sms.operator().number_create(NumberInput::shared("07700 900001")).await.unwrap();
        let account = sms.account(account.id, Mode::Live);
        let (kept, sink) = (Arc::clone(&route), sms.sink());
        let task = tokio::spawn(async move { kept.run(sink).await });
        Self { sms, account, route, task }
    }

    async fn bound_to(peer: &Peer) -> Self {
        Self::over(peer.settings()).await.ready().await
    }

    async fn ready(self) -> Self {
        until(|| self.route.fitness(sms_core::dispatch::Lane::Normal) == Fitness::Ready).await;
        self
    }

    async fn send(&self, body: &str) -> MessageId {
        let request = SendRequest::new(body).to("07700 900123");
        self.account.send(request).await.unwrap().messages[0].id
    }

    async fn message(&self, id: MessageId) -> Message {
        self.account.message_get(id).await.unwrap().message
    }

    async fn details(&self, id: MessageId) -> Vec<String> {
        let timeline = self.account.message_get(id).await.unwrap().timeline;
        timeline.into_iter().filter_map(|line| line.detail).collect()
    }

    async fn becomes(&self, id: MessageId, status: MessageStatus) -> Message {
        let look = async || Some(self.message(id).await).filter(|it| it.status == status);
        sms_test_smsc::until(&format!("the message to be {status}"), look).await
    }

    async fn inbox(&self) -> Vec<Message> {
        let page = PageRequest::default();
        self.account.message_list(&MessageFilter::default(), page).await.unwrap().items
    }
}

fn between(from: &str, to: &str) -> ShortMessage {
    let [from, to] = [from, to].map(|number| Address::number(parse_any(number).unwrap()));
    ShortMessage::between(from, to)
}

fn receipt(id: &str, state: &str) -> ShortMessage {
    let line = format!("id:{id} sub:001 dlvrd:001 stat:{state} err:006 text:");
    let octets = Bytes::from(line.into_bytes());
    let between = between("07700 900123", "07700 900001");
    ShortMessage { short_message: octets, esm_class: 4, ..between }
}

#[tokio::test]
async fn a_message_is_sent_once_the_smsc_accepts_it_and_delivered_by_its_receipt() {
    let peer = Peer::start(&[Say::As("x1")]).await;
    let stage = Stage::bound_to(&peer).await;
    let id = stage.send("hello").await;
    assert_eq!(stage.sms.dispatch_due(10).await.unwrap().sent, 1);
    assert_eq!(stage.message(id).await.status, MessageStatus::Sent);
    peer.deliver(9, receipt("X1", "DELIVRD"));
    assert_eq!(peer.answer_to(9).await, Status::OK);
    stage.becomes(id, MessageStatus::Delivered).await;
}

#[tokio::test]
async fn a_long_message_is_undelivered_if_one_segment_is_and_delivered_if_all_are() {
    let script = ["a", "b", "c", "d", "e", "f"].map(Say::As);
    let peer = Peer::start(&script).await;
    let stage = Stage::bound_to(&peer).await;
    let first = stage.send(&"long ".repeat(70)).await;
    stage.sms.dispatch_due(10).await.unwrap();
    let second = stage.send(&"long ".repeat(70)).await;
    stage.sms.dispatch_due(10).await.unwrap();
    assert_eq!(peer.messages().len(), 6);
    for (n, (id, state)) in
        [("c", "DELIVRD"), ("a", "DELIVRD"), ("e", "UNDELIV"), ("b", "DELIVRD")].iter().enumerate()
    {
        assert_ne!(stage.message(first).await.status, MessageStatus::Delivered);
        let sequence = u32::try_from(n).unwrap() + 1;
        peer.deliver(sequence, receipt(id, state));
        assert_eq!(peer.answer_to(sequence).await, Status::OK);
    }
    stage.becomes(first, MessageStatus::Delivered).await;
    let undelivered = stage.becomes(second, MessageStatus::Undelivered).await;
    assert_eq!(undelivered.error, Some(ErrorCode::AbsentSubscriber));
}

#[tokio::test]
async fn a_refused_message_fails_with_a_refund_and_one_refused_midway_is_undelivered() {
    let refuse = Say::Refuse(Status::INVALID_DESTINATION);
    let peer = Peer::start(&[refuse, Say::Accept, refuse]).await;
    let stage = Stage::bound_to(&peer).await;
    let whole = stage.send("hello").await;
    stage.sms.dispatch_due(10).await.unwrap();
    let in_part = stage.send(&"long ".repeat(70)).await;
    stage.sms.dispatch_due(10).await.unwrap();
    let (whole, in_part_now) = (stage.message(whole).await, stage.message(in_part).await);
    assert_eq!(whole.status, MessageStatus::Failed);
    assert_eq!(whole.error, Some(ErrorCode::UnknownSubscriber));
    assert_eq!(in_part_now.status, MessageStatus::Undelivered);
    let told = stage.details(in_part).await;
    let expected = "1 of 3 segments submitted; the next: refused by the network: ESME_RINVDSTADR";
    assert_eq!(told.last().map(String::as_str), Some(expected));
    assert_eq!(stage.account.get().await.unwrap().balance.get(), 97, "only the first is refunded");
    assert_eq!(peer.messages().len(), 3, "no segment followed the refused one");
}

#[tokio::test]
async fn throttled_messages_are_all_accepted_in_the_end_each_of_them_once() {
    let throttled = Say::Refuse(Status::THROTTLED);
    let peer = Peer::start(&[throttled, throttled, Say::Refuse(Status::QUEUE_FULL)]).await;
    let stage = Stage::over(peer.settings().window(1).unwrap()).await.ready().await;
    for _ in 0..5 {
        stage.send("hello").await;
    }
    let mut sent = 0;
    sms_test_smsc::until("all to be sent", async || {
        sent += stage.sms.dispatch_due(10).await.unwrap().sent;
        (sent == 5).then_some(())
    })
    .await;
    assert_eq!(peer.messages().len(), 8);
}

#[tokio::test]
async fn a_later_segment_is_retried_even_on_a_route_with_a_very_low_rate() {
    let throttled = Say::Refuse(Status::THROTTLED);
    let peer = Peer::start(&[Say::Accept, throttled, throttled]).await;
    // Two turns are half a second apart, longer than the time to retry a segment.
    let mut route = route(peer.settings().rate(2).unwrap());
    let patience = Patience { later_part: Duration::from_millis(300), ..Patience::default() };
    Arc::get_mut(&mut route.inner).unwrap().patience = patience;
    let stage = Stage::of(route).await.ready().await;
    let id = stage.send(&"two ".repeat(50)).await;
    stage.sms.dispatch_due(10).await.unwrap();
    assert_eq!(stage.message(id).await.status, MessageStatus::Sent);
    assert_eq!(peer.messages().len(), 4, "the second segment was accepted at its third try");
}

#[tokio::test]
async fn a_message_cut_short_by_closing_is_submitted_again_whatever_the_setting() {
    for setting in [Unanswered::Again, Unanswered::Undelivered] {
        let peer = Peer::start(&[]).await;
        let stage =
            Stage::over(peer.settings().rate(1).unwrap().unanswered(setting)).await.ready().await;
        let id = stage.send(&"long ".repeat(300)).await;
        let sms = stage.sms.clone();
        let dispatching = tokio::spawn(async move { sms.dispatch_due(10).await.unwrap() });
        until(|| !peer.messages().is_empty()).await;
        stage.route.close().await;
        let done = dispatching.await.unwrap();
        assert_eq!((done.sent, done.retried), (0, 1), "{setting:?}");
        assert_eq!(stage.message(id).await.status, MessageStatus::Sending);
        let told = stage.details(id).await.pop().unwrap();
        assert!(told.contains("segments submitted; the next: the route is closing"), "{told}");
    }
}

#[tokio::test]
async fn an_unanswered_message_is_submitted_again_or_given_up_as_the_setting_says() {
    for (setting, status) in [
        (Unanswered::Again, MessageStatus::Sending),
        (Unanswered::Undelivered, MessageStatus::Undelivered),
    ] {
        let peer = Peer::start(&[Say::HangUp]).await;
        let stage = Stage::over(peer.settings().unanswered(setting)).await.ready().await;
        let id = stage.send("hello").await;
        stage.sms.dispatch_due(10).await.unwrap();
        let message = stage.message(id).await;
        assert_eq!(message.status, status, "{setting:?}");
        let told = stage.details(id).await.pop().unwrap();
        assert!(told.contains("may have been sent"), "{told}");
        if status == MessageStatus::Undelivered {
            assert_eq!(message.error, Some(ErrorCode::NetworkError));
        }
        assert_eq!(stage.account.get().await.unwrap().balance.get(), 99);
    }
}

#[tokio::test]
async fn messages_without_an_id_or_with_a_repeated_one_are_sent_all_the_same() {
    let peer = Peer::start(&[Say::As(""), Say::As("7"), Say::As("7"), Say::As("7")]).await;
    let stage = Stage::bound_to(&peer).await;
    let without = stage.send("hello").await;
    stage.sms.dispatch_due(10).await.unwrap();
    assert_eq!(stage.message(without).await.status, MessageStatus::Sent);
    let long = stage.send(&"long ".repeat(70)).await;
    stage.sms.dispatch_due(10).await.unwrap();
    peer.deliver(1, receipt("7", "DELIVRD"));
    stage.becomes(long, MessageStatus::Delivered).await;
}

/// A message to submit.
fn outbound(body: &str, number: u128) -> OutboundMessage {
    samples::outbound(body, number, SystemClock.now().plus(Duration::from_hours(1)))
}

#[tokio::test]
async fn no_more_messages_than_the_windows_hold_are_submitted_until_their_outcomes_are_safe() {
    let peer = Peer::start(&[]).await;
    let settings = peer.settings().window(2).unwrap().binds(Binds::Transceivers(2)).unwrap();
    let stage = Stage::over(settings).await.ready().await;
    until(|| peer.binds().len() == 2).await;
    let messages: Vec<_> = (0..12).map(|number| outbound("hello", number)).collect();
    let sink = stage.sms.sink();
    let mut outcomes = stage.route.hand_over(&messages, &*sink);
    // The peer answers at once, and nobody records the answers.
    let mut unrecorded = VecDeque::new();
    for _ in 0..4 {
        unrecorded.push_back(outcomes.next().await.unwrap());
    }
    for recorded in 0..8 {
        peer.deliver(recorded + 1, receipt("unknown", "ENROUTE"));
        assert_eq!(peer.answer_to(recorded + 1).await, Status::OK, "the peer had time for more");
        assert_eq!(peer.messages().len(), 4 + recorded as usize);
        assert!(outcomes.next().now_or_never().is_none());
        drop(unrecorded.pop_front());
        unrecorded.push_back(outcomes.next().await.unwrap());
    }
    assert!(unrecorded.iter().all(|it| matches!(it.result, HandOver::Submitted { .. })));
}

#[tokio::test]
async fn a_message_holds_one_place_however_many_segments_it_has_and_none_if_it_was_not_sent() {
    let peer = Peer::start(&[Say::Refuse(Status::INVALID_DESTINATION)]).await;
    let stage = Stage::over(peer.settings().window(1).unwrap()).await.ready().await;
    let refused = [outbound("hello", 1)];
    let long = [outbound(&"long ".repeat(70), 2)];
    let sink = stage.sms.sink();
    let refusal = stage.route.hand_over(&refused, &*sink).next().await.unwrap();
    assert!(matches!(refusal.result, HandOver::Refused { .. }));
    let outcome = stage.route.hand_over(&long, &*sink).next().await.unwrap();
    let HandOver::Submitted { parts } = &outcome.result else { panic!("{outcome:?}") };
    assert_eq!(parts.len(), 3);
    let mut waiting = stage.route.hand_over(&refused, &*sink);
    assert!(waiting.next().now_or_never().is_none(), "the long message holds the only place");
    stage.route.close().await;
    let closed = waiting.next().await.unwrap();
    assert!(matches!(closed.result, HandOver::TryLater { .. }), "a closing route waits no more");
    drop((refusal, outcome));
}

#[tokio::test]
async fn inbound_messages_are_stored_before_they_are_acknowledged_and_segments_joined() {
    let peer = Peer::start(&[]).await;
    let stage = Stage::bound_to(&peer).await;
    // Without an earlier message to this person, nobody would own a reply to the shared number.
    stage.send("hello").await;
    stage.sms.dispatch_due(10).await.unwrap();
    let part = |number: u8, words: &str| {
        let octets = [&[5, 0, 3, 77, 2, number][..], words.as_bytes()].concat();
        let between = between("07700 900123", "07700 900001");
        ShortMessage { short_message: Bytes::from(octets), esm_class: 0x40, ..between }
    };
    for (sequence, message) in [(1, part(2, "world")), (2, part(2, "world")), (3, part(1, "ola "))]
    {
        peer.deliver(sequence, message);
        assert_eq!(peer.answer_to(sequence).await, Status::OK);
    }
    let received = stage.inbox().await.into_iter().find(|it| it.status == MessageStatus::Received);
    assert_eq!(received.unwrap().body.as_str(), "ola world");
    let half = |number: u8, octets: &[u8]| {
        let short_message = [&[5, 0, 3, 78, 2, number][..], octets].concat().into();
        ShortMessage { data_coding: 8, short_message, ..part(number, "") }
    };
    for (sequence, message) in [(4, half(1, b"\xD8\x3D")), (5, half(2, b"\xDE\x31"))] {
        peer.deliver(sequence, message);
        assert_eq!(peer.answer_to(sequence).await, Status::OK);
    }
    assert!(stage.inbox().await.iter().any(|it| it.body.as_str() == "😱"), "cut in two");
}

/// A store that finishes one message per permit, and counts those in progress.
struct Slow {
    in_hand: AtomicUsize,
    most: AtomicUsize,
    kept: AtomicUsize,
    let_in: Semaphore,
}

#[async_trait]
impl RouteSink for Slow {
    async fn receipt(&self, _receipt: Receipt) -> Result<(), sms_core::Error> {
        Ok(())
    }

    async fn reports(&self, reports: Vec<NetworkReport>) -> Vec<Result<Reported, sms_core::Error>> {
        reports.iter().map(|_| Ok(Reported::Kept)).collect()
    }

    async fn inbound(&self, _text: InboundMessage) -> Result<(), sms_core::Error> {
        let now = self.in_hand.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        self.let_in.acquire().await.unwrap().forget();
        self.in_hand.fetch_sub(1, Ordering::SeqCst);
        self.kept.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    async fn inbound_segment(&self, _part: InboundSegment) -> Result<(), sms_core::Error> {
        Ok(())
    }

    async fn connected(&self, _route: &RouteName) -> Result<(), sms_core::Error> {
        Ok(())
    }
}

#[tokio::test]
async fn however_many_messages_arrive_at_once_only_a_few_are_stored_at_a_time() {
    let peer = Peer::start(&[]).await;
    let route = Arc::new(route(peer.settings()));
    let [in_hand, most, kept] = [0; 3].map(AtomicUsize::new);
    let sink = Arc::new(Slow { in_hand, most, kept, let_in: Semaphore::new(0) });
    let (kept, to) = (Arc::clone(&route), Arc::clone(&sink));
    let task = tokio::spawn(async move { kept.run(to).await });
    until(|| route.fitness(sms_core::dispatch::Lane::Normal) == Fitness::Ready).await;
    for sequence in 1..=60 {
        let mut text = between("07700 900123", "07700 900001");
        text.short_message = Bytes::from_static(b"menu");
        peer.deliver(sequence, text);
    }
    for kept in 1..=60 {
        sink.let_in.add_permits(1);
        until(|| sink.kept.load(Ordering::SeqCst) == kept).await;
    }
    for sequence in 1..=60 {
        assert_eq!(peer.answer_to(sequence).await, Status::OK);
    }
    let most = sink.most.load(Ordering::SeqCst);
    assert!(most <= arrival::MESSAGES_AT_ONCE, "{most} at once");
    task.abort();
}

#[tokio::test]
async fn a_deliver_sm_of_no_use_is_acknowledged_and_changes_nothing() {
    let peer = Peer::start(&[]).await;
    let stage = Stage::bound_to(&peer).await;
    let mut named = between("07700 900123", "07700 900001");
    named.source = Address::name("Ba\u{7}nk");
    let mut nothing = receipt("1", "DELIVRD");
    nothing.short_message = Bytes::from_static(b"\xff\x00 corrupt");
    for (sequence, message) in
        [(1, named), (2, nothing), (3, receipt("unknown", "DELIVRD")), (4, receipt("9", "ENROUTE"))]
    {
        peer.deliver(sequence, message);
        assert_eq!(peer.answer_to(sequence).await, Status::OK, "{sequence}");
    }
    assert_eq!(stage.inbox().await, []);
}

#[tokio::test]
async fn the_numbers_behind_a_bound_route_are_online() {
    let peer = Peer::start(&[]).await;
    let stage = Stage::bound_to(&peer).await;
    sms_test_smsc::until("the number to be online", async || {
        let numbers = stage.sms.operator().number_list().await.unwrap();
        numbers[0].is_online(stage.sms.now()).then_some(())
    })
    .await;
}

#[tokio::test]
async fn without_a_connection_messages_wait_and_the_route_is_down_after_the_failover_time() {
    let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let stage = Stage::over(settings_of(port).failover(Duration::from_millis(200)).unwrap()).await;
    let id = stage.send("hello").await;
    assert_eq!(stage.sms.dispatch_due(10).await.unwrap().claimed, 0);
    assert_eq!(stage.message(id).await.status, MessageStatus::Queued);
    until(|| stage.route.fitness(sms_core::dispatch::Lane::Normal) == Fitness::Down).await;
    assert_eq!(stage.sms.dispatch_due(10).await.unwrap().claimed, 0, "there is no other route");
    let Some(Connections { up, wanted, down_for, .. }) = stage.route.connections() else {
        panic!("it keeps connections")
    };
    assert_eq!((up, wanted, down_for.is_some()), (0, 1, true));
}

#[tokio::test]
async fn a_closing_route_finishes_what_is_under_way_and_releases_the_rest() {
    let peer = Peer::start(&[Say::Wait]).await;
    let stage =
        Stage::over(peer.settings().rate(20).unwrap().window(1).unwrap()).await.ready().await;
    stage.route.inner.carrier.answers_at_once();
    for _ in 0..60 {
        stage.send("hello").await;
    }
    let sms = stage.sms.clone();
    let dispatching = tokio::spawn(async move { sms.dispatch_due(60).await.unwrap() });
    until(|| peer.messages().len() == 1).await;
    // It is closing before the network answers.
    tokio::join!(stage.route.close(), async { peer.answer_next() });
    let done = dispatching.await.unwrap();
    // It claimed what it can submit in half a second.
    assert_eq!((done.claimed, done.sent, done.retried), (10, 1, 9));
    assert_eq!(peer.messages().len(), 1);
    assert_eq!(stage.route.connections().map(|it| (it.up, it.in_hand)), Some((0, 0)));
}
