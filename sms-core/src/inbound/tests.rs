use proptest::prelude::*;

use super::*;
use crate::contact::book::BookFacts;
use crate::keyword::reply::Sender;
use crate::keyword::reply_limit::RecentReplies;
use crate::samples::{account_id, contact, ids, message_id, millis, now, our_number, person};
use crate::statistics::{Count, Counted};

const OTHER: AccountId = AccountId::from_u128(2);
const MONTH: i64 = 30 * 24 * 60 * 60 * 1_000;

fn answer() -> Origin {
    Origin::Answer { to: message_id(), follow_up: FollowUpId::from_u128(8) }
}

fn plan_from(origin: Origin, body: &str) -> InboundPlan {
    let text = InboundMessage {
        from: person().into(),
        to: our_number(),
        body: Body::new(body),
        route: RouteName::new("simulator"),
    };
    InboundPlan::new(text, origin, now(), ids())
}

fn plan(body: &str) -> InboundPlan {
    plan_from(Origin::Network, body)
}

// ---- the owner of a message -----------------------------------------------------------------

#[test]
fn a_dedicated_numbers_messages_are_its_accounts_and_a_shared_numbers_who_texted_within_30_days() {
    let dedicated = Some(Holder::Dedicated(account_id()));
    let shared = Some(Holder::Shared);
    let texted = |ago: i64| Some((OTHER, millis(-ago)));
    let mine = Some((account_id(), Mode::Live));
    let others = Some((OTHER, Mode::Live));
    for (holder, last_contacted, expected) in [
        (dedicated, None, mine),
        (dedicated, texted(0), mine),
        (shared, None, None),
        (shared, texted(0), others),
        (shared, texted(MONTH - 1), others),
        (shared, texted(MONTH), others),
        (shared, texted(MONTH + 1), None),
        // The clock of another machine may be ahead.
        (shared, texted(-5), others),
        (None, None, None),
        (None, texted(0), None),
    ] {
        let facts = RoutingFacts { holder, released: None, last_contacted, answered: None };
        assert_eq!(plan("hello").owner(facts), expected, "{facts:?}");
    }
}

#[test]
fn for_30_days_after_its_release_a_numbers_messages_are_who_texted_last() {
    let dedicated = Some(Holder::Dedicated(account_id()));
    let texted = |ago: i64| Some((OTHER, millis(-ago)));
    let mine = Some((account_id(), Mode::Live));
    let others = Some((OTHER, Mode::Live));
    for (holder, released_ago, last_contacted, expected) in [
        (None, 0, texted(0), others),
        (None, MONTH - 1, texted(MONTH), others),
        (None, MONTH - 1, texted(MONTH + 1), None),
        (None, MONTH, texted(0), None),
        (None, 0, None, None),
        // The operator has given the number to another account at once.
        (dedicated, 0, texted(0), others),
        (dedicated, 0, None, mine),
        (dedicated, 0, texted(MONTH + 1), mine),
        (dedicated, MONTH, texted(0), mine),
        (Some(Holder::Shared), 0, texted(0), others),
    ] {
        let released = Some(Release {
            phone: our_number(),
            holder: Holder::Dedicated(OTHER),
            at: millis(-released_ago),
        });
        let facts = RoutingFacts { holder, released, last_contacted, answered: None };
        assert_eq!(plan("STOP").owner(facts), expected, "{facts:?}");
    }
}

#[test]
fn a_simulated_answer_belongs_to_the_account_of_the_answered_message() {
    let holders = [None, Some(Holder::Shared), Some(Holder::Dedicated(account_id()))];
    for holder in holders {
        for last_contacted in [None, Some((account_id(), now()))] {
            for answered in [None, Some((OTHER, Mode::Test)), Some((OTHER, Mode::Live))] {
                let facts = RoutingFacts { holder, released: None, last_contacted, answered };
                assert_eq!(plan_from(answer(), "hello").owner(facts), answered, "{facts:?}");
            }
        }
    }
}

#[test]
fn a_message_from_a_network_ignores_answered_messages() {
    let answered = Some((OTHER, Mode::Test));
    let facts = RoutingFacts { holder: None, released: None, last_contacted: None, answered };
    assert_eq!(plan("hello").owner(facts), None);
}

#[test]
fn a_message_of_no_account_is_kept_whole_for_the_operator() {
    let plan = plan("Grüße 👋");
    let expected = Unrouted {
        id: plan.id,
        from: person().into(),
        to: our_number(),
        body: Body::new("Grüße 👋"),
        encoding: Encoding::Ucs2,
        segments: Segments::new(1),
        received_at: now(),
    };
    assert_eq!(plan.unrouted(), expected);
    assert_eq!(plan.id.timestamp(), now());
}

// ---- the effects of a message ---------------------------------------------------------------

fn facts() -> InboundFacts {
    InboundFacts {
        account: account_id(),
        mode: Mode::Live,
        opted_out: false,
        contact: None,
        matched: None,
    }
}

fn settle(body: &str, opted_out: bool) -> InboundWrites {
    plan(body).settle(InboundFacts { opted_out, ..facts() })
}

fn kinds(verdict: &InboundWrites) -> Vec<String> {
    verdict.raised.events.iter().map(|event| event.data.kind().to_string()).collect()
}

#[test]
fn an_inbound_message_is_received_costs_nothing_and_has_no_send_fields() {
    let long = "д".repeat(71);
    let verdict = settle(&long, false);
    let expected = Message {
        id: plan(&long).id,
        account: account_id(),
        direction: Direction::Inbound,
        status: MessageStatus::Received,
        to: our_number(),
        from: person(),
        body: Body::new(long),
        encoding: Encoding::Ucs2,
        segments: Segments::new(2),
        credits: Credits::ZERO,
        route: RouteName::new("simulator"),
        sender: None,
        client_ref: None,
        batch_id: None,
        campaign_id: None,
        contact_id: None,
        error: None,
        mode: Mode::Live,
        scheduled_at: None,
        times: Times { received_at: Some(now()), ..Times::default() },
    };
    assert_eq!(verdict.message, expected);
    let line = TimelineEntry { status: MessageStatus::Received, detail: None, at: now() };
    assert_eq!(verdict.timeline, line);
    assert_eq!(verdict.conversation, person());
    let counted: Vec<_> = verdict.tally.counts().collect();
    let (account, at, counted_as) = (account_id(), now(), Counted::Received);
    assert_eq!(counted, [Count { account, at, counted: counted_as, amount: 1 }]);
    assert_eq!(verdict.message.contact_number(), person());
}

#[test]
fn an_answer_to_a_test_message_is_a_test_message() {
    let facts = InboundFacts { account: OTHER, mode: Mode::Test, ..facts() };
    let verdict = plan_from(answer(), "hello").settle(facts);
    assert_eq!((verdict.message.account, verdict.message.mode), (OTHER, Mode::Test));
    assert!(verdict.tally.is_empty(), "messages of test keys are left out of statistics");
}

fn opted_out_now() -> OptOut {
    OptOut { phone: person(), source: OptOutSource::Sms, note: None, created_at: now() }
}

#[test]
fn stop_words_opt_out_once_start_words_undo_it_and_other_words_do_neither() {
    let add = || OptOutChange::Add(opted_out_now());
    let remove = || OptOutChange::Remove(person());
    let stops = [
        "STOP",
        "stop",
        "STOPALL",
        "UNSUBSCRIBE",
        "CANCEL",
        "END",
        "QUIT",
        "OPTOUT",
        "OPT OUT",
        "REVOKE",
        "REMOVE",
        "Stop, please",
    ];
    let starts = ["START", "UNSTOP", "Start again"];
    let others = ["hello", "please stop", "restart", "STOPPED", "HELP", "yes", "", "?!"];
    let table = stops
        .map(|body| (body, add(), OptOutChange::Keep))
        .into_iter()
        .chain(starts.map(|body| (body, OptOutChange::Keep, remove())))
        .chain(others.map(|body| (body, OptOutChange::Keep, OptOutChange::Keep)));
    for (body, when_not_opted_out, when_opted_out) in table {
        assert_eq!(settle(body, false).opt_out, when_not_opted_out, "{body:?}");
        assert_eq!(settle(body, true).opt_out, when_opted_out, "{body:?}, opted out before");
    }
}

#[test]
fn the_message_event_comes_before_the_opt_out_event() {
    for (body, opted_out, expected) in [
        ("STOP", false, &["message.received", "opt_out.created"][..]),
        ("STOP", true, &["message.received"]),
        ("START", true, &["message.received"]),
        ("START", false, &["message.received"]),
        ("hello", false, &["message.received"]),
    ] {
        assert_eq!(kinds(&settle(body, opted_out)), expected, "{body} {opted_out}");
    }
}

#[test]
fn events_carry_the_message_and_the_opt_out_as_stored() {
    let verdict = settle("STOP", false);
    let message = EventData::MessageReceived(Box::new(verdict.message.clone()));
    assert_eq!(verdict.raised.events[0].data, message);
    assert_eq!(verdict.raised.events[1].data, EventData::OptOutCreated(opted_out_now()));
    assert!(verdict.raised.events.iter().all(|event| event.account == account_id()));
    assert!(verdict.raised.events.iter().all(|event| event.created_at == now()));
    assert!(verdict.raised.events[0].id < verdict.raised.events[1].id);
}

#[test]
fn an_inbound_message_of_a_saved_contact_names_the_contact() {
    let verdict = plan("hello").settle(InboundFacts { contact: Some(contact()), ..facts() });
    assert_eq!(verdict.message.contact_id, Some(contact().id));
    let EventData::MessageReceived(told) = &verdict.raised.events[0].data else {
        panic!("no message")
    };
    assert_eq!(told.contact_id, Some(contact().id));
}

/// The facts of a match with this word.
fn matching(word: &str) -> InboundFacts {
    let keyword = crate::keyword::save::tests::keyword();
    let matched = MatchFacts {
        keyword: crate::keyword::Keyword { word: word.parse().unwrap(), ..keyword },
        book: BookFacts::default(),
        custom_names: std::collections::BTreeSet::new(),
        route: None,
        sender: Sender::Person,
        replied: Vec::new(),
        balance: Credits::new(100).unwrap(),
        account_replies: RecentReplies::default(),
        keyword_replies: RecentReplies::default(),
    };
    InboundFacts { matched: Some(Box::new(matched)), ..facts() }
}

#[test]
fn a_keyword_makes_the_sender_a_contact_that_the_message_and_its_event_name() {
    let verdict = plan("Pizza, please").settle(matching("pizza"));
    let matched = verdict.matched.unwrap();
    let made = matched.book.created[0].id;
    assert_eq!(verdict.message.contact_id, Some(made));
    let EventData::MessageReceived(told) = &verdict.raised.events[0].data else {
        panic!("no message")
    };
    assert_eq!(told.contact_id, Some(made));
    let reply = matched.reply.unwrap().send;
    assert_eq!((reply.expires_at, reply.at), (now().plus(VALIDITY), now()));
    assert!(reply.messages[0].id > verdict.message.id);
}

#[test]
fn a_pause_of_replies_is_told_after_the_message() {
    let facts = matching("pizza");
    let poor = MatchFacts { balance: Credits::ZERO, ..*facts.matched.unwrap() };
    let facts = InboundFacts { matched: Some(Box::new(poor)), ..self::facts() };
    let verdict = plan("pizza").settle(facts);
    assert_eq!(kinds(&verdict), ["message.received", "replies.paused"]);
    let matched = verdict.matched.unwrap();
    assert!(matched.reply.is_none() && matched.paused.is_some());
}

#[test]
fn revoke_and_remove_are_keywords_where_the_account_has_them_and_stop_never_is() {
    for (body, is_match) in [("Revoke", true), ("remove me", true), ("STOP", false)] {
        let verdict = plan(body).settle(matching(&body[..4]));
        assert_eq!(verdict.matched.is_some(), is_match, "{body}");
        assert_eq!(matches!(verdict.opt_out, OptOutChange::Add(_)), !is_match, "{body}");
    }
}

/// A plan for a message from a short code or a name.
fn plan_of(name: &str, body: &str) -> InboundPlan {
    let from = Originator::parse(name).unwrap();
    assert_eq!(from.name(), Some(name));
    let text = InboundMessage { from, ..plan(body).text };
    InboundPlan::new(text, Origin::Network, now(), ids())
}

#[test]
fn a_message_from_a_short_code_or_a_name_is_kept_and_does_nothing_else() {
    for name in ["60123", "ACME"] {
        for body in ["STOP", "START", "pizza", "HELP", "Your code is 1234"] {
            for opted_out in [false, true] {
                let mut plan = plan_of(name, body);
                assert_eq!(plan.word(), None, "{body}");
                // Not even what a store should not have found counts.
                let facts = InboundFacts {
                    opted_out,
                    contact: Some(contact()),
                    ..matching(if body == "pizza" { "pizza" } else { "other" })
                };
                let verdict = plan.settle(facts);
                assert_eq!(kinds(&verdict), ["message.received"], "{name} {body}");
                assert_eq!(verdict.opt_out, OptOutChange::Keep, "{name} {body}");
                assert!(verdict.matched.is_none() && verdict.message.contact_id.is_none());
                assert_eq!(verdict.message.originator().to_string(), name);
                assert_eq!(verdict.conversation, plan.text.from.number());
                let counted: Vec<_> = verdict.tally.counts().collect();
                assert_eq!(counted[0].counted, Counted::Received);
            }
        }
    }
}

#[test]
fn a_name_belongs_to_the_account_of_a_dedicated_number_and_to_nobody_on_a_shared_one() {
    let holders = [(Some(Holder::Dedicated(account_id())), true), (Some(Holder::Shared), false)];
    for (holder, is_routed) in holders {
        // No message is ever sent to a name.
        let facts = RoutingFacts { holder, released: None, last_contacted: None, answered: None };
        let plan = plan_of("ACME", "Hello");
        assert_eq!(plan.owner(facts).is_some(), is_routed, "{holder:?}");
        assert_eq!(plan.unrouted().from.to_string(), "ACME");
    }
}

proptest! {
    #[test]
    fn any_body_is_stored_unchanged_and_raises_its_event(body in any::<String>(), opted_out: bool) {
        let verdict = settle(&body, opted_out);
        prop_assert_eq!(verdict.message.body.as_str(), body);
        prop_assert_eq!(&kinds(&verdict)[0], "message.received");
        let added = matches!(verdict.opt_out, OptOutChange::Add(_));
        prop_assert_eq!(verdict.raised.events.len(), 1 + usize::from(added));
        prop_assert!(!(added && opted_out));
    }

    #[test]
    fn a_shared_numbers_message_reaches_the_account_for_30_days_to_the_millisecond(
        ago in -1_000i64..2 * MONTH,
    ) {
        let last_contacted = Some((OTHER, millis(-ago)));
        let holder = Some(Holder::Shared);
        let facts = RoutingFacts { holder, released: None, last_contacted, answered: None };
        prop_assert_eq!(plan("hi").owner(facts).is_some(), ago <= MONTH);
    }
}

#[test]
fn the_character_u_0000_is_removed() {
    assert_eq!(plan("a\0b").text.body.as_str(), "ab");
}
