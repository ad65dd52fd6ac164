use std::collections::BTreeSet;
use std::sync::LazyLock;

use proptest::prelude::*;

use super::MessageStatus::{
    Cancelled, Delivered, Failed, Queued, Received, Scheduled, Sending, Sent, Undelivered,
};
use super::outcome::*;
use super::*;
use crate::account::Mode;
use crate::message::Body;
use crate::receipt::ReceiptStatus;
use crate::receipt::report::{EarlyReport, EarlyReports, NetworkId};
use crate::route::{Comeback, HandOver, Look, Simulated};
use crate::samples::{
    account_id, ids, message, message_id, millis, now, our_number, person, seconds, shared_number,
    test_message,
};

mod given_back;
mod sender;
mod unanswered;

const OURS: LeaseToken = LeaseToken(1);
const ANOTHERS: LeaseToken = LeaseToken(2);

fn entry() -> QueueEntry {
    QueueEntry {
        message: message_id(),
        account: account_id(),
        lane: Lane::Normal,
        claimable_at: seconds(-1),
        expires_at: seconds(3_600),
        attempt: 0,
        lease: None,
        unanswered: 0,
    }
}

fn held(token: LeaseToken) -> QueueEntry {
    QueueEntry { lease: Some(token), claimable_at: seconds(30), ..entry() }
}

#[test]
fn every_due_message_is_counted_however_it_ended() {
    let claimed = Claimed { failed: 2, given_up: 3, cancelled: 4, ..Claimed::default() };
    assert_eq!(claimed.count(), 9);
}

// ---- claiming ------------------------------------------------------------------------------

fn claim_plan() -> ClaimPlan {
    let lease = Lease { token: OURS, until: seconds(30) };
    let wanted = Wanted::AllBut(Vec::new());
    let default_route = RouteName::new("default");
    let (turns, ids) = (Turns::default(), ids());
    ClaimPlan { at: now(), limit: 10, lease, wanted, turns, default_route, ids }
}

fn claim(facts: ClaimFacts<'_>) -> ClaimVerdict {
    claim_plan().settle(facts)
}

static NUMBERS: LazyLock<Vec<Number>> = LazyLock::new(|| vec![shared_number()]);

fn facts<'a>(message: &'a Message, entry: &'a QueueEntry) -> ClaimFacts<'a> {
    ClaimFacts {
        message,
        entry,
        account_status: AccountStatus::Active,
        opted_out: false,
        campaign_cancelled: false,
        name: NameStanding::NotUsed,
        numbers: &NUMBERS,
    }
}

/// The verdict in one word: take, cancel, drop, or the error of a failure.
fn in_a_word(verdict: ClaimVerdict) -> String {
    match verdict {
        ClaimVerdict::Take { .. } => "take".to_owned(),
        ClaimVerdict::Drop => "drop".to_owned(),
        ClaimVerdict::Cancel(changed) => {
            assert_eq!(changed.message.status, Cancelled);
            assert!(changed.refund.is_some() && changed.events.is_empty());
            "cancel".to_owned()
        }
        ClaimVerdict::Fail(changed) => {
            assert_eq!(changed.message.status, Failed);
            changed.message.error.unwrap().to_string()
        }
        ClaimVerdict::GiveUp(changed) => panic!("{changed:?}"),
    }
}

#[test]
fn a_claim_weighs_status_then_opt_out_then_suspension_then_validity() {
    let alive = entry();
    let expired = QueueEntry { expires_at: now(), ..entry() };
    for status in MessageStatus::ALL {
        let message = message(status);
        for opted_out in [false, true] {
            for account_status in AccountStatus::ALL {
                for (is_expired, entry) in [(false, &alive), (true, &expired)] {
                    let facts = ClaimFacts { account_status, opted_out, ..facts(&message, entry) };
                    let suspended = account_status == AccountStatus::Suspended;
                    let expected = match (status, opted_out, suspended, is_expired) {
                        (Sent | Delivered | Undelivered | Failed | Cancelled | Received, ..) => {
                            "drop"
                        }
                        (_, true, _, _) => "opted_out",
                        (_, _, true, _) => "account_suspended",
                        (_, _, _, true) => "expired",
                        (Scheduled | Queued | Sending, false, false, false) => "take",
                    };
                    let shown = format!("{status} {opted_out} {account_status} {is_expired}");
                    assert_eq!(in_a_word(claim(facts)), expected, "{shown}");
                }
            }
        }
    }
}

#[test]
fn a_message_of_a_cancelled_campaign_is_cancelled_whatever_else_stands_in_its_way() {
    let entry = entry();
    for status in MessageStatus::ALL {
        let message = message(status);
        for (opted_out, account_status) in
            [(false, AccountStatus::Active), (true, AccountStatus::Suspended)]
        {
            let known = ClaimFacts { account_status, opted_out, ..facts(&message, &entry) };
            let expected = match status {
                Scheduled | Queued | Sending => "cancel".to_owned(),
                _ => in_a_word(claim(known)),
            };
            let cancelled = ClaimFacts { campaign_cancelled: true, ..known };
            assert_eq!(in_a_word(claim(cancelled)), expected, "{status} {opted_out}");
        }
    }
}

#[test]
fn a_message_is_valid_until_just_before_it_expires() {
    let message = message(Queued);
    for (expires_at, expected) in [(millis(1), "take"), (now(), "expired"), (millis(-1), "expired")]
    {
        let entry = QueueEntry { expires_at, ..entry() };
        assert_eq!(in_a_word(claim(facts(&message, &entry))), expected, "{expires_at}");
    }
}

#[test]
fn a_claimed_message_steps_into_sending_under_the_lease() {
    for status in [Scheduled, Queued] {
        let message = message(status);
        let before = QueueEntry { attempt: 3, ..entry() };
        let ClaimVerdict::Take { changed, note: None, entry, .. } = claim(facts(&message, &before))
        else {
            panic!("{status} is not claimed")
        };
        let changed = changed.unwrap();
        assert_eq!((changed.message.status, changed.refund), (Sending, None));
        assert_eq!(changed.events, []);
        let expected =
            QueueEntry { claimable_at: seconds(30), lease: Some(OURS), attempt: 3, ..before };
        assert_eq!(entry, expected);
    }
}

#[test]
fn a_message_whose_lease_ran_out_is_claimed_without_a_second_step_and_its_timeline_says_so() {
    let message = message(Sending);
    let before = held(ANOTHERS);
    let ClaimVerdict::Take { changed, note, text, entry, new_sender: None } =
        claim(facts(&message, &before))
    else {
        panic!("not claimed")
    };
    assert_eq!((changed, text.message), (None, message.id));
    assert_eq!(entry.lease, Some(OURS));
    let line = note.unwrap();
    assert_eq!((line.status, line.at), (Sending, now()));
    assert!(line.detail.unwrap().ends_with("it may be sent twice"));
}

#[test]
fn a_message_that_is_retried_is_claimed_without_a_note() {
    // The outcome of its last hand-over is on record: no worker holds it.
    let (message, before) = (message(Sending), QueueEntry { attempt: 1, ..entry() });
    let verdict = claim(facts(&message, &before));
    assert!(matches!(verdict, ClaimVerdict::Take { changed: None, note: None, .. }));
}

#[test]
fn a_route_gets_what_it_needs_to_send_a_message() {
    let message = Message { sender: Some("BISTRO".to_owned()), ..message(Queued) };
    let before = QueueEntry { attempt: 2, ..entry() };
    let ClaimVerdict::Take { text, .. } = claim(facts(&message, &before)) else {
        panic!("not claimed")
    };
    let expected = OutboundMessage {
        message: message.id,
        to: person(),
        from: our_number(),
        sender: Some("BISTRO".to_owned()),
        body: Body::new("Your table is ready"),
        encoding: message.encoding,
        segments: message.segments,
        route: RouteName::new("simulator"),
        mode: Mode::Live,
        lane: Lane::Normal,
        attempt: 2,
        expires_at: before.expires_at,
        look: Look::at(now()),
    };
    assert_eq!(text, expected);
}

#[test]
fn a_message_that_must_not_be_sent_is_refunded_unless_it_cost_nothing() {
    let entry = entry();
    for status in [Scheduled, Queued, Sending] {
        for (message, refunded) in [(message(status), true), (test_message(status), false)] {
            let facts = ClaimFacts { opted_out: true, ..facts(&message, &entry) };
            let ClaimVerdict::Fail(changed) = claim(facts) else { panic!("{status} is claimed") };
            assert_eq!(changed.refund.is_some(), refunded);
            assert_eq!(changed.message.times.failed_at, Some(now()));
            assert_eq!(changed.events.len(), 1);
        }
    }
}

// ---- outcomes ------------------------------------------------------------------------------

fn outcome(result: HandOver) -> OutcomePlan {
    OutcomePlan {
        message: message_id(),
        token: OURS,
        claimed_at: now(),
        result,
        at: now(),
        held: None,
        ids: ids(),
    }
}

fn record(result: HandOver, found: Option<(&Message, &QueueEntry)>) -> OutcomeVerdict {
    outcome(result).settle(found, &EarlyReports::new())
}

fn taken() -> HandOver {
    HandOver::Taken { simulated: Vec::new() }
}

fn refused() -> HandOver {
    let detail = Some("ESME_RINVDSTADR".to_owned());
    HandOver::Refused { error: ErrorCode::RejectedByNetwork, detail }
}

fn later() -> HandOver {
    HandOver::TryLater { detail: "throttled".to_owned() }
}

fn done(result: HandOver, message: &Message) -> (Changed, Vec<FollowUp>) {
    match record(result, Some((message, &held(OURS)))) {
        OutcomeVerdict::Done { mut changes, follow_ups, parts, .. } => {
            assert_eq!((changes.len(), parts), (1, Vec::new()));
            (changes.remove(0), follow_ups)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_accepted_hand_over_marks_the_message_sent() {
    let (changed, follow_ups) = done(taken(), &message(Sending));
    assert_eq!((changed.message.status, changed.message.times.sent_at), (Sent, Some(now())));
    assert_eq!((changed.refund, follow_ups), (None, Vec::new()));
}

#[test]
fn a_refused_message_fails_and_is_refunded_with_the_networks_explanation() {
    let (changed, follow_ups) = done(refused(), &message(Sending));
    assert_eq!(changed.message.status, Failed);
    assert_eq!(changed.message.error, Some(ErrorCode::RejectedByNetwork));
    assert_eq!(changed.timeline[0].detail.as_deref(), Some("ESME_RINVDSTADR"));
    assert!(changed.refund.is_some());
    assert_eq!(follow_ups, []);
    let (changed, _) = done(refused(), &test_message(Sending));
    assert_eq!(changed.refund, None);
}

#[test]
fn accepted_segments_are_kept_with_their_early_reports() {
    let id = |text: &str| NetworkId::new(RouteName::new("main"), text);
    let submitted = HandOver::Submitted { parts: vec![id("a"), id("b")] };
    let plan = outcome(submitted);
    let message = message(Sending);
    let settle = |early: &[(NetworkId, ReceiptStatus)]| {
        let report = |status| EarlyReport { status, at: now(), numbers: Vec::new() };
        let early = early.iter().map(|(id, status)| (id.clone(), report(*status))).collect();
        match plan.clone().settle(Some((&message, &held(OURS))), &early) {
            OutcomeVerdict::Done { changes, parts, .. } => (changes, parts),
            other => panic!("{other:?}"),
        }
    };
    let delivered = ReceiptStatus::Delivered;
    let (changes, parts) = settle(&[(id("b"), delivered), (id("c"), delivered)]);
    assert_eq!((changes.len(), changes[0].message.status), (1, Sent));
    let reports: Vec<_> = parts.iter().map(|part| (part.total, part.report)).collect();
    assert_eq!(reports, [(2, None), (2, Some(delivered))]);
    let (changes, _) = settle(&[(id("b"), delivered), (id("a"), delivered)]);
    let statuses: Vec<_> = changes.iter().map(|changed| changed.message.status).collect();
    assert_eq!(statuses, [Sent, MessageStatus::Delivered]);
    let events: BTreeSet<_> =
        changes.iter().flat_map(|changed| &changed.events).map(|event| event.id).collect();
    assert_eq!(events.len(), 2, "each event has a separate id");
}

#[test]
fn an_abandoned_message_is_undelivered_and_not_refunded() {
    let detail = "1 of 2 parts left".to_owned();
    let given_up = HandOver::Abandoned { error: ErrorCode::NetworkError, detail };
    let (changed, _) = done(given_up, &message(Sending));
    assert_eq!(changed.message.status, MessageStatus::Undelivered);
    assert_eq!(changed.message.error, Some(ErrorCode::NetworkError));
    assert_eq!((changed.refund, changed.message.times.sent_at), (None, Some(now())));
}

#[test]
fn a_simulated_follow_up_is_due_its_delay_after_the_message_was_sent() {
    let receipt = |after, status| Simulated {
        after: Duration::from_secs(after),
        what: Comeback::Receipt(status),
    };
    let reply =
        Simulated { after: Duration::from_secs(3), what: Comeback::Reply(Body::new("STOP")) };
    let simulated = vec![receipt(2, ReceiptStatus::Delivered), reply.clone()];
    let (changed, follow_ups) = done(HandOver::Taken { simulated }, &test_message(Sending));
    let follow_up = |id, after, what| FollowUp {
        id,
        message: message_id(),
        number: our_number(),
        person: person(),
        route: RouteName::test(),
        due_at: seconds(after),
        what,
    };
    let expected = [
        follow_up(follow_ups[0].id, 2, Comeback::Receipt(ReceiptStatus::Delivered)),
        follow_up(follow_ups[1].id, 3, reply.what),
    ];
    assert_eq!(follow_ups, expected);
    assert_eq!(changed.message.times.sent_at, Some(now()));
    assert!(follow_ups[0].id < follow_ups[1].id);
}

#[test]
fn a_worker_that_lost_the_message_changes_nothing() {
    let message = message(Sending);
    for result in [taken(), refused(), later()] {
        for entry in [held(ANOTHERS), entry()] {
            let verdict = record(result.clone(), Some((&message, &entry)));
            assert_eq!(verdict, OutcomeVerdict::LeaseLost);
        }
        assert_eq!(record(result, None), OutcomeVerdict::LeaseLost, "it left the queue");
    }
}

#[test]
fn an_outcome_after_the_lease_counts_if_no_other_worker_claimed_the_message() {
    let ran_out = QueueEntry { claimable_at: seconds(-5), ..held(OURS) };
    let verdict = record(taken(), Some((&message(Sending), &ran_out)));
    assert!(matches!(verdict, OutcomeVerdict::Done { .. }));
}

#[test]
fn a_late_outcome_does_not_change_a_message_past_sending() {
    for status in [Sent, Delivered, Undelivered, Failed, Cancelled, Received] {
        for result in [taken(), refused(), later()] {
            let shown = format!("{status} {result:?}");
            let verdict = record(result, Some((&message(status), &held(OURS))));
            assert_eq!(verdict, OutcomeVerdict::LeaseLost, "{shown}");
        }
    }
}

// ---- trying again --------------------------------------------------------------------------

fn retried(entry: &QueueEntry) -> (QueueEntry, Option<TimelineEntry>) {
    match record(later(), Some((&message(Sending), entry))) {
        OutcomeVerdict::Retry { entry, note } => (entry, note),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_hand_over_is_retried_within_5_seconds_then_at_doubling_intervals_up_to_5_minutes() {
    let table = [4, 8, 16, 32, 64, 128, 256, 300, 300];
    for (attempt, expected) in (0..).zip(table) {
        assert_eq!(retry_delay(attempt), Duration::from_secs(expected), "attempt {attempt}");
        let (entry, _) = retried(&QueueEntry { attempt, ..held(OURS) });
        assert_eq!(entry.claimable_at, seconds(expected.cast_signed()), "attempt {attempt}");
    }
    for attempt in [31, 32, 33, 1_000, u32::MAX] {
        assert_eq!(retry_delay(attempt), Duration::from_mins(5), "attempt {attempt}");
    }
}

#[test]
fn a_message_to_be_retried_is_free_for_any_worker_and_counts_the_attempt() {
    let before = QueueEntry { attempt: 1, ..held(OURS) };
    let (entry, _) = retried(&before);
    let expected = QueueEntry { attempt: 2, lease: None, claimable_at: seconds(8), ..before };
    assert_eq!(entry, expected);
    let (entry, _) = retried(&QueueEntry { attempt: u32::MAX, ..held(OURS) });
    assert_eq!(entry.attempt, u32::MAX);
}

#[test]
fn a_message_is_claimable_when_it_expires_and_fails_then() {
    for (expires_at, again_at) in [
        (millis(4_001), seconds(4)),
        (seconds(4), seconds(4)),
        (millis(3_999), millis(3_999)),
        (seconds(-1), seconds(-1)),
    ] {
        let (entry, _) = retried(&QueueEntry { expires_at, ..held(OURS) });
        assert_eq!(entry.claimable_at, again_at);
    }
    let message = message(Sending);
    let (entry, _) = retried(&QueueEntry { expires_at: seconds(3), ..held(OURS) });
    let lease = Lease { token: ANOTHERS, until: seconds(33) };
    let at = entry.claimable_at;
    let verdict = ClaimPlan { at, lease, ..claim_plan() }.settle(facts(&message, &entry));
    assert_eq!(in_a_word(verdict), "expired");
}

#[test]
fn the_timeline_shows_only_the_first_five_retries() {
    for attempt in 0..10 {
        let (_, note) = retried(&QueueEntry { attempt, ..held(OURS) });
        let expected = (attempt < 5).then(|| TimelineEntry {
            status: Sending,
            detail: Some("throttled; will be retried".to_owned()),
            at: now(),
        });
        assert_eq!(note, expected, "attempt {attempt}");
    }
}

proptest! {
    #[test]
    fn waits_never_shrink_and_never_pass_five_minutes(attempt in any::<u32>()) {
        let delay = retry_delay(attempt);
        prop_assert!(delay >= Duration::from_secs(4) && delay <= Duration::from_mins(5));
        prop_assert!(retry_delay(attempt.saturating_add(1)) >= delay);
    }

    #[test]
    fn a_message_that_is_never_accepted_is_retried_until_it_expires_and_then_fails(
        validity in 1i64..100_000,
    ) {
        let message = message(Sending);
        let expires_at = seconds(validity);
        let mut entry = QueueEntry { claimable_at: now(), expires_at, ..entry() };
        let end = loop {
            let at = entry.claimable_at;
            let lease = Lease { token: OURS, until: at.plus(LEASE) };
            let mut claim = ClaimPlan { at, lease, ..claim_plan() };
            entry = match claim.settle(facts(&message, &entry)) {
                ClaimVerdict::Take { entry, .. } => entry,
                ClaimVerdict::Fail(changed) => break changed,
                ClaimVerdict::GiveUp(_) | ClaimVerdict::Cancel(_) | ClaimVerdict::Drop => {
                    panic!("lost")
                }
            };
            let mut plan = OutcomePlan { at, claimed_at: at, ..outcome(later()) };
            entry = match plan.settle(Some((&message, &entry)), &EarlyReports::new()) {
                OutcomeVerdict::Retry { entry, .. } => entry,
                other => panic!("{other:?}"),
            };
            prop_assert!(entry.claimable_at > at && entry.claimable_at <= expires_at);
        };
        prop_assert_eq!(end.message.error, Some(ErrorCode::Expired));
        prop_assert_eq!(end.message.times.failed_at, Some(expires_at));
        prop_assert!(end.refund.is_some());
    }
}
