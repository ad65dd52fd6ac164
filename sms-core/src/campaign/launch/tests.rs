use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::campaign::{CampaignInput, CampaignStatus};
use crate::contact::Details;
use crate::ids::{CampaignId, ContactId};
use crate::link::LinkBase;
use crate::random::{Random, SeededRandom};
use crate::route::RouteName;
use crate::samples::{account_id, contact, credits, ids, mobile, now, our_number, seconds};
use crate::sending::plan::{Codes, Shortening};
use crate::sending::writer::NewMessage;

fn draft_of(body: &str) -> Campaign {
    let input = CampaignInput::new("Spring", body, ListId::from_u128(5));
    let settings = Settings::default();
    input.into_draft(CampaignId::from_u128(9), account_id(), &settings, seconds(-60))
}

fn draft() -> Campaign {
    draft_of("The menu is here")
}

fn plan_at(draft: &Campaign, mode: Mode, scheduled_at: Option<Timestamp>) -> LaunchPlan {
    let settings = Settings::default();
    let route = RouteName::new("simulator");
    let codes: Arc<dyn Random> = Arc::new(SeededRandom::new(7));
    let facts = PlanFacts {
        account: account_id(),
        settings: &settings,
        mode,
        body: draft.body.as_str(),
        from: our_number(),
        sender: None,
        route: &route,
        custom_names: &BTreeSet::new(),
        shortening: Shortening { base: &LinkBase::default(), codes: Codes::Drawn(&codes) },
        validity: Duration::from_hours(1),
        at: now(),
    };
    let departure = Departure { scheduled_at, quiet_hours: QuietHoursApplied::No };
    LaunchPlan::new(draft.clone(), &LaunchOptions::default(), departure, &facts, ids())
}

fn plan(draft: &Campaign, mode: Mode) -> LaunchPlan {
    plan_at(draft, mode, None)
}

fn people(count: u64) -> Vec<Contact> {
    let person =
        |n| Contact { id: ContactId::from_u128(u128::from(n)), phone: mobile(n), ..contact() };
    (1..=count).map(person).collect()
}

fn facts(draft: &Campaign, size: u64) -> LaunchFacts {
    LaunchFacts {
        campaign: Some(draft.clone()),
        list_size: Some(size),
        status: AccountStatus::Active,
        balance: credits(100),
        test_messages: Vec::new(),
    }
}

fn refused(result: Result<impl std::fmt::Debug, Refused>) -> LaunchRefused {
    match result {
        Err(CommitError::Refused(reason)) => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn pages_add_up_to_one_launch() {
    let mut whole = plan(&draft(), Mode::Live);
    let mut paged = whole.clone();
    let contacts = people(7);
    let all = whole.page(&contacts).messages;
    let parts: Vec<Message> =
        contacts.chunks(3).flat_map(|page| paged.page(page).messages).collect();
    assert_eq!((all.len(), whole.totals()), (7, paged.totals()));
    assert_eq!(all, parts);
    let expected = Totals { recipients: 7, rejected: 0, price: credits(7), links: 0 };
    assert_eq!(whole.totals(), expected);
    assert!(all.is_sorted_by(|one, next| one.id < next.id));
    let verdict = whole.settle(&facts(&draft(), 7)).unwrap();
    let launch = verdict.campaign.launch.unwrap();
    assert_eq!((launch.recipients, launch.credits, verdict.balance), (7, credits(7), credits(93)));
    assert_eq!(launch.counts, Counts::only(MessageStatus::Queued, 7));
    assert_eq!((verdict.test_messages, verdict.conversations), (None, whole.batch));
    let entry = verdict.entry.unwrap();
    let cause = Cause::Send { batch: whole.batch, campaign: Some(draft().id) };
    assert_eq!(
        (entry.cause, entry.amount, entry.balance_after),
        (cause, credits(7).loss(), credits(93))
    );
}

#[test]
fn links_are_tracked_for_each_recipient_unless_it_is_a_test() {
    let body = "https://example.com/menu and https://example.com/wine";
    let draft = Campaign { track_links: true, ..draft_of(body) };
    let mut live = plan(&draft, Mode::Live);
    let Written { messages, links } = live.page(&people(3));
    assert_eq!((messages.len(), links.len(), live.totals().links), (3, 6, 6));
    for (index, link) in links.iter().enumerate() {
        let text = &messages[index / 2];
        assert_eq!((link.message, link.campaign), (text.id, Some(draft.id)));
        assert!(text.body.as_str().contains(link.code.as_str()));
    }
    let verdict = live.settle(&facts(&draft, 3)).unwrap();
    assert_eq!(verdict.campaign.links, LinkTotals { links: 6, ..LinkTotals::default() });
    let mut test = plan(&draft, Mode::Test);
    let Written { messages, links } = test.page(&people(1));
    assert_eq!((messages[0].body.as_str(), links.len()), (body, 0));
}

#[test]
fn a_rehearsal_has_the_same_price_and_draws_no_codes() {
    let draft = Campaign { track_links: true, ..draft_of("https://example.com/menu") };
    let mut live = plan(&draft, Mode::Live);
    let mut rehearsed = live.rehearsal();
    assert_eq!(rehearsed.page(&people(3)).links, []);
    let written = live.page(&people(3));
    let untouched = plan(&draft, Mode::Live).page(&people(3));
    assert_eq!(written, untouched, "codes are those of a plan that was not rehearsed");
    assert_eq!(rehearsed.totals(), Totals { links: 0, ..live.totals() });
    let poor = LaunchFacts { balance: credits(2), ..facts(&draft, 3) };
    assert_eq!(refused(rehearsed.settle(&poor)), refused(live.settle(&poor)));
}

#[test]
fn contacts_without_a_message_are_counted_and_cost_nothing() {
    let mut contacts = people(4);
    contacts[0].opted_out = true;
    let named = |name: String| Details { first_name: Some(name), ..Details::default() };
    contacts[1].details = named("x".repeat(1_601));
    contacts[2].details = named(String::new());
    contacts[3].details = named("Ann".to_owned());
    let mut plan = plan(&draft_of("{first_name}"), Mode::Live);
    let messages = plan.page(&contacts).messages;
    assert_eq!((messages.len(), messages[0].body.as_str()), (1, "Ann"));
    assert_eq!(plan.totals(), Totals { recipients: 1, rejected: 3, price: credits(1), links: 0 });
}

#[test]
fn messages_carry_batch_and_campaign_and_their_place_in_the_queue() {
    let due = seconds(3_600);
    for (mode, waits) in [(Mode::Live, 0), (Mode::Test, 1)] {
        let mut plan = plan_at(&draft(), mode, Some(due));
        let page = plan.page(&people(1));
        let NewMessages { messages, links } = plan.new_messages(&page);
        let [NewMessage { message: text, line, claimed, entry }] = &messages[..] else {
            panic!("one")
        };
        assert_eq!((text.campaign_id, text.batch_id), (Some(draft().id), Some(plan.batch)));
        assert_eq!((text.status, text.scheduled_at), (MessageStatus::Scheduled, Some(due)));
        assert_eq!((entry.message, entry.account, links), (text.id, text.account, vec![]));
        assert_eq!(entry.claimable_at, due.plus(Duration::from_secs(waits)));
        assert_eq!((entry.expires_at, claimed), (due.plus(Duration::from_hours(1)), &None));
        assert_eq!((line.status, line.at, entry.attempt), (text.status, now(), 0));
    }
}

#[test]
fn a_launch_is_refused_for_what_is_wrong_first() {
    use LaunchRefused as R;
    let draft = draft();
    let settle = |size: u64, mode, facts: LaunchFacts| {
        let mut plan = plan(&draft, mode);
        let _ = plan.page(&people(size));
        refused(plan.settle(&facts))
    };
    let good = || facts(&draft, 2);
    let none = LaunchFacts { campaign: None, ..good() };
    assert_eq!(settle(2, Mode::Live, none), R::NoSuchCampaign);
    let launch = {
        let mut plan = plan(&draft, Mode::Live);
        let _ = plan.page(&people(1));
        plan.settle(&good()).unwrap().campaign
    };
    let launched = LaunchFacts { campaign: Some(launch), list_size: None, ..good() };
    assert_eq!(settle(2, Mode::Live, launched), R::AlreadyLaunched);
    let gone = LaunchFacts { list_size: None, ..good() };
    assert_eq!(settle(2, Mode::Live, gone), R::NoSuchList(draft.list));
    let many = LaunchFacts { status: AccountStatus::Suspended, ..facts(&draft, 51) };
    assert_eq!(settle(51, Mode::Test, many), R::TestLimitExceeded);
    // The list has grown since it was counted.
    assert_eq!(settle(51, Mode::Test, facts(&draft, 50)), R::TestLimitExceeded);
    let nobody = LaunchFacts { status: AccountStatus::Pending, ..good() };
    assert_eq!(settle(0, Mode::Live, nobody), R::NoRecipients);
    let pending = LaunchFacts { status: AccountStatus::Pending, ..good() };
    assert_eq!(settle(2, Mode::Live, pending), R::MayNotSend(MayNotSend::Pending));
    let made = vec![(seconds(-600), 299)];
    let used_up = LaunchFacts { test_messages: made, ..good() };
    let retry_after = Duration::from_mins(50);
    assert_eq!(settle(2, Mode::Test, used_up.clone()), R::TestMessagesUsedUp { retry_after });
    let poor = LaunchFacts { balance: credits(1), ..used_up };
    let expected = R::InsufficientCredit { needed: credits(2), balance: credits(1) };
    assert_eq!(settle(2, Mode::Live, poor), expected);
}

#[test]
fn limits_are_met_at_the_limit() {
    let draft = draft();
    let mut test = plan(&draft, Mode::Test);
    let _ = test.page(&people(50));
    let made = vec![(seconds(-600), 250)];
    let facts_of = |size| LaunchFacts { balance: credits(50), ..facts(&draft, size) };
    let verdict = test.settle(&LaunchFacts { test_messages: made, ..facts_of(50) }).unwrap();
    let made = verdict.test_messages.map(|made| (made.account, made.batch, made.at, made.count));
    assert_eq!(made, Some((account_id(), test.batch, now(), 50)));
    assert_eq!((verdict.entry, verdict.balance), (None, credits(50)));
    assert_eq!(verdict.campaign.launch.unwrap().credits, Credits::ZERO);
    let mut live = plan(&draft, Mode::Live);
    let _ = live.page(&people(50));
    assert_eq!(live.settle(&facts_of(50)).unwrap().balance, Credits::ZERO);
}

#[test]
fn an_edited_draft_makes_the_plan_out_of_date() {
    let mut plan = plan(&draft(), Mode::Live);
    let _ = plan.page(&people(1));
    let edited = Campaign { name: "Summer".to_owned(), updated_at: now(), ..draft() };
    let stale = plan.settle(&LaunchFacts { campaign: Some(edited), ..facts(&draft(), 1) });
    assert!(matches!(stale, Err(CommitError::Stale)));
}

#[test]
fn a_plan_recognises_its_own_commit() {
    let mut plan = plan(&draft(), Mode::Live);
    let _ = plan.page(&people(1));
    let before = facts(&draft(), 1);
    let campaign = plan.settle(&before).unwrap().campaign;
    assert_eq!(plan.launched_before(&before), None);
    let mut other = campaign.clone();
    other.launch.as_mut().unwrap().batch = BatchId::from_u128(1);
    let facts_of = |campaign| LaunchFacts { campaign: Some(campaign), ..before.clone() };
    assert_eq!(plan.launched_before(&facts_of(other)), None);
    assert_eq!(plan.launched_before(&facts_of(campaign.clone())), Some(campaign));
}

#[test]
fn only_a_launch_that_may_be_refused_is_doubtful() {
    let doubtful = |body: &str, mode, balance, size, status| {
        let draft = draft_of(body);
        let facts = LaunchFacts { balance: credits(balance), status, ..facts(&draft, size) };
        plan(&draft, mode).is_doubtful(&facts)
    };
    let two_parts = "x".repeat(161);
    for (body, balance, expected) in [
        ("x", 10, false),
        ("x", 9, true),
        (two_parts.as_str(), 20, false),
        (two_parts.as_str(), 19, true),
        ("{first_name}", 110, false),
        ("{first_name}", 109, true),
        (" ", 0, false),
    ] {
        let found = doubtful(body, Mode::Live, balance, 10, AccountStatus::Active);
        assert_eq!(found, expected, "{body} {balance}");
    }
    assert!(!doubtful("x", Mode::Test, 0, 10, AccountStatus::Active));
    assert!(doubtful("x", Mode::Live, 99, 10, AccountStatus::Pending));
    assert!(!doubtful("x", Mode::Test, 0, 10, AccountStatus::Pending));
}

#[test]
fn quiet_hours_apply_to_the_moment_the_campaign_would_go() {
    let settings = Settings::default();
    let at = |text: &str| -> Timestamp { text.parse().unwrap() };
    let (evening, noon) = (at("2026-11-21T22:00:00Z"), at("2026-11-21T12:00:00Z"));
    let morning = at("2026-11-22T09:00:00Z");
    let departure = |now, schedule_at, ignore_quiet_hours| {
        let options = LaunchOptions { schedule_at, ignore_quiet_hours, track_links: None };
        let campaign = options.apply(draft());
        options.departure(&campaign, &settings, now)
    };
    let quiet =
        |until| Departure { scheduled_at: Some(until), quiet_hours: QuietHoursApplied::Yes };
    let free = |scheduled_at| Departure { scheduled_at, quiet_hours: QuietHoursApplied::No };
    assert_eq!(departure(evening, None, None), quiet(morning));
    assert_eq!(departure(noon, None, None), free(None));
    assert_eq!(departure(noon, Some(evening), None), quiet(morning));
    assert_eq!(departure(evening, Some(morning), None), free(Some(morning)));
    assert_eq!(departure(evening, None, Some(true)), free(None));
    assert_eq!(departure(noon, Some(evening), Some(true)), free(Some(evening)));
    let passed = Timestamp::from_millis(noon.as_millis() - 59_000);
    assert_eq!(departure(noon, Some(passed), None), free(None));
    assert_eq!(departure(noon, Some(noon), None), free(None));
    let ignoring = Campaign { ignore_quiet_hours: true, ..draft() };
    let options = LaunchOptions { ignore_quiet_hours: Some(false), ..LaunchOptions::default() };
    assert_eq!(options.departure(&options.apply(ignoring), &settings, evening), quiet(morning));
}

#[test]
fn the_options_of_a_launch_override_the_draft_and_are_kept() {
    let options = LaunchOptions {
        schedule_at: None,
        track_links: Some(true),
        ignore_quiet_hours: Some(true),
    };
    let wanted = options.apply(draft());
    assert!(wanted.track_links && wanted.ignore_quiet_hours);
    assert_eq!(LaunchOptions::default().apply(wanted.clone()), wanted);
    assert_eq!(wanted.status(now()), CampaignStatus::Draft);
}

#[test]
fn a_launch_is_scheduled_within_a_year() {
    const YEAR: u64 = 365 * 24 * 60 * 60 * 1_000;
    let options =
        |schedule_at| LaunchOptions { schedule_at: Some(schedule_at), ..LaunchOptions::default() };
    let later = |millis| now().plus(Duration::from_millis(millis));
    let earlier = |millis| now().minus(Duration::from_millis(millis));
    for good in [later(YEAR), earlier(60_000), now()] {
        assert_eq!(options(good).check(now()), None);
    }
    for bad in [later(YEAR + 1), earlier(60_001)] {
        let error = options(bad).check(now()).unwrap();
        assert_eq!((error.field.as_str(), error.code), ("schedule_at", "out_of_range"));
    }
    assert_eq!(LaunchOptions::default().check(now()), None);
}
