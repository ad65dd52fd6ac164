//! Hand-overs without an answer: the message may have been sent.

use super::*;

fn perhaps() -> HandOver {
    HandOver::Unanswered { detail: "no answer came".to_owned() }
}

fn left_perhaps() -> QueueEntry {
    QueueEntry { unanswered: 1, ..held(OURS) }
}

fn undelivered(changed: &Changed) -> (ErrorCode, &str) {
    let message = &changed.message;
    assert_eq!((message.status, changed.refund.as_ref()), (Undelivered, None));
    assert_eq!((message.times.sent_at, message.times.failed_at), (Some(now()), Some(now())));
    assert_eq!(changed.events.len(), 2, "that it was sent, and that it was not delivered");
    let last = changed.timeline.last().unwrap();
    (message.error.unwrap(), last.detail.as_deref().unwrap())
}

#[test]
fn a_message_is_retried_three_times_without_an_answer_and_then_given_up() {
    let message = message(Sending);
    // However often it was throttled before.
    for attempt in [0, 400] {
        let mut entry = QueueEntry { attempt, ..held(OURS) };
        for unanswered in 1..=3 {
            let OutcomeVerdict::Retry { entry: next, note } =
                record(perhaps(), Some((&message, &entry)))
            else {
                panic!("not retried after {unanswered}")
            };
            let told = note.unwrap().detail.unwrap();
            assert_eq!(told, "no answer came; will be retried");
            assert_eq!((next.unanswered, next.left()), (unanswered, Left::Perhaps));
            assert_eq!((next.attempt, next.lease), (entry.attempt + 1, None));
            entry = QueueEntry { lease: Some(OURS), ..next };
        }
        let OutcomeVerdict::Done { changes, .. } = record(perhaps(), Some((&message, &entry)))
        else {
            panic!("retried")
        };
        let told = "no answer came; will not be retried";
        assert_eq!(undelivered(&changes[0]), (ErrorCode::NetworkError, told));
    }
}

#[test]
fn a_message_that_may_have_been_sent_is_undelivered_and_not_refunded_if_it_cannot_be_retried() {
    let message = message(Sending);
    let (alive, expired) = (left_perhaps(), QueueEntry { expires_at: now(), ..left_perhaps() });
    let free = facts(&message, &alive);
    let suspended = ClaimFacts { account_status: AccountStatus::Suspended, ..free };
    let network_error = ErrorCode::NetworkError;
    for (facts, error, why) in [
        (ClaimFacts { opted_out: true, ..free }, network_error, "the number has since opted out"),
        (suspended, network_error, "the account has since been suspended"),
        (facts(&message, &expired), ErrorCode::Expired, "the message is no longer valid"),
        (
            ClaimFacts { name: NameStanding::NotApproved, ..free },
            network_error,
            "the sender name has since been rejected",
        ),
        (
            ClaimFacts { numbers: &[], ..free },
            network_error,
            "the account has no number to send from any more",
        ),
    ] {
        let ClaimVerdict::GiveUp(changed) = claim(facts) else { panic!("{why}") };
        let told = format!("it may have been sent; {why}");
        assert_eq!(undelivered(&changed), (error, told.as_str()));
    }
    assert_eq!(in_a_word(claim(free)), "take");
}

#[test]
fn a_message_that_may_have_been_sent_and_is_refused_later_is_undelivered_and_not_refunded() {
    let message = message(Sending);
    let silent = HandOver::Refused { error: ErrorCode::UnknownSubscriber, detail: None };
    for (result, error, said) in [
        (refused(), ErrorCode::RejectedByNetwork, "ESME_RINVDSTADR"),
        (silent, ErrorCode::UnknownSubscriber, "The network knows no such number."),
    ] {
        let OutcomeVerdict::Done { changes, .. } =
            record(result, Some((&message, &left_perhaps())))
        else {
            panic!("not done")
        };
        let told = format!("an earlier attempt may have sent it; {said}");
        assert_eq!(undelivered(&changes[0]), (error, told.as_str()));
    }
}

#[test]
fn claims_and_refusals_do_not_forget_that_a_message_may_have_been_sent() {
    let message = message(Sending);
    let (entry, _) = retried(&left_perhaps());
    assert_eq!(entry.left(), Left::Perhaps);
    let ClaimVerdict::Take { entry, .. } = claim(facts(&message, &entry)) else {
        panic!("not claimed")
    };
    assert_eq!(entry.unanswered, 1);
}

#[test]
fn an_early_report_counts_only_if_it_arrived_after_the_claim() {
    let id = NetworkId::new(RouteName::new("main"), "a");
    let message = message(Sending);
    for (at, taken) in [
        (seconds(-3_600), None),
        (millis(-30_001), None),
        // The clocks of two programs may differ by this much.
        (seconds(-30), Some(ReceiptStatus::Delivered)),
        (now(), Some(ReceiptStatus::Delivered)),
    ] {
        let result = HandOver::Submitted { parts: vec![id.clone()] };
        let mut plan = OutcomePlan { claimed_at: seconds(-20), ..outcome(result) };
        let report = EarlyReport { status: ReceiptStatus::Delivered, at, numbers: Vec::new() };
        let early = EarlyReports::from([(id.clone(), report)]);
        let verdict = plan.settle(Some((&message, &held(OURS))), &early);
        let OutcomeVerdict::Done { changes, parts, .. } = verdict else { panic!("{verdict:?}") };
        assert_eq!(parts[0].report, taken, "{at}");
        assert_eq!(changes.len(), if taken.is_some() { 2 } else { 1 });
    }
}

#[test]
fn an_early_report_of_a_delivery_is_replaced_only_when_it_is_old() {
    let delivered =
        EarlyReport { status: ReceiptStatus::Delivered, at: now(), numbers: Vec::new() };
    assert!(!delivered.gives_way(seconds(3_599)));
    assert!(delivered.gives_way(seconds(3_600)));
    let status = ReceiptStatus::Undelivered(ErrorCode::AbsentSubscriber);
    assert!(EarlyReport { status, at: now(), numbers: Vec::new() }.gives_way(now()));
}
