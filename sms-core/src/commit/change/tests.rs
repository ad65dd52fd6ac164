use super::*;
use crate::campaign::counts::{Counts, STATUSES};
use crate::change::{News, change};
use crate::credits::Credits;
use crate::ids::CampaignId;
use crate::message::ErrorCode;
use crate::message::MessageStatus::{
    Cancelled, Delivered, Failed, Queued, Scheduled, Sending, Sent, Undelivered,
};
use crate::message::status::Trigger;
use crate::receipt::report::{NetworkId, NetworkReport};
use crate::receipt::{Receipt, ReceiptStatus};
use crate::route::RouteName;
use crate::samples::{account_id, credits, ids, message, message_id, now, seconds, test_message};
use crate::statistics::Counted;
use crate::time::Timestamp;

fn campaign() -> CampaignId {
    CampaignId::from_u128(9)
}

fn news(trigger: Trigger) -> News {
    match trigger {
        Trigger::Fail => News::failed(ErrorCode::Expired, now()),
        Trigger::Undeliver => News::undelivered(ErrorCode::UnknownSubscriber, now()),
        _ => News::new(trigger, now()),
    }
}

fn writes_of(message: &Message, trigger: Trigger) -> ChangeWrites {
    let (mut changes, mut ids) = (Changes::default(), ids());
    let changed = change(message, &news(trigger), &mut ids).expect("it changes");
    changes.add([changed], &ids);
    changes.finish()
}

/// What one trigger writes beside the message itself.
struct Expected {
    from: MessageStatus,
    trigger: Trigger,
    to: MessageStatus,
    leaves_queue: bool,
    contacts: bool,
    refunds: bool,
    counts: &'static [(Counted, i64)],
    events: &'static [&'static str],
}

const NOTHING: Expected = Expected {
    from: Queued,
    trigger: Trigger::Claim,
    to: Sending,
    leaves_queue: false,
    contacts: false,
    refunds: false,
    counts: &[],
    events: &[],
};

const LEFT: Expected = Expected {
    from: Sending,
    leaves_queue: true,
    contacts: true,
    counts: &[(Counted::Sent, 1)],
    events: &["message.sent"],
    ..NOTHING
};

const FAILED: Expected = Expected {
    trigger: Trigger::Fail,
    to: Failed,
    leaves_queue: true,
    refunds: true,
    counts: &[(Counted::Failed, 1)],
    events: &["message.failed"],
    ..NOTHING
};

const CANCELLED: Expected = Expected {
    trigger: Trigger::Cancel,
    to: Cancelled,
    leaves_queue: true,
    refunds: true,
    ..NOTHING
};

const REPORTED: Expected = Expected { from: Sent, leaves_queue: true, ..NOTHING };

/// Every step that a message takes, and every effect of it.
const STEPS: [Expected; 13] = [
    Expected { from: Scheduled, ..NOTHING },
    NOTHING,
    Expected { from: Scheduled, ..CANCELLED },
    CANCELLED,
    Expected { from: Scheduled, ..FAILED },
    FAILED,
    Expected { from: Sending, ..FAILED },
    Expected { trigger: Trigger::Leave, to: Sent, ..LEFT },
    Expected {
        trigger: Trigger::Deliver,
        to: Delivered,
        counts: &[(Counted::Sent, 1), (Counted::Delivered, 1)],
        events: &["message.sent", "message.delivered"],
        ..LEFT
    },
    Expected {
        trigger: Trigger::Undeliver,
        to: Undelivered,
        counts: &[(Counted::Sent, 1), (Counted::Failed, 1)],
        events: &["message.sent", "message.failed"],
        ..LEFT
    },
    Expected {
        trigger: Trigger::Deliver,
        to: Delivered,
        counts: &[(Counted::Delivered, 1)],
        events: &["message.delivered"],
        ..REPORTED
    },
    Expected {
        trigger: Trigger::Undeliver,
        to: Undelivered,
        counts: &[(Counted::Failed, 1)],
        events: &["message.failed"],
        ..REPORTED
    },
    Expected {
        from: Undelivered,
        trigger: Trigger::Deliver,
        to: Delivered,
        counts: &[(Counted::Delivered, 1), (Counted::Failed, -1)],
        events: &["message.delivered"],
        ..REPORTED
    },
];

/// One message fewer here and one more there.
fn moved(from: MessageStatus, to: MessageStatus) -> [i64; STATUSES] {
    Counts::STATUSES.map(|status| i64::from(status == to) - i64::from(status == from))
}

fn kinds(raised: &[Raised]) -> Vec<String> {
    let events = raised.iter().flat_map(|raised| &raised.events);
    events.map(|event| event.data.kind().to_string()).collect()
}

#[test]
fn each_step_of_a_message_writes_every_effect_that_it_has() {
    for step in &STEPS {
        let shown = format!("{} {:?}", step.from, step.trigger);
        let before = Message { campaign_id: Some(campaign()), ..message(step.from) };
        let ChangeWrites { messages, unqueued, contacted, refunds, counts, tally, raised } =
            writes_of(&before, step.trigger);
        let statuses: Vec<_> = messages.iter().map(|write| write.message.status).collect();
        assert_eq!(statuses, [step.to], "{shown}");
        let last = messages[0].lines.last().map(|line| (line.status, line.at));
        assert_eq!(last, Some((step.to, now())), "{shown}");
        assert_eq!(unqueued.contains(&before.id), step.leaves_queue, "{shown}");
        let texted = Contacted {
            number: before.from,
            person: before.to,
            account: before.account,
            at: now(),
        };
        assert_eq!(contacted, vec![texted; usize::from(step.contacts)], "{shown}");
        let refunded: Vec<_> = refunds
            .iter()
            .flat_map(|(account, drafts)| drafts.iter().map(|draft| (*account, draft.amount)))
            .collect();
        let back = (account_id(), before.credits.gain());
        assert_eq!(refunded, vec![back; usize::from(step.refunds)], "{shown}");
        assert_eq!(
            counts.iter().map(|delta| delta.by).collect::<Vec<_>>(),
            [moved(step.from, step.to)]
        );
        let waited = matches!(step.from, Scheduled | Queued | Sending);
        let settled = (waited && step.to != Sending).then(now);
        assert_eq!(counts[0].settled_at, settled, "{shown}");
        let counted: Vec<_> = tally.counts().map(|count| (count.counted, count.amount)).collect();
        assert_eq!(sorted(counted), sorted(step.counts.to_vec()), "{shown}");
        assert_eq!(kinds(&raised), step.events, "{shown}");
    }
}

fn sorted(mut counts: Vec<(Counted, i64)>) -> Vec<(Counted, i64)> {
    counts.sort_unstable();
    counts
}

#[test]
fn a_test_message_costs_counts_and_contacts_nothing_and_raises_the_same_events() {
    for step in &STEPS {
        let ChangeWrites { messages, contacted, refunds, counts, tally, raised, .. } =
            writes_of(&test_message(step.from), step.trigger);
        assert_eq!(messages.len(), 1);
        assert!(contacted.is_empty() && refunds.is_empty() && counts.is_empty());
        assert!(tally.is_empty());
        assert_eq!(kinds(&raised), step.events);
    }
}

fn receipt(status: ReceiptStatus, at: Timestamp) -> ReceiptPlan {
    let receipt = Receipt::new(message_id(), status);
    ReceiptPlan { receipt, at, ids: ids(), follow_up: None }
}

#[test]
fn receipts_of_one_commit_build_on_each_other_and_the_message_is_written_once() {
    let (found, mut changes) = (message(Sending), Changes::default());
    let undelivered = ReceiptStatus::Undelivered(ErrorCode::AbsentSubscriber);
    let mut record = |status, at| changes.receipt(&mut receipt(status, at), Some(&found));
    assert!(matches!(record(undelivered, seconds(1)), Recorded::Changed(_)));
    assert!(matches!(record(undelivered, seconds(2)), Recorded::Unchanged(_)));
    let Recorded::Changed(last) = record(ReceiptStatus::Delivered, seconds(3)) else {
        panic!("it changes");
    };
    assert_eq!(record_none(&mut changes), Recorded::NoSuchMessage);
    let ChangeWrites { messages, contacted, tally, raised, .. } = changes.finish();
    let [MessageWrite { message, lines }] = &messages[..] else { panic!("once") };
    assert_eq!((message, last.status), (&last, Delivered));
    assert_eq!(
        lines.iter().map(|line| line.status).collect::<Vec<_>>(),
        [Sent, Undelivered, Delivered]
    );
    assert_eq!(contacted.iter().map(|one| one.at).collect::<Vec<_>>(), [seconds(1)]);
    let counted: Vec<_> = tally.counts().map(|count| count.counted).collect();
    assert_eq!(sorted_names(counted), ["delivered", "sent"], "what no longer holds counts no more");
    assert_eq!(kinds(&raised), ["message.sent", "message.failed", "message.delivered"]);
    assert_eq!(raised.len(), 2, "each plan names its own deliveries");
}

fn record_none(changes: &mut Changes) -> Recorded {
    changes.receipt(&mut receipt(ReceiptStatus::Delivered, now()), None)
}

fn sorted_names(counted: Vec<Counted>) -> Vec<&'static str> {
    let mut names: Vec<_> = counted.into_iter().map(Counted::as_str).collect();
    names.sort_unstable();
    names
}

#[test]
fn a_report_on_the_last_segment_changes_the_message_and_any_other_is_only_kept() {
    let network_id = |name: &str| NetworkId::new(RouteName::new("smpp"), name);
    let part = |name: &str, report| SentSegment {
        id: network_id(name),
        message: message_id(),
        total: 2,
        report,
        at: now(),
    };
    let mut plan = ReportPlan {
        report: NetworkReport::new(network_id("b"), ReceiptStatus::Delivered),
        at: now(),
        ids: ids(),
    };
    let mut reported = |first| {
        let (mut changes, parts) = (Changes::default(), [part("a", first), part("b", None)]);
        let reported = changes.report(&mut plan, &network_id("b"), &message(Sent), &parts);
        (reported, changes.finish().messages.len())
    };
    assert_eq!(reported(None), (Reported::Kept, 0));
    let (whole, written) = reported(Some(ReceiptStatus::Delivered));
    assert!(matches!(whole, Reported::Changed(message) if message.status == Delivered));
    assert_eq!(written, 1);
}

#[test]
fn of_two_contacts_of_one_pair_the_later_is_written() {
    for order in [[1, 5], [5, 1]] {
        let (mut changes, mut ids) = (Changes::default(), ids());
        for (nth, at) in order.into_iter().enumerate() {
            let id = crate::ids::MessageId::from_u128(nth as u128);
            let text = Message { id, ..message(Sending) };
            let news = News::new(Trigger::Leave, seconds(at));
            changes.add(change(&text, &news, &mut ids), &ids);
        }
        let ChangeWrites { messages, contacted, .. } = changes.finish();
        assert_eq!(messages.len(), 2);
        assert_eq!(contacted.iter().map(|one| one.at).collect::<Vec<_>>(), [seconds(5)]);
    }
}

#[test]
fn no_change_writes_nothing() {
    let mut changes = Changes::default();
    changes.add(None, &ids());
    assert_eq!(changes.finish(), ChangeWrites::default());
    assert_eq!(credits(2), message(Queued).credits, "refunds above give something back");
    assert_ne!(credits(2), Credits::ZERO);
}
