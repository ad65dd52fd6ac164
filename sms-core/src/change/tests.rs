use proptest::prelude::*;

use super::MessageStatus::{
    Cancelled, Delivered, Failed, Queued, Received, Scheduled, Sending, Sent, Undelivered,
};
use super::*;
use crate::account::Mode;
use crate::ids::LedgerEntryId;
use crate::message::Times;
use crate::samples::{credits, ids, message, now, seconds, test_message};

const TRIGGERS: [Trigger; 7] = [
    Trigger::Claim,
    Trigger::Leave,
    Trigger::Fail,
    Trigger::Deliver,
    Trigger::Undeliver,
    Trigger::Cancel,
    Trigger::CallOff,
];

/// News as it occurs in practice: failures carry an error.
fn news(trigger: Trigger, at: Timestamp) -> News {
    match trigger {
        Trigger::Fail => News::failed(ErrorCode::Expired, at),
        Trigger::Undeliver => News::undelivered(ErrorCode::UnknownSubscriber, at),
        _ => News::new(trigger, at),
    }
}

fn changed(message: &Message, trigger: Trigger) -> Option<Changed> {
    change(message, &news(trigger, now()), &mut ids())
}

fn kinds(changed: &Changed) -> Vec<String> {
    changed.events.iter().map(|event| event.data.kind().to_string()).collect()
}

fn snapshot(event: &Event) -> &Message {
    match &event.data {
        EventData::MessageSent(message)
        | EventData::MessageDelivered(message)
        | EventData::MessageFailed(message)
        | EventData::MessageReceived(message) => message,
        other => panic!("{} is not about a message", other.kind()),
    }
}

/// What a step does, field by field.
struct Expected {
    from: MessageStatus,
    trigger: Trigger,
    /// The statuses that the message enters, in order.
    path: &'static [MessageStatus],
    events: &'static [&'static str],
    refunded: bool,
}

const fn step(
    from: MessageStatus,
    trigger: Trigger,
    path: &'static [MessageStatus],
    events: &'static [&'static str],
) -> Expected {
    Expected { from, trigger, path, events, refunded: false }
}

const fn refunded(
    from: MessageStatus,
    trigger: Trigger,
    path: &'static [MessageStatus],
    events: &'static [&'static str],
) -> Expected {
    Expected { from, trigger, path, events, refunded: true }
}

/// Every step that changes something; all others change nothing.
const STEPS: [Expected; 16] = [
    step(Scheduled, Trigger::Claim, &[Sending], &[]),
    step(Queued, Trigger::Claim, &[Sending], &[]),
    refunded(Scheduled, Trigger::Cancel, &[Cancelled], &[]),
    refunded(Queued, Trigger::Cancel, &[Cancelled], &[]),
    refunded(Scheduled, Trigger::CallOff, &[Cancelled], &[]),
    refunded(Queued, Trigger::CallOff, &[Cancelled], &[]),
    refunded(Sending, Trigger::CallOff, &[Cancelled], &[]),
    refunded(Scheduled, Trigger::Fail, &[Failed], &["message.failed"]),
    refunded(Queued, Trigger::Fail, &[Failed], &["message.failed"]),
    refunded(Sending, Trigger::Fail, &[Failed], &["message.failed"]),
    step(Sending, Trigger::Leave, &[Sent], &["message.sent"]),
    step(Sending, Trigger::Deliver, &[Sent, Delivered], &["message.sent", "message.delivered"]),
    step(Sending, Trigger::Undeliver, &[Sent, Undelivered], &["message.sent", "message.failed"]),
    step(Sent, Trigger::Deliver, &[Delivered], &["message.delivered"]),
    step(Sent, Trigger::Undeliver, &[Undelivered], &["message.failed"]),
    step(Undelivered, Trigger::Deliver, &[Delivered], &["message.delivered"]),
];

fn expected(from: MessageStatus, trigger: Trigger) -> Option<&'static Expected> {
    STEPS.iter().find(|step| step.from == from && step.trigger == trigger)
}

/// The message with the fields that the specification gives it in this status.
fn entered(before: &Message, path: &[MessageStatus], error: Option<ErrorCode>) -> Message {
    let mut message = before.clone();
    for status in path {
        message.status = *status;
        let at = Some(now());
        let times = message.times;
        message.times = match status {
            Sent => Times { sent_at: at, ..times },
            Delivered => Times { delivered_at: at, failed_at: None, ..times },
            Undelivered | Failed => Times { failed_at: at, ..times },
            Cancelled => Times { cancelled_at: at, ..times },
            _ => times,
        };
        message.error = match status {
            Undelivered | Failed => error,
            Delivered => None,
            _ => message.error,
        };
    }
    message
}

#[test]
fn every_trigger_has_its_specified_effects_in_every_status() {
    for from in MessageStatus::ALL {
        for trigger in TRIGGERS {
            let shown = format!("{from} {trigger:?}");
            let before = message(from);
            let Some(expected) = expected(from, trigger) else {
                assert_eq!(changed(&before, trigger), None, "{shown}");
                continue;
            };
            let changed = changed(&before, trigger).expect(&shown);
            let after = entered(&before, expected.path, news(trigger, now()).error);
            assert_eq!(changed.message, after, "{shown}");
            let told: Vec<MessageStatus> =
                changed.timeline.iter().map(|line| line.status).collect();
            assert_eq!(told, expected.path, "{shown}");
            assert!(changed.timeline.iter().all(|line| line.at == now()), "{shown}");
            assert_eq!(kinds(&changed), expected.events, "{shown}");
            assert_eq!(changed.refund.is_some(), expected.refunded, "{shown}");
        }
    }
}

#[test]
fn a_refund_returns_the_price_of_the_message_and_names_it() {
    let before = message(Queued);
    for trigger in [Trigger::Fail, Trigger::Cancel] {
        let refund = changed(&before, trigger).unwrap().refund.unwrap();
        let expected = Draft {
            id: refund.id,
            cause: Cause::Refund { message: before.id, batch: before.batch_id, campaign: None },
            amount: credits(2).gain(),
            note: None,
            at: now(),
        };
        assert_eq!(refund, expected);
        let still_told = changed(&before, trigger).unwrap().message.credits;
        assert_eq!(still_told, credits(2), "the message still shows what was charged");
    }
}

#[test]
fn a_free_message_is_never_refunded() {
    for from in MessageStatus::ALL {
        for trigger in TRIGGERS {
            for free in [test_message(from), Message { credits: Credits::ZERO, ..message(from) }] {
                let refund = changed(&free, trigger).and_then(|changed| changed.refund);
                assert_eq!(refund, None, "{from} {trigger:?}");
            }
        }
    }
}

#[test]
fn test_messages_raise_the_events_of_live_ones() {
    for step in &STEPS {
        let changed = changed(&test_message(step.from), step.trigger).unwrap();
        assert_eq!(kinds(&changed), step.events, "{} {:?}", step.from, step.trigger);
        assert!(changed.events.iter().all(|event| snapshot(event).mode == Mode::Test));
    }
}

#[test]
fn a_receipt_before_the_recorded_hand_over_marks_the_message_sent_first() {
    for (trigger, kind, status) in [
        (Trigger::Deliver, "message.delivered", Delivered),
        (Trigger::Undeliver, "message.failed", Undelivered),
    ] {
        let changed = changed(&message(Sending), trigger).unwrap();
        assert_eq!(kinds(&changed), ["message.sent", kind]);
        let sent = snapshot(&changed.events[0]);
        assert_eq!((sent.status, sent.times.sent_at), (Sent, Some(now())));
        assert_eq!((sent.times.delivered_at, sent.times.failed_at, sent.error), (None, None, None));
        let last = snapshot(&changed.events[1]);
        assert_eq!((last.status, last), (status, &changed.message));
        assert!(changed.events[0].id < changed.events[1].id, "ids tell the order");
    }
}

#[test]
fn an_event_shows_the_message_after_the_change_at_the_time_of_the_news() {
    for step in &STEPS {
        let changed = changed(&message(step.from), step.trigger).unwrap();
        for event in &changed.events {
            assert_eq!((event.account, event.created_at), (changed.message.account, now()));
        }
        if let Some(last) = changed.events.last() {
            assert_eq!(snapshot(last), &changed.message);
        }
    }
}

#[test]
fn a_sent_live_message_routes_answers_to_its_account_and_a_test_message_never_does() {
    for step in &STEPS {
        let shown = format!("{} {:?}", step.from, step.trigger);
        let before = message(step.from);
        let texted = Contacted {
            number: before.from,
            person: before.to,
            account: before.account,
            at: now(),
        };
        let expected = step.path.contains(&Sent).then_some(texted);
        assert_eq!(changed(&before, step.trigger).unwrap().texted(), expected, "{shown}");
        let test = changed(&test_message(step.from), step.trigger).unwrap();
        assert_eq!(test.texted(), None, "{shown}");
    }
}

#[test]
fn a_late_delivery_clears_the_error() {
    let before = message(Undelivered);
    assert!(before.error.is_some() && before.times.failed_at.is_some());
    let after = changed(&before, Trigger::Deliver).unwrap().message;
    assert_eq!((after.error, after.times.failed_at), (None, None));
    assert_eq!(after.times.delivered_at, Some(now()));
    assert_eq!(after.times.sent_at, before.times.sent_at);
}

#[test]
fn a_failure_without_an_error_is_a_network_error() {
    for (from, trigger) in [(Queued, Trigger::Fail), (Sent, Trigger::Undeliver)] {
        let changed = change(&message(from), &News::new(trigger, now()), &mut ids()).unwrap();
        assert_eq!(changed.message.error, Some(ErrorCode::NetworkError));
    }
}

#[test]
fn the_last_line_of_the_timeline_shows_the_detail_else_the_error() {
    let details = |news: &News| -> Vec<Option<String>> {
        let changed = change(&message(Sending), news, &mut ids()).unwrap();
        changed.timeline.into_iter().map(|line| line.detail).collect()
    };
    let absent = News::undelivered(ErrorCode::AbsentSubscriber, now());
    let own = Some("switched off since Friday".to_owned());
    assert_eq!(details(&News::new(Trigger::Leave, now())), [None]);
    assert_eq!(details(&News::new(Trigger::Deliver, now())), [None, None]);
    let message = ErrorCode::AbsentSubscriber.message().to_owned();
    assert_eq!(details(&absent), [None, Some(message)]);
    assert_eq!(details(&absent.with_detail(own.clone())), [None, own]);
}

fn any_trigger() -> impl Strategy<Value = Trigger> {
    prop::sample::select(TRIGGERS.to_vec())
}

proptest! {
    #[test]
    fn any_history_of_a_message_follows_the_specification(
        scheduled in any::<bool>(),
        triggers in prop::collection::vec((any_trigger(), 0i64..60), 0..30),
    ) {
        let mut text = message(if scheduled { Scheduled } else { Queued });
        let (mut ids, mut at) = (ids(), now());
        let mut refunds = 0;
        let mut drawn: Vec<u128> = Vec::new();
        for (trigger, pause) in triggers {
            at = Timestamp::from_millis(at.as_millis() + pause);
            let Some(changed) = change(&text, &news(trigger, at), &mut ids) else {
                prop_assert!(expected(text.status, trigger).is_none());
                continue;
            };
            let step = expected(text.status, trigger);
            let last = step.and_then(|step| step.path.last().copied());
            prop_assert_eq!(Some(changed.message.status), last);
            let after_all = (text.status, changed.message.status) == (Undelivered, Delivered);
            prop_assert!(!text.status.is_final() || after_all, "final states stay");
            refunds += u32::from(changed.refund.is_some());
            drawn.extend(changed.refund.iter().map(|refund| refund.id.as_u128()));
            drawn.extend(changed.events.iter().map(|event| event.id.as_u128()));
            text = changed.message;
            let refunded = matches!(text.status, Failed | Cancelled);
            prop_assert_eq!(refunds, u32::from(refunded), "once, and only then");
        }
        let Times { sent_at, delivered_at, failed_at, cancelled_at, .. } = text.times;
        prop_assert!(delivered_at.is_none() || sent_at.is_some() && sent_at <= delivered_at);
        prop_assert_eq!(delivered_at.is_some(), text.status == Delivered);
        prop_assert_eq!(failed_at.is_some(), matches!(text.status, Failed | Undelivered));
        prop_assert_eq!(text.error.is_some(), failed_at.is_some());
        prop_assert_eq!(cancelled_at.is_some(), text.status == Cancelled);
        prop_assert_eq!(sent_at.is_some(), matches!(text.status, Sent | Delivered | Undelivered));
        prop_assert!(drawn.windows(2).all(|pair| pair[0] < pair[1]), "no id twice");
    }

    #[test]
    fn nothing_but_status_error_and_times_ever_changes(
        from in prop::sample::select(MessageStatus::ALL.to_vec()),
        trigger in any_trigger(),
    ) {
        let before = message(from);
        if let Some(changed) = changed(&before, trigger) {
            let Message { status, error, times, .. } = before.clone();
            prop_assert_eq!(Message { status, error, times, ..changed.message }, before);
        }
    }
}

#[test]
fn an_inbound_message_never_changes() {
    for trigger in TRIGGERS {
        assert_eq!(changed(&message(Received), trigger), None);
    }
}

#[test]
fn a_change_draws_ids_only_for_what_it_makes() {
    let untouched: LedgerEntryId = ids().next();
    let mut ids = ids();
    let claim = news(Trigger::Claim, seconds(1));
    assert!(change(&message(Queued), &claim, &mut ids).is_some());
    assert_eq!(ids.next::<crate::ids::LedgerEntryKind>(), untouched);
}

#[test]
fn reports_out_of_order_never_move_the_times_of_a_message_back() {
    let sent = {
        let news = News::new(Trigger::Leave, seconds(10));
        change(&message(Sending), &news, &mut ids()).unwrap().message
    };
    let early = News::new(Trigger::Deliver, seconds(5));
    let delivered = change(&sent, &early, &mut ids()).unwrap();
    assert_eq!(delivered.message.times.delivered_at, Some(seconds(10)));
    assert_eq!(delivered.timeline[0].at, seconds(10));
    let scheduled = Message { scheduled_at: Some(seconds(60)), ..message(Sending) };
    let before_due = News::new(Trigger::Deliver, seconds(59));
    let left = change(&scheduled, &before_due, &mut ids()).unwrap().message;
    assert_eq!(left.times.sent_at, Some(seconds(60)));
}
