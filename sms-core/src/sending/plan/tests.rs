mod links;
mod portions;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::account::Account;
use crate::dispatch::{Lane, QueueEntry};
use crate::link::LinkBase;
use crate::message::{Body, Direction, MessageStatus, TimelineEntry, Times};
use crate::phone::E164;
use crate::random::{Random, SeededRandom};
use crate::route::RouteName;
use crate::samples::{account, ids, mobile, now, our_number, person, seconds};
use crate::sending::IdempotencyKey;
use crate::sending::quote::QuoteTally;
use crate::sending::writer::NewMessage;
use crate::text::{Encoding, check_length, is_blank};

/// Facts that a test changes one of.
struct World {
    account: Account,
    mode: Mode,
    route: RouteName,
    opted_out: BTreeSet<E164>,
    custom_names: BTreeSet<String>,
    link_base: LinkBase,
    codes: Option<Arc<dyn Random>>,
    validity: Duration,
}

impl World {
    fn new(mode: Mode) -> Self {
        Self {
            account: account(),
            mode,
            route: RouteName::new("simulator"),
            opted_out: BTreeSet::new(),
            custom_names: BTreeSet::new(),
            link_base: LinkBase::new("https://sms.example").unwrap(),
            codes: Some(Arc::new(SeededRandom::new(9))),
            validity: Duration::from_hours(24),
        }
    }

    fn plan(&self, request: &SendRequest) -> SendPlan {
        self.plan_of(request, &request.body)
    }

    fn plan_of(&self, request: &SendRequest, body: &str) -> SendPlan {
        self.plan_with(request, body, Recipients::of(request))
    }

    fn plan_to(&self, request: &SendRequest, recipients: Recipients) -> SendPlan {
        self.plan_with(request, &request.body, recipients)
    }

    fn plan_with(&self, request: &SendRequest, body: &str, mut recipients: Recipients) -> SendPlan {
        recipients.reject_opted_out(&self.opted_out);
        let mut planner = self.planner(request, body);
        planner.add(recipients.take_page());
        while planner.next_portion() == Progress::More {}
        planner.finish()
    }

    fn planner(&self, request: &SendRequest, body: &str) -> Planner {
        let sender = request.sender.as_ref().map(|name| name.parse().unwrap());
        let facts = PlanFacts {
            account: self.account.id,
            settings: &self.account.settings,
            mode: self.mode,
            body,
            from: our_number(),
            sender: sender.as_ref(),
            route: &self.route,
            custom_names: &self.custom_names,
            shortening: Shortening {
                base: &self.link_base,
                codes: self.codes.as_ref().map_or(Codes::Placeholder, Codes::Drawn),
            },
            validity: self.validity,
            at: now(),
        };
        Planner::new(request, &facts, ids())
    }
}

fn live(request: &SendRequest) -> SendPlan {
    World::new(Mode::Live).plan(request)
}

fn test(request: &SendRequest) -> SendPlan {
    World::new(Mode::Test).plan(request)
}

fn to_person(body: impl Into<String>) -> SendRequest {
    SendRequest::new(body).to("07700 900123")
}

fn bodies(plan: &SendPlan) -> Vec<&str> {
    plan.messages.iter().map(|message| message.body.as_str()).collect()
}

fn rejections(plan: &SendPlan) -> Vec<(&str, RejectionReason)> {
    plan.rejected.iter().map(|rejection| (&*rejection.to, rejection.reason)).collect()
}

fn reason(plan: &SendPlan) -> Option<RejectionReason> {
    plan.rejected.first().map(|rejection| rejection.reason)
}

#[test]
fn every_field_of_an_accepted_message_follows_from_the_request_and_the_facts() {
    let request = SendRequest { sender: Some("BISTRO".to_owned()), ..to_person("x".repeat(161)) };
    let plan = live(&request.client_ref("booking-42"));
    let expected = Message {
        id: plan.messages[0].id,
        account: account().id,
        direction: Direction::Outbound,
        status: MessageStatus::Queued,
        to: person(),
        from: our_number(),
        body: Body::new("x".repeat(161)),
        encoding: Encoding::Gsm7,
        segments: crate::text::Segments::new(2),
        credits: crate::samples::credits(2),
        route: RouteName::new("simulator"),
        sender: Some("BISTRO".to_owned()),
        client_ref: Some("booking-42".to_owned()),
        batch_id: Some(plan.batch),
        campaign_id: None,
        contact_id: None,
        error: None,
        mode: Mode::Live,
        scheduled_at: None,
        times: Times::default(),
    };
    assert_eq!(plan.messages, [expected]);
    assert_eq!(plan.messages[0].created_at(), now());
    assert_eq!((plan.account, plan.mode, plan.at), (account().id, Mode::Live, now()));
}

#[test]
fn the_body_is_the_templates_if_the_request_has_none() {
    let world = World::new(Mode::Live);
    let request = SendRequest::default().to("07700 900123");
    let plan = world.plan_of(&request, "Hello {first_name}from {phone}");
    assert_eq!(bodies(&plan), ["Hello from +447700900123"]);
}

#[test]
fn messages_and_rejections_keep_the_order_of_the_request() {
    let mut world = World::new(Mode::Live);
    world.opted_out.insert(mobile(125));
    let request = SendRequest::new("hello")
        .to("07700 900124, 020 7946 0000, 07700 900125\n07700 900123")
        .to("nobody, 07700 900124");
    let plan = world.plan(&request);
    let texted: Vec<E164> = plan.messages.iter().map(|message| message.to).collect();
    assert_eq!(texted, [mobile(124), mobile(123)]);
    assert_eq!(
        rejections(&plan),
        [
            ("+442079460000", RejectionReason::NotMobile),
            ("+447700900125", RejectionReason::OptedOut),
            ("nobody", RejectionReason::InvalidNumber),
            ("+447700900124", RejectionReason::Duplicate),
        ]
    );
}

#[test]
fn all_recipients_share_one_message_when_there_is_no_field_to_fill() {
    let request =
        SendRequest::new("hello {nobody}").to("07700 900123, 07700 900124").append_opt_out();
    let plan = live(&request);
    assert_eq!(bodies(&plan)[0], "hello {nobody}\nReply STOP to opt out");
    let places: Vec<_> = bodies(&plan).into_iter().map(str::as_ptr).collect();
    assert_eq!(places[0], places[1], "rendered once");
}

#[test]
fn a_contact_gets_its_own_message_under_its_id_and_custom_names_in_use_are_filled() {
    use crate::contact::{Contact, CustomValue, Details};
    use crate::samples::contact;

    let mut world = World::new(Mode::Live);
    world.custom_names.insert("points".to_owned());
    let details = Details {
        first_name: Some("Ann".to_owned()),
        custom: [("points".to_owned(), CustomValue::Number(5.into()))].into(),
        ..Details::default()
    };
    let request = SendRequest::new("Hi {first_name}: {points} {unused}").to("07700 900124");
    let mut recipients = Recipients::of(&request);
    recipients.add(Contact { details, ..contact() });
    let plan = world.plan_to(&request, recipients);
    assert_eq!(bodies(&plan), ["Hi :  {unused}", "Hi Ann: 5 {unused}"]);
    let contacts: Vec<_> = plan.messages.iter().map(|message| message.contact_id).collect();
    assert_eq!(contacts, [None, Some(contact().id)]);
}

#[test]
fn merge_fields_are_filled_for_each_recipient_and_without_a_value_render_as_nothing() {
    let request =
        SendRequest::new("Hi {first_name}{last_name}{full_name}{email}: {phone} {points}")
            .to("07700 900123, 07700 900124");
    assert_eq!(
        bodies(&live(&request)),
        ["Hi : +447700900123 {points}", "Hi : +447700900124 {points}"]
    );
}

#[test]
fn a_message_without_visible_message_is_an_empty_body_even_with_an_opt_out_line() {
    for body in [" ", "\n\t", "\u{200b}", "{first_name}", " {first_name} {last_name}\n"] {
        for request in [to_person(body), to_person(body).append_opt_out()] {
            let plan = live(&request);
            assert_eq!(reason(&plan), Some(RejectionReason::EmptyBody), "{body:?}");
            assert_eq!((plan.messages.len(), plan.price), (0, Credits::ZERO));
        }
    }
}

#[test]
fn a_message_over_ten_single_segments_is_too_long_after_merging_and_with_its_opt_out_line() {
    let line = 1 + "Reply STOP to opt out".len();
    let gsm7 = |count| "a".repeat(count);
    let ucs2 = |count| "д".repeat(count);
    for (request, refused) in [
        (to_person(gsm7(1_600)), false),
        (to_person("€".repeat(800)), false),
        (to_person("€".repeat(801)), true),
        (to_person(ucs2(700)), false),
        (to_person(ucs2(701)), true),
        (to_person("👋".repeat(350)), false),
        (to_person("👋".repeat(351)), true),
        // `{phone}` is 7 characters as typed and 13 as sent.
        (to_person(format!("{{phone}}{}", gsm7(1_587))), false),
        (to_person(format!("{{phone}}{}", gsm7(1_588))), true),
        // `{first_name}` is 12 characters as typed and none as sent.
        (to_person(format!("{{first_name}}{}", ucs2(700))), false),
        (to_person(format!("{{first_name}}{}", ucs2(701))), true),
        (to_person(gsm7(1_600 - line)).append_opt_out(), false),
        (to_person(gsm7(1_601 - line)).append_opt_out(), true),
        (to_person(ucs2(700 - line)).append_opt_out(), false),
        (to_person(ucs2(701 - line)).append_opt_out(), true),
    ] {
        let expected = refused.then_some(RejectionReason::TooLong);
        let shown = format!("{} characters, {request:?}", request.body.chars().count());
        assert_eq!(reason(&live(&request)), expected, "{shown}");
        let is_well_formed = request.check(now()).is_empty();
        assert!(is_well_formed, "the body field is within 1,600 characters: {shown}");
    }
}

#[test]
fn every_recipient_of_a_message_that_is_too_long_is_listed_and_nothing_is_charged() {
    let plan = live(&SendRequest::new("д".repeat(701)).to("07700 900123, 07700 900124"));
    assert_eq!(
        rejections(&plan),
        [("+447700900123", RejectionReason::TooLong), ("+447700900124", RejectionReason::TooLong),]
    );
    assert_eq!((plan.messages.len(), plan.price, plan.charge), (0, Credits::ZERO, Credits::ZERO));
}

#[test]
fn the_opt_out_line_says_how_to_answer_a_number_and_a_sender_name() {
    let named = |request| SendRequest { sender: Some("BISTRO".to_owned()), ..request };
    let table = [
        (to_person("Sale"), "Sale"),
        (to_person("Sale").append_opt_out(), "Sale\nReply STOP to opt out"),
        (named(to_person("Sale")), "Sale"),
        (named(to_person("Sale")).append_opt_out(), "Sale\nText STOP to +447700900001 to opt out"),
    ];
    for (request, expected) in table {
        assert_eq!(bodies(&live(&request)), [expected]);
    }
}

#[test]
fn the_opt_out_line_is_the_accounts_own() {
    let mut world = World::new(Mode::Live);
    world.account.settings.opt_out_line = "STOP ends".to_owned();
    world.account.settings.opt_out_line_sender = "STOP to {number}, {phone}".to_owned();
    let request = to_person("Sale").append_opt_out();
    assert_eq!(bodies(&world.plan(&request)), ["Sale\nSTOP ends"]);
    let request = SendRequest { sender: Some("BISTRO".to_owned()), ..request };
    let plan = world.plan(&request);
    assert_eq!(bodies(&plan), ["Sale\nSTOP to +447700900001, {phone}"], "no merge fields in it");
}

#[test]
fn a_number_that_opted_out_is_rejected_for_that_reason_whatever_the_message_is() {
    let mut world = World::new(Mode::Live);
    world.opted_out.insert(person());
    for body in ["hello", " ", "{phone}", &"д".repeat(701)] {
        assert_eq!(reason(&world.plan(&to_person(body))), Some(RejectionReason::OptedOut));
    }
    world.mode = Mode::Test;
    assert_eq!(reason(&world.plan(&to_person("x"))), Some(RejectionReason::OptedOut));
}

#[test]
fn a_send_for_later_is_scheduled_and_any_other_is_queued() {
    for (schedule_at, scheduled_at, status) in [
        (None, None, MessageStatus::Queued),
        (Some(seconds(-60)), None, MessageStatus::Queued),
        (Some(now()), None, MessageStatus::Queued),
        (Some(seconds(1)), Some(seconds(1)), MessageStatus::Scheduled),
        (Some(seconds(86_400)), Some(seconds(86_400)), MessageStatus::Scheduled),
    ] {
        let plan = live(&SendRequest { schedule_at, ..to_person("x") });
        let message = &plan.messages[0];
        assert_eq!((message.scheduled_at, message.status), (scheduled_at, status));
        assert_eq!(message.due_at(), scheduled_at.unwrap_or(now()));
    }
}

#[test]
fn a_live_send_costs_one_credit_per_segment_and_a_test_send_nothing() {
    let to_two = |body: &str| SendRequest::new(body).to("07700 900123, 07700 900124");
    for (request, parts, price) in [
        (to_person("x"), 1, 1),
        (to_two("x"), 1, 2),
        (to_person("x".repeat(160)), 1, 1),
        (to_person("x".repeat(161)), 2, 2),
        (to_two(&"x".repeat(161)), 2, 4),
        (to_person("д".repeat(71)), 2, 2),
        (to_person("x".repeat(1_600)), 11, 11),
        (to_two(&"x".repeat(1_600)), 11, 22),
        (to_person("x".repeat(160)).append_opt_out(), 2, 2),
    ] {
        for (plan, charged) in [(live(&request), true), (test(&request), false)] {
            let credits = |amount: u64| crate::samples::credits(if charged { amount } else { 0 });
            assert_eq!(plan.price.get(), price, "{request:?}");
            assert_eq!(plan.charge, credits(price), "{request:?}");
            for message in &plan.messages {
                assert_eq!(message.segments.get(), parts, "{request:?}");
                assert_eq!(message.credits, credits(u64::from(parts)), "{request:?}");
            }
        }
    }
}

#[test]
fn a_message_is_claimable_when_due_and_a_test_message_a_second_later() {
    let later = seconds(3_600);
    for (mode, schedule_at, claimable_at) in [
        (Mode::Live, None, now()),
        (Mode::Live, Some(later), later),
        (Mode::Live, Some(seconds(-60)), now()),
        (Mode::Test, None, seconds(1)),
        (Mode::Test, Some(later), seconds(3_601)),
        (Mode::Test, Some(seconds(-60)), seconds(1)),
    ] {
        let plan = World::new(mode).plan(&SendRequest { schedule_at, ..to_person("x") });
        assert_eq!(plan.claimable_at, claimable_at, "{mode} {schedule_at:?}");
    }
}

#[test]
fn validity_counts_from_when_a_message_is_due() {
    let mut world = World::new(Mode::Live);
    world.validity = Duration::from_mins(10);
    assert_eq!(world.plan(&to_person("x")).expires_at, seconds(600));
    let later = to_person("x").schedule_at(seconds(3_600));
    assert_eq!(world.plan(&later).expires_at, seconds(4_200));
    world.mode = Mode::Test;
    assert_eq!(world.plan(&later).expires_at, seconds(4_200));
}

#[test]
fn a_new_message_waits_in_the_queue_untried_and_unclaimed() {
    let plan = live(&to_person("x").schedule_at(seconds(60)));
    let entry = QueueEntry {
        message: plan.messages[0].id,
        account: account().id,
        lane: Lane::Normal,
        claimable_at: seconds(60),
        expires_at: seconds(60 + 24 * 3_600),
        attempt: 0,
        lease: None,
        unanswered: 0,
    };
    let message = &plan.messages[0];
    let line = TimelineEntry { status: message.status, detail: None, at: plan.at };
    let NewMessages { messages, links } = new_messages([&plan, &plan]);
    let expected = NewMessage { message, line, claimed: None, entry };
    assert_eq!(messages, [expected.clone(), expected]);
    assert_eq!(links, Vec::<&Link>::new());
}

#[test]
fn a_send_claims_its_idempotency_key_with_what_it_means() {
    assert_eq!(live(&to_person("x")).idempotency, None);
    let key: IdempotencyKey = "booking-42".parse().unwrap();
    let request = to_person("x").idempotency_key(key.clone());
    for mode in [Mode::Live, Mode::Test] {
        let claim = World::new(mode).plan(&request).idempotency.unwrap();
        assert_eq!(claim.key, key);
        assert_eq!(claim.fingerprint, Fingerprint::of(&request, mode));
    }
}

/// Bodies that lie on both sides of every boundary: alphabets, segments, limits, fields.
fn any_body() -> impl Strategy<Value = String> {
    let unit =
        prop::sample::select(vec!["a", "€", "д", "👋", " ", "{phone}", "{first_name}", "{x}"]);
    let piece = (unit, prop_oneof![1usize..4, 60usize..75, 150usize..165, 700usize..702]);
    prop::collection::vec(piece, 1..4).prop_map(|pieces| {
        let whole: String = pieces.into_iter().map(|(unit, count)| unit.repeat(count)).collect();
        whole.chars().take(1_600).collect()
    })
}

fn any_request() -> impl Strategy<Value = SendRequest> {
    let number = prop_oneof![
        4 => (100u64..110).prop_map(|last| format!("07700 900{last}")),
        1 => prop::sample::select(vec!["020 7946 0000", "+33 6 12 34 56 78", "nobody"])
            .prop_map(str::to_owned),
    ];
    let numbers = prop::collection::vec(number, 1..12);
    (any_body(), numbers, any::<bool>(), prop::option::of(-60i64..1_000)).prop_map(
        |(body, to, append_opt_out, schedule)| SendRequest {
            to,
            append_opt_out,
            schedule_at: schedule.map(seconds),
            ..SendRequest::new(body)
        },
    )
}

proptest! {
    #[test]
    fn a_live_send_costs_the_quoted_credit_per_segment_and_a_test_costs_nothing(
        request in any_request(),
    ) {
        let (live, test) = (live(&request), test(&request));
        let parts = |plan: &SendPlan| -> u64 {
            plan.messages.iter().map(|message| u64::from(message.segments.get())).sum()
        };
        for message in &live.messages {
            prop_assert_eq!(message.credits, Credits::for_segments(message.segments));
        }
        prop_assert_eq!(live.charge.get(), parts(&live));
        prop_assert!(test.messages.iter().all(|message| message.credits == Credits::ZERO));
        prop_assert_eq!(test.charge, Credits::ZERO);
        prop_assert_eq!(parts(&test), parts(&live));
        let charge = live.charge;
        for plan in [live, test] {
            let mut tally = QuoteTally::default();
            let (recipients, price) = (plan.messages.len(), plan.price);
            let SendPlan { messages, links, rejected, .. } = plan;
            tally.add(Planned { messages, links, rejected });
            let quote = tally.finish(price, Credits::ZERO, Encoding::Gsm7);
            prop_assert_eq!((quote.recipients, quote.credits), (recipients, charge));
        }
    }

    #[test]
    fn every_entry_of_the_union_is_sent_or_rejected_once(request in any_request()) {
        let plan = live(&request);
        prop_assert_eq!(plan.messages.len() + plan.rejected.len(), request.to.len());
        let texted: BTreeSet<E164> = plan.messages.iter().map(|message| message.to).collect();
        prop_assert_eq!(texted.len(), plan.messages.len());
    }

    #[test]
    fn the_segments_of_a_message_are_those_of_the_body_that_is_sent(request in any_request()) {
        for message in live(&request).messages {
            let measure = crate::text::measure(message.body.as_str());
            prop_assert_eq!(measure.encoding, message.encoding);
            prop_assert_eq!(measure.segments, message.segments);
            prop_assert!(check_length(message.body.as_str()).is_ok());
            prop_assert!(!is_blank(message.body.as_str()));
        }
    }

    #[test]
    fn all_ids_of_a_plan_are_distinct_and_rise(request in any_request()) {
        let plan = live(&request);
        let mut drawn = vec![plan.batch.as_u128()];
        drawn.extend(plan.messages.iter().map(|message| message.id.as_u128()));
        drawn.push(plan.entry_id.as_u128());
        prop_assert!(drawn.windows(2).all(|pair| pair[0] < pair[1]));
        prop_assert!(plan.messages.iter().all(|message| message.batch_id == Some(plan.batch)));
    }
}
