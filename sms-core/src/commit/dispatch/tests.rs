use super::*;
use crate::account::AccountStatus;
use crate::dispatch::{Lane, Lease, LeaseToken, NameStanding, Turns, Wanted};
use crate::message::{ErrorCode, MessageStatus};
use crate::phone::E164;
use crate::receipt::ReceiptStatus;
use crate::receipt::report::{EarlyReport, NetworkId};
use crate::route::{HandOver, RouteName};
use crate::samples::{account_id, ids, message, now, seconds, shared_number};

const OURS: LeaseToken = LeaseToken(1);

fn numbered(id: u128, status: MessageStatus) -> Message {
    Message { id: MessageId::from_u128(id), ..message(status) }
}

fn entry(message: &Message, lease: Option<LeaseToken>) -> QueueEntry {
    QueueEntry {
        message: message.id,
        account: account_id(),
        lane: Lane::Normal,
        claimable_at: seconds(-1),
        expires_at: seconds(3_600),
        attempt: 0,
        lease,
        unanswered: 0,
    }
}

#[test]
fn a_claim_writes_claimed_failed_and_leftover_messages() {
    let lease = Lease { token: OURS, until: seconds(30) };
    let wanted = Wanted::AllBut(Vec::new());
    let default_route = RouteName::new("simulator");
    let (turns, ids) = (Turns::default(), ids());
    let plan = ClaimPlan { at: now(), limit: 10, lease, wanted, turns, default_route, ids };
    let mut claim = Claim::new(plan);
    let due = [
        (numbered(1, MessageStatus::Queued), false, false),
        (numbered(2, MessageStatus::Queued), true, false),
        (numbered(3, MessageStatus::Queued), false, true),
        (numbered(4, MessageStatus::Delivered), false, false),
    ];
    for (message, opted_out, campaign_cancelled) in &due {
        claim.settle(ClaimFacts {
            message,
            entry: &entry(message, None),
            account_status: AccountStatus::Active,
            opted_out: *opted_out,
            campaign_cancelled: *campaign_cancelled,
            name: NameStanding::NotUsed,
            numbers: &[shared_number()],
        });
    }
    let (ClaimWrites { queue, senders, changes }, claimed) = claim.finish();
    assert_eq!(senders, []);
    assert_eq!((claimed.messages.len(), claimed.failed, claimed.cancelled), (1, 1, 1));
    let held: Vec<_> = queue.iter().map(|entry| (entry.message.as_u128(), entry.lease)).collect();
    assert_eq!(held, [(1, Some(OURS))]);
    let statuses: Vec<_> = changes.messages.iter().map(|write| write.message.status).collect();
    let expected = [MessageStatus::Sending, MessageStatus::Failed, MessageStatus::Cancelled];
    assert_eq!(statuses, expected);
    let unqueued: Vec<_> = changes.unqueued.iter().map(|id| id.as_u128()).collect();
    assert_eq!(unqueued, [2, 3, 4]);
    assert_eq!(changes.refunds[&account_id()].len(), 2);
    assert_eq!(changes.raised.len(), 1, "one plan names all deliveries of a claim");
}

fn outcome(message: &Message, result: HandOver) -> OutcomePlan {
    let (message, token) = (message.id, OURS);
    let (claimed_at, at) = (now(), now());
    OutcomePlan { message, token, claimed_at, result, at, held: None, ids: ids() }
}

fn submitted(name: &str) -> HandOver {
    HandOver::Submitted { parts: vec![NetworkId::new(RouteName::new("smpp"), name)] }
}

#[test]
fn outcomes_of_one_commit_build_on_each_other() {
    let (one, two) = (numbered(1, MessageStatus::Sending), numbered(2, MessageStatus::Sending));
    let (first, second) = (entry(&one, Some(OURS)), entry(&two, Some(OURS)));
    let later = || HandOver::TryLater { detail: "throttled".to_owned() };
    let refused = HandOver::Refused { error: ErrorCode::RejectedByNetwork, detail: None };
    let mut outcomes = Outcomes::new(EarlyReports::new());
    for (message, entry, result) in [
        (&one, &first, later()),
        (&one, &first, submitted("a")),
        (&two, &second, refused.clone()),
        (&two, &second, refused),
    ] {
        outcomes.settle(&mut outcome(message, result), Some((message, entry)));
    }
    outcomes.settle(&mut outcome(&one, submitted("b")), None);
    let (OutcomeWrites { queue, follow_ups, parts, beside, changes }, recorded) = outcomes.finish();
    let failed = OutcomeRecorded::Done(MessageStatus::Failed);
    let lost = OutcomeRecorded::LeaseLost;
    assert_eq!(recorded, [OutcomeRecorded::Retry, lost, failed, lost, lost]);
    assert_eq!(queue.iter().map(|entry| entry.attempt).collect::<Vec<_>>(), [1]);
    assert_eq!((follow_ups.len(), parts.len(), beside.len()), (0, 0, 0));
    let written: Vec<_> =
        changes.messages.iter().map(|write| (write.message.status, write.lines.len())).collect();
    assert_eq!(written, [(MessageStatus::Sending, 1), (MessageStatus::Failed, 1)]);
    assert_eq!(changes.unqueued, [two.id]);
    assert_eq!(changes.refunds[&account_id()].len(), 1, "once");
}

#[test]
fn an_early_report_is_used_by_one_outcome_only() {
    let (one, two) = (numbered(1, MessageStatus::Sending), numbered(2, MessageStatus::Sending));
    let report = EarlyReport { status: ReceiptStatus::Delivered, at: now(), numbers: Vec::new() };
    let early = [(NetworkId::new(RouteName::new("smpp"), "a"), report)].into();
    let mut outcomes = Outcomes::new(early);
    for message in [&one, &two] {
        let entry = entry(message, Some(OURS));
        outcomes.settle(&mut outcome(message, submitted("a")), Some((message, &entry)));
    }
    let (OutcomeWrites { parts, changes, .. }, recorded) = outcomes.finish();
    let done = [MessageStatus::Delivered, MessageStatus::Sent].map(OutcomeRecorded::Done);
    assert_eq!(recorded, done);
    assert_eq!(
        parts.iter().map(|part| (part.message, part.report)).collect::<Vec<_>>(),
        [(two.id, None)]
    );
    assert_eq!(changes.unqueued, [one.id, two.id]);
    assert_eq!(changes.raised.len(), 2);
}

#[test]
fn a_segment_moves_beside_its_id_for_one_to_another_recipient() {
    let another: E164 = "+447700900999".parse().unwrap();
    let one = numbered(1, MessageStatus::Sending);
    let two = Message { to: another, ..numbered(2, MessageStatus::Sending) };
    let id = NetworkId::new(RouteName::new("smpp"), "a");
    let early = |status, number| EarlyReport { status, at: now(), numbers: vec![number] };
    // That of the first waits beside the id, that of the second under it.
    let absent = ReceiptStatus::Undelivered(ErrorCode::AbsentSubscriber);
    let known = [
        (id.beside(one.to), early(absent, one.to)),
        (id.clone(), early(ReceiptStatus::Delivered, another)),
    ];
    let mut outcomes = Outcomes::new(known.into());
    for message in [&one, &two] {
        let entry = entry(message, Some(OURS));
        outcomes.settle(&mut outcome(message, submitted("a")), Some((message, &entry)));
    }
    let (OutcomeWrites { parts, beside, .. }, recorded) = outcomes.finish();
    let done = [MessageStatus::Undelivered, MessageStatus::Delivered].map(OutcomeRecorded::Done);
    assert_eq!(recorded, done);
    let kept: Vec<_> = parts.into_iter().map(|it| (it.id, it.message, it.report)).collect();
    assert_eq!(
        kept,
        [
            (id.clone(), two.id, Some(ReceiptStatus::Delivered)),
            (id.beside(one.to), one.id, Some(absent)),
        ]
    );
    assert_eq!(beside, [(id.beside(one.to), None), (id.beside(another), None)].into());
}
