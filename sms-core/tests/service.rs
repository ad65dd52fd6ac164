//! What a service does for whoever builds on it, over the store in memory and a clock that stands
//! still unless it is moved.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures_executor::block_on;
use sms_core::campaign::CampaignInput;
use sms_core::campaign::cancel::CancelPlan;
use sms_core::campaign::launch::LaunchOptions;
use sms_core::clock::{Clock, ManualClock, MovableClock};
use sms_core::contact::input::ContactInput;
use sms_core::credits::{Change, Credits};
use sms_core::dispatch::Lane;
use sms_core::event::EventType;
use sms_core::ids::AccountId;
use sms_core::inbound::InboundMessage;
use sms_core::inbound::segment::{InboundSegment, Place, SegmentText};
use sms_core::keyword::save::KeywordInput;
use sms_core::list::ListInput;
use sms_core::list::join::JoinInput;
use sms_core::message::Body;
use sms_core::phone::E164;
use sms_core::prelude::*;
use sms_core::random::SeededRandom;
use sms_core::receipt::ReceiptStatus;
use sms_core::receipt::report::{NetworkId, NetworkReport};
use sms_core::route::simulator::Simulator;
use sms_core::route::{
    Connections, Fitness, HandOvers, OutboundMessage, Route, RouteKind, RouteName, RouteSink,
};
use sms_core::sender_name::review::Decision;
use sms_core::service::webhook::Attempted;
use sms_core::service::{AccountHandle, Wake, Work};
use sms_core::template::TemplateInput;
use sms_core::time::Timestamp;
use sms_core::webhook::attempt::Room;
use sms_core::webhook::delivery::{DeliveryError, DeliveryStatus};
use sms_core::webhook::endpoint::EndpointInput;
use sms_core::webhook::sender::{
    UrlCheck, UrlRefused, WebhookAnswer, WebhookRequest, WebhookSender,
};
use sms_store_memory::MemoryStore;

const HOUR: Duration = Duration::from_hours(1);
const DAY: Duration = Duration::from_hours(24);

/// Notes what it is woken for.
#[derive(Debug, Default)]
struct Heard(Mutex<Vec<Work>>);

impl Wake for Heard {
    fn wake(&self, work: Work) {
        self.0.lock().unwrap().push(work);
    }
}

impl Heard {
    fn take(&self) -> Vec<Work> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

/// A network with so many connections, whose queue is full.
#[derive(Debug)]
struct Network {
    name: RouteName,
    up: usize,
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
        panic!("{} messages", messages.len());
    }

    fn fitness(&self, _lane: Lane) -> Fitness {
        Fitness::Full
    }

    fn connections(&self) -> Option<Connections> {
        let (in_hand, pace_percent, down_for) = (0, 100, None);
        Some(Connections { up: self.up, wanted: 2, in_hand, pace_percent, down_for })
    }

    async fn run(&self, _sink: Arc<dyn RouteSink>) {}
}

/// Endpoints that all answer so.
#[derive(Debug)]
struct Answer(Result<(), DeliveryError>, Option<u16>);

#[async_trait]
impl WebhookSender for Answer {
    async fn check_url(
        &self,
        _account: AccountId,
        _url: &str,
        _check: UrlCheck,
    ) -> Result<(), UrlRefused> {
        Ok(())
    }

    async fn send(&self, _request: WebhookRequest) -> WebhookAnswer {
        let Self(result, status_code) = *self;
        WebhookAnswer {
            result,
            status_code,
            retry_after: None,
            duration: HOUR,
            response_body: Vec::new(),
        }
    }
}

/// A service with one account of a hundred credits, and a number that all accounts share.
struct Stage {
    clock: Arc<ManualClock>,
    heard: Arc<Heard>,
    sms: Sms,
    account: AccountHandle,
}

impl Stage {
    fn new() -> Self {
        Self::of(|builder| builder)
    }

    fn of(settings: impl FnOnce(SmsBuilder) -> SmsBuilder) -> Self {
        let clock = Arc::new(ManualClock::at(Timestamp::from_millis(1_795_000_000_000)));
        let heard = Arc::new(Heard::default());
        let builder = Sms::builder(Arc::new(MemoryStore::new()))
            .clock(clock.clone())
            .random(Arc::new(SeededRandom::new(7)));
        let sms = settings(builder).build();
        sms.wake_with(&(heard.clone() as Arc<dyn Wake>));
        let input = NewAccountInput::active("Bistro", 100);
        let account = block_on(sms.operator().account_create(input)).unwrap();
        block_on(sms.operator().number_create(NumberInput::shared("07700 900001"))).unwrap();
        let account = sms.account(account.id, Mode::Live);
        heard.take();
        Self { clock, heard, sms, account }
    }

    fn send(&self, request: SendRequest) -> Sent {
        block_on(self.account.send(request.to("07700 900123"))).unwrap()
    }

    fn balance(&self) -> u64 {
        block_on(self.account.get()).unwrap().balance.get()
    }

    /// The words that came in, the newest first.
    fn received(&self) -> Vec<String> {
        let filter = MessageFilter::default();
        let messages =
            block_on(self.account.message_list(&filter, PageRequest::default())).unwrap();
        let came = messages.items.iter().filter(|text| text.status == MessageStatus::Received);
        came.map(|text| text.body.as_str().to_owned()).collect()
    }

    fn part(&self, number: u8, words: &str) -> InboundSegment {
        InboundSegment {
            from: person().into(),
            to: ours(),
            reference: 7,
            place: Place::new(number, 2).unwrap(),
            text: SegmentText::whole(words),
            route: RouteName::new("simulator"),
            received_at: self.clock.now(),
        }
    }
}

fn person() -> E164 {
    "+447700900123".parse().unwrap()
}

fn ours() -> E164 {
    "+447700900001".parse().unwrap()
}

fn report(id: &str) -> NetworkReport {
    let id = NetworkId::new(RouteName::new("simulator"), id);
    NetworkReport::new(id, ReceiptStatus::Delivered)
}

fn endpoint() -> EndpointInput {
    EndpointInput::new("https://example.com/", [EventType::MessageSent])
}

#[test]
fn there_is_always_a_route_for_live_messages_and_one_for_test_keys() {
    let names =
        |sms: &Sms| sms.routes().iter().map(|route| route.name().to_string()).collect::<Vec<_>>();
    assert_eq!(names(&Stage::new().sms), ["simulator", "test"]);
    let test = Arc::new(Simulator::new(RouteName::test()));
    assert_eq!(names(&Stage::of(|builder| builder.route(test)).sms), ["simulator", "test"]);
    let main = Arc::new(Network { name: RouteName::new("main"), up: 0 });
    assert_eq!(names(&Stage::of(|builder| builder.route(main)).sms), ["main", "test"]);
}

#[test]
fn claimed_messages_are_held_for_as_long_as_is_set() {
    let stage = Stage::of(|builder| builder.lease(Duration::from_secs(7)));
    assert_eq!(stage.sms.lease_length(), Duration::from_secs(7));
}

#[test]
fn workers_are_woken_for_what_there_is_to_do_and_for_nothing_else() {
    let stage = Stage::of(|builder| builder.validity(HOUR));
    block_on(stage.sms.dispatch_due(10)).unwrap();
    let later = stage.clock.now().plus(HOUR);
    stage.send(SendRequest::new("later").schedule_at(later));
    assert_eq!(stage.heard.take(), [], "nothing is due");
    stage.send(SendRequest::new("now"));
    assert_eq!(stage.heard.take(), [Work::Dispatch]);
    // What is failed without being handed over is told as well.
    stage.clock.advance(2 * HOUR + Duration::from_secs(1));
    assert_eq!(block_on(stage.sms.dispatch_due(10)).unwrap().failed, 2);
    assert_eq!(stage.heard.take(), [Work::Webhooks]);
}

#[test]
fn what_a_route_brings_is_taken_in_and_each_report_has_an_answer() {
    let stage = Stage::new();
    stage.send(SendRequest::new("hello"));
    block_on(stage.sms.dispatch_due(10)).unwrap();
    let sink = stage.sms.sink();
    let (from, to, route) = (person().into(), ours(), RouteName::new("simulator"));
    let text = InboundMessage { from, to, body: Body::new("whole"), route };
    stage.heard.take();
    block_on(sink.inbound(text)).unwrap();
    assert_eq!(stage.heard.take(), [Work::Webhooks]);
    block_on(sink.inbound_segment(stage.part(2, "joined"))).unwrap();
    assert_eq!(stage.received(), ["whole"]);
    block_on(sink.inbound_segment(stage.part(1, "are "))).unwrap();
    assert_eq!(stage.received(), ["are joined", "whole"]);
    let answers = block_on(sink.reports(vec![report("1"), report("2")]));
    assert_eq!(answers.into_iter().flatten().count(), 2);
}

#[test]
fn no_endpoint_is_saved_that_would_hear_of_nothing_or_that_nothing_can_reach() {
    let refused = block_on(Stage::new().account.webhook_create(endpoint()));
    assert!(matches!(refused, Err(Error::Invalid(_))), "{refused:?}");
    let stage = Stage::of(|builder| builder.webhooks(Arc::new(Answer(Ok(()), Some(200)))));
    let nothing = EndpointInput::new("https://example.com/", []);
    let refused = block_on(stage.account.webhook_create(nothing));
    assert!(matches!(refused, Err(Error::Invalid(_))), "{refused:?}");
}

#[test]
fn deliveries_that_failed_together_are_tried_again_one_after_the_other() {
    let refusal = Answer(Err(DeliveryError::Timeout), None);
    let stage = Stage::of(|builder| builder.webhooks(Arc::new(refusal)));
    let (made, _) = block_on(stage.account.webhook_create(endpoint())).unwrap();
    for words in ["one", "two", "three"] {
        stage.send(SendRequest::new(words));
    }
    block_on(stage.sms.dispatch_due(10)).unwrap();
    assert_eq!(block_on(stage.sms.deliver_webhooks(10)).unwrap(), 3);
    let page = PageRequest::default();
    let deliveries = block_on(stage.account.delivery_list(made.id, page)).unwrap().items;
    let mut times: Vec<_> = deliveries.iter().filter_map(|one| one.next_attempt_at).collect();
    times.sort_unstable();
    times.dedup();
    assert_eq!(times.len(), 3);
    assert!(times[0] > stage.clock.now().plus(Duration::from_mins(1)));
}

#[test]
fn an_attempt_and_a_test_tell_how_the_endpoint_answered() {
    let refused = Err(DeliveryError::HttpStatus);
    for (result, status_code, attempted, status) in [
        (Ok(()), 204, Attempted::Delivered, DeliveryStatus::Delivered),
        (refused, 500, Attempted::Failed, DeliveryStatus::GivenUp),
    ] {
        let answer = Answer(result, Some(status_code));
        let stage = Stage::of(|builder| builder.webhooks(Arc::new(answer)));
        let (made, _) = block_on(stage.account.webhook_create(endpoint())).unwrap();
        stage.send(SendRequest::new("hello"));
        block_on(stage.sms.dispatch_due(10)).unwrap();
        let claimed = block_on(stage.sms.deliveries_claim(Room::any(10))).unwrap().pop().unwrap();
        assert_eq!(block_on(stage.sms.delivery_attempt(claimed)).unwrap(), attempted);
        block_on(stage.account.webhook_test(made.id)).unwrap();
        let page = PageRequest::default();
        let log = block_on(stage.account.delivery_list(made.id, page)).unwrap().items;
        let (test, now) = (&log[0], stage.clock.now());
        assert_eq!((test.status, test.attempts, test.last_error), (status, 1, result.err()));
        assert_eq!((test.last_status_code, test.last_attempt_at), (Some(status_code), Some(now)));
        assert_eq!((test.delivered_at, test.next_attempt_at), (result.ok().map(|()| now), None));
    }
}

#[test]
fn a_number_is_online_from_the_start_where_its_route_has_a_connection() {
    for (up, is_online) in [(0, false), (1, true), (2, true)] {
        let main = Arc::new(Network { name: RouteName::new("main"), up });
        let other = Arc::new(Network { name: RouteName::new("other"), up: 0 });
        let stage = Stage::of(|builder| builder.route(main).route(other));
        let of_other = Some(RouteName::new("other"));
        for (route, is_online) in [(None, is_online), (of_other, false)] {
            let input = NumberInput::shared("07700 900002").route(route);
            let number = block_on(stage.sms.operator().number_create(input)).unwrap();
            assert_eq!(number.is_online(stage.clock.now()), is_online, "{up}");
            block_on(stage.sms.operator().number_delete(number.id)).unwrap();
        }
    }
}

#[test]
fn rent_that_is_taken_and_rent_that_is_owed_are_both_work_and_credits_that_come_pay_it_at_once() {
    let stage = Stage::new();
    let operator = stage.sms.operator();
    let poor = block_on(operator.account_create(NewAccountInput::active("Café", 60))).unwrap();
    for (phone, account) in [("07700 900002", stage.account.id()), ("07700 900003", poor.id)] {
        let rental_credits = Credits::new(40).unwrap();
        let input = NumberInput::dedicated(phone, account).rental_credits(rental_credits);
        block_on(operator.number_create(input)).unwrap();
    }
    assert_eq!(stage.balance(), 60, "the first rent is taken at once");
    let next = block_on(stage.sms.next_work(Work::Rents)).unwrap();
    assert_eq!(next, Some(stage.clock.now().plus(30 * DAY)));
    stage.clock.advance(30 * DAY);
    assert_eq!(block_on(stage.sms.do_work(Work::Rents, 10)).unwrap(), 2);
    assert_eq!(stage.balance(), 20);
    let add = |amount| {
        let change = Change::new(amount).unwrap();
        block_on(operator.credits_adjust(poor.id, change, None)).unwrap();
        block_on(operator.account_get(poor.id)).unwrap().balance.get()
    };
    assert_eq!([add(-1), add(25)], [19, 4], "44 less the rent of 40");
}

#[test]
fn a_campaign_that_is_cancelled_tells_how_many_messages_were_and_a_bad_one_is_not_made() {
    let stage = Stage::new();
    let list = ListInput::new("Guests");
    let list = block_on(stage.account.list_create(list)).unwrap();
    for phone in ["07700 900123", "07700 900124", "07700 900125"] {
        let contact = block_on(stage.account.contact_create(ContactInput::new(phone))).unwrap();
        let joining = JoinInput::default().contact_ids([contact.id.to_string()]);
        block_on(stage.account.list_add(list.id, joining)).unwrap();
    }
    let refused = block_on(stage.account.campaign_create(CampaignInput::new("", "x", list.id)));
    assert!(matches!(refused, Err(Error::Invalid(_))), "{refused:?}");
    let input = CampaignInput::new("Autumn", "A table awaits", list.id);
    let campaign = block_on(stage.account.campaign_create(input)).unwrap();
    let options = LaunchOptions::default().schedule_at(stage.clock.now().plus(DAY));
    block_on(stage.account.campaign_launch(campaign.id, options)).unwrap();
    assert_eq!(stage.balance(), 97);
    let cancelled = block_on(stage.account.campaign_cancel(campaign.id)).unwrap();
    assert_eq!((cancelled.messages, stage.balance()), (3, 100));
    // A program died when it had marked another one.
    let input = CampaignInput::new("Winter", "A table awaits", list.id);
    let another = block_on(stage.account.campaign_create(input)).unwrap();
    block_on(stage.account.campaign_launch(another.id, options)).unwrap();
    let (account, campaign) = (stage.account.id(), another.id);
    let plan = CancelPlan { account, campaign, at: stage.clock.now() };
    block_on(stage.sms.store().campaign_cancel(plan)).unwrap();
    assert_eq!(block_on(stage.sms.tidy(10)).unwrap(), 0, "it may be at it still");
    stage.clock.advance(Duration::from_mins(3));
    assert_eq!(block_on(stage.sms.tidy(10)).unwrap(), 1);
    assert_eq!(stage.balance(), 100);
}

#[test]
fn an_answer_to_a_keyword_waits_for_a_route_as_long_as_any_message() {
    let stage = Stage::of(|builder| builder.validity(HOUR));
    let word = KeywordInput::new("MENU").reply("Soup");
    block_on(stage.account.keyword_create(word)).unwrap();
    stage.send(SendRequest::new("hello"));
    block_on(stage.sms.dispatch_due(10)).unwrap();
    let (from, to, route) = (person().into(), ours(), RouteName::new("simulator"));
    let text = InboundMessage { from, to, body: Body::new("menu"), route };
    block_on(stage.sms.sink().inbound(text)).unwrap();
    stage.clock.advance(HOUR + Duration::from_secs(1));
    let done = block_on(stage.sms.dispatch_due(10)).unwrap();
    assert_eq!((done.failed, done.sent), (1, 0));
}

#[test]
fn what_is_past_its_keep_is_removed_once_and_counted() {
    let stage = Stage::new();
    stage.send(SendRequest::new("hello").idempotency_key("once".parse().unwrap()));
    let tested = stage.sms.account(stage.account.id(), Mode::Test);
    block_on(tested.send(SendRequest::new("test").to("07700 900124"))).unwrap();
    block_on(stage.sms.inbound_segment(stage.part(1, "half"))).unwrap();
    block_on(stage.sms.record_reports(vec![report("1")]));
    block_on(stage.sms.dispatch_due(10)).unwrap();
    assert_eq!(block_on(stage.sms.tidy(10)).unwrap(), 0);
    stage.clock.advance(Duration::from_hours(3));
    assert_eq!(block_on(stage.sms.tidy(10)).unwrap(), 1, "the test send");
    stage.clock.advance(30 * DAY);
    // A key, who was texted from a shared number, half a text, what a network reported, and a row
    // of the event log.
    assert_eq!(block_on(stage.sms.tidy(10)).unwrap(), 5);
    assert_eq!(block_on(stage.sms.tidy(10)).unwrap(), 0);
}

#[test]
fn a_list_is_texted_whole_however_long_it_is() {
    let stage = Stage::new();
    let list = ListInput::new("Guests");
    let list = block_on(stage.account.list_create(list)).unwrap();
    let rows = (0..1_001).map(|n| ContactInput::new(format!("07700 {:06}", 900_000 + n)));
    let imported = block_on(stage.account.contacts_import(rows.collect(), Some(list.id))).unwrap();
    assert_eq!(imported.added_to_list, 1_001);
    let mut request = SendRequest::new("hello");
    request.list_id = Some(list.id);
    assert_eq!(block_on(stage.account.quote(request)).unwrap().recipients, 1_001);
}

#[test]
fn names_and_remarks_hold_at_their_limits_and_not_one_past_them() {
    let stage = Stage::new();
    let operator = stage.sms.operator();
    for (length, is_taken) in [(0, false), (1, true), (200, true), (201, false)] {
        let input = NewAccountInput::active("é".repeat(length), 0);
        let made = block_on(operator.account_create(input));
        assert_eq!(made.is_ok(), is_taken, "{length}");
    }
    let nul = block_on(operator.account_create(NewAccountInput::active("a\0", 0)));
    assert!(matches!(nul, Err(Error::Invalid(_))));
    let blank = TemplateInput::new("", "hello");
    let refused = block_on(stage.account.template_create(blank));
    assert!(matches!(refused, Err(Error::Invalid(_))), "{refused:?}");
    let name = block_on(stage.account.sender_name_create("Bistro", None)).unwrap();
    for (length, is_taken) in [(500, true), (501, false)] {
        let reason = Some("é".repeat(length));
        let reviewed = block_on(operator.sender_name_review(name.id, Decision::Reject, reason));
        assert_eq!(reviewed.is_ok(), is_taken, "{length}");
    }
}

/// A stage whose clock is the one that a sandbox moves.
fn sandbox(settings: impl FnOnce(SmsBuilder) -> SmsBuilder) -> (Stage, Arc<MovableClock>) {
    let start = Arc::new(ManualClock::at(Timestamp::from_millis(1_795_000_000_000)));
    let clock = Arc::new(MovableClock::new(start));
    let stage = Stage::of(|builder| settings(builder.clock(clock.clone())));
    (stage, clock)
}

#[test]
fn time_that_passes_removes_all_that_is_past_its_keep_however_much_it_is() {
    let (stage, clock) = sandbox(|builder| builder);
    for n in 0..100 {
        let key = format!("key {n}").parse().unwrap();
        stage.send(SendRequest::new("hello").idempotency_key(key));
    }
    for n in 0..101 {
        let reports = block_on(stage.sms.record_reports(vec![report(&n.to_string())]));
        assert!(reports[0].is_ok());
    }
    block_on(stage.sms.pass(&clock, 31 * DAY)).unwrap();
    assert_eq!(block_on(stage.sms.tidy(10)).unwrap(), 0);
}

#[test]
fn time_does_not_pass_while_what_is_due_is_held_up() {
    let main = Arc::new(Network { name: RouteName::new("main"), up: 1 });
    let (stage, clock) = sandbox(|builder| builder.route(main));
    let began = clock.now();
    stage.send(SendRequest::new("hello"));
    let held_up = block_on(stage.sms.pass(&clock, HOUR));
    assert!(matches!(held_up, Err(Error::Busy)), "{held_up:?}");
    assert_eq!(clock.now(), began);
}
