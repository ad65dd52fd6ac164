use std::collections::BTreeSet;

use super::plan::{PortionEnd, PortionPlan, ReplayPlan, ReplayRefused, waits_for};
use super::*;
use crate::event::{EventData, EventType};
use crate::ids::EventId;
use crate::message::MessageStatus;
use crate::samples::{account_id, endpoint, ids, message, now, seconds};
use crate::webhook::RetrySchedule;
use crate::webhook::attempt::ATTEMPT_LEASE;
use crate::webhook::delivery::DeliveryStatus;
use crate::webhook::endpoint::{
    DisabledReason, Endpoint, EndpointChange, FAILURES_TO_SWITCH_OFF, Power,
};

fn at(commit: u64) -> Position {
    Position { commit, place: 0 }
}

fn replay() -> Replay {
    Replay {
        kinds: Kinds::all(),
        span: Span::default(),
        after: at(3),
        until: at(9),
        next_at: now(),
    }
}

fn event(second: i64) -> Event {
    let data = EventData::MessageSent(Box::new(message(MessageStatus::Sent)));
    let mut event = Event::new(account_id(), data, seconds(second), &mut ids());
    event.id = EventId::from_u128(event.id.as_u128() + u128::from(second.unsigned_abs()));
    event
}

fn under_way() -> Endpoint {
    let events = [EventType::MessageSent].into();
    Endpoint { events, replay: Some(replay()), ..endpoint() }
}

fn plan() -> ReplayPlan {
    let begun = ReplayBegun { events: 1, reached: Some(at(9)), has_more: false };
    let (account, endpoint) = (account_id(), endpoint().id);
    ReplayPlan { account, endpoint, replay: Some(replay()), begun }
}

fn portion(events: Vec<Event>, end: PortionEnd) -> PortionPlan {
    let Endpoint { account, id: endpoint, .. } = under_way();
    PortionPlan { account, endpoint, replay: replay(), events, end, at: seconds(60), ids: ids() }
}

#[test]
fn a_replay_begins_only_on_an_endpoint_that_is_on_and_has_none_under_way() {
    let off = Endpoint { power: Power::Off(DisabledReason::Failures), ..endpoint() };
    for (found, expected) in [
        (None, Err(ReplayRefused::NoSuchEndpoint)),
        (Some(off), Err(ReplayRefused::Disabled)),
        (Some(under_way()), Err(ReplayRefused::UnderWay)),
        (Some(endpoint()), Ok(Endpoint { replay: Some(replay()), ..endpoint() })),
    ] {
        assert_eq!(plan().settle(found.as_ref()), expected);
    }
}

#[test]
fn a_replay_has_the_first_100_000_events_and_says_whether_there_are_more() {
    for (found, events, has_more) in [
        (0, 0, false),
        (99_999, 99_999, false),
        (100_000, 100_000, false),
        (100_001, 100_000, true),
    ] {
        let counted = (1..=found).map(at).try_fold(ReplayBegun::NONE, ReplayBegun::count);
        let (ControlFlow::Continue(begun) | ControlFlow::Break(begun)) = counted;
        let reached = (events > 0).then(|| at(events));
        let events = usize::try_from(events).expect("it is small");
        assert_eq!(begun, ReplayBegun { events, reached, has_more });
    }
}

#[test]
fn a_replay_without_events_changes_nothing_of_its_endpoint() {
    let empty = ReplayPlan { replay: None, ..plan() };
    assert_eq!(empty.settle(Some(&endpoint())), Ok(endpoint()));
}

#[test]
fn a_portion_is_due_at_once_and_the_next_a_moment_later() {
    let events = vec![event(1), event(2)];
    let written = portion(events.clone(), PortionEnd::At(at(5)))
        .settle(Some(&under_way()), &BTreeSet::new())
        .expect("the replay is under way");
    let next = Replay { after: at(5), next_at: seconds(60).plus(EVERY), ..replay() };
    assert_eq!(written.endpoint, Endpoint { replay: Some(next), ..under_way() });
    let made: Vec<EventId> = written.deliveries.iter().map(|one| one.event_id).collect();
    assert_eq!(made, [events[0].id, events[1].id]);
    for (delivery, event) in written.deliveries.iter().zip(&events) {
        assert_eq!(delivery.status, DeliveryStatus::Pending);
        assert_eq!(
            (delivery.next_attempt_at, delivery.created_at),
            (Some(seconds(60)), seconds(60))
        );
        assert_eq!(delivery.body, event.body(), "byte for byte what was sent at first");
    }
}

#[test]
fn a_portion_whose_attempts_all_fail_does_not_disable_the_endpoint() {
    let attempts = 1 + RetrySchedule::default().delays().len();
    assert!(PORTION.get() * attempts < FAILURES_TO_SWITCH_OFF as usize);
}

#[test]
fn a_replay_waits_for_attempts_in_progress_until_one_succeeds_and_for_all_if_the_endpoint_is_down()
{
    let portion = now().minus(EVERY);
    let all = Timestamp::from_millis(i64::MAX);
    let in_progress = seconds(1).plus(ATTEMPT_LEASE);
    for (consecutive_failures, last_delivered_at, expected) in [
        (0, None, in_progress),
        (0, Some(portion.minus(Duration::from_millis(1))), in_progress),
        (0, Some(portion), seconds(1)),
        (DOWN_AFTER - 1, Some(portion), seconds(1)),
        (DOWN_AFTER, Some(portion), all),
        (DOWN_AFTER, None, all),
    ] {
        let endpoint = Endpoint { consecutive_failures, last_delivered_at, ..under_way() };
        assert_eq!(waits_for(&endpoint, seconds(1)), expected, "{endpoint:?}");
    }
}

#[test]
fn the_last_portion_ends_the_replay() {
    let last = portion(Vec::new(), PortionEnd::Last);
    let written = last.settle(Some(&under_way()), &BTreeSet::new()).expect("it is under way");
    assert_eq!(written.endpoint.replay, None);
}

#[test]
fn a_replay_does_not_write_waiting_deliveries_again() {
    let events = vec![event(1), event(2)];
    let waiting = BTreeSet::from([events[0].id]);
    let second = events[1].id;
    let written = portion(events, PortionEnd::Last).settle(Some(&under_way()), &waiting);
    let made = written.expect("it is under way").deliveries;
    assert_eq!(made.iter().map(|one| one.event_id).collect::<Vec<_>>(), [second]);
}

#[test]
fn a_kind_that_the_endpoint_no_longer_wants_is_left_out() {
    let other = Endpoint { events: [EventType::MessageFailed].into(), ..under_way() };
    let written = portion(vec![event(1)], PortionEnd::Last).settle(Some(&other), &BTreeSet::new());
    assert_eq!(written.expect("it is under way").deliveries, []);
}

#[test]
fn a_portion_of_another_replay_writes_nothing() {
    let further = Replay { after: at(4), ..replay() };
    for found in [None, Some(endpoint()), Some(Endpoint { replay: Some(further), ..under_way() })] {
        let plan = portion(vec![event(1)], PortionEnd::Last);
        assert_eq!(plan.settle(found.as_ref(), &BTreeSet::new()), None);
    }
}

#[test]
fn switching_an_endpoint_off_or_on_ends_its_replay_and_nothing_else_does() {
    let off = Endpoint { power: Power::Off(DisabledReason::ByOwner), ..under_way() };
    let change = EndpointChange::default;
    for (before, change, expected) in [
        (under_way(), change().power(Power::On), Some(replay())),
        (under_way(), change().url("https://example.com/other"), Some(replay())),
        (under_way(), change().power(Power::Off(DisabledReason::ByOwner)), None),
        (off, change().power(Power::On), None),
    ] {
        assert_eq!(change.apply(before, now()).unwrap().replay, expected);
    }
}

#[test]
fn a_replay_includes_the_events_after_it_of_its_types_and_times() {
    let span = Span { from: Some(seconds(0)), to: Some(seconds(10)) };
    let replay = Replay { span, kinds: Kinds::from_iter([EventType::MessageSent]), ..replay() };
    for (position, second, expected) in [
        (at(3), 5, false),
        (at(4), 5, true),
        (at(9), 0, true),
        (at(10), 5, false),
        (at(4), -1, false),
        (at(4), 10, false),
    ] {
        assert_eq!(replay.includes(position, &event(second)), expected, "{position:?} {second}");
    }
    let failed = EventData::MessageFailed(Box::new(message(MessageStatus::Failed)));
    let failed = Event::new(account_id(), failed, seconds(5), &mut ids());
    assert!(!replay.includes(at(4), &failed));
}

#[test]
fn a_replay_and_its_answer_read_the_same_after_they_were_kept() {
    let span = Span { from: Some(seconds(-9)), to: None };
    let replay = Replay { span, ..replay() };
    assert_eq!(Replay::from_stored(&replay.to_stored(), now()), Some(replay));
    assert_eq!(Replay::from_stored("{}", now()), None);
    for reached in [None, Some(at(7))] {
        let begun = ReplayBegun { events: 7, reached, has_more: true };
        assert_eq!(ReplayBegun::from(begun.kept()), begun);
    }
}

#[test]
fn a_replay_that_finds_few_events_in_a_long_log_says_how_far_it_read() {
    let few = ReplayBegun { events: 1, reached: Some(at(3)), has_more: false };
    assert_eq!(few.read(MOST_PAGES - 1, at(7)), ControlFlow::Continue(few));
    let ended = ReplayBegun { events: 1, reached: Some(at(7)), has_more: true };
    assert_eq!(few.read(MOST_PAGES, at(7)), ControlFlow::Break(ended));
}
