//! What networks report of parts, under their own ids.

use sms_core::account::Account;
use sms_core::dispatch::{OutcomePlan, OutcomeRecorded};
use sms_core::event::EventType;
use sms_core::ids::MessageId;
use sms_core::message::{ErrorCode, MessageStatus};
use sms_core::phone::E164;
use sms_core::receipt::ReceiptStatus::{self, Delivered, Undelivered};
use sms_core::receipt::report::{
    EARLY_FOR, KEPT_FOR, NetworkId, NetworkReport, ReportPlan, Reported,
};
use sms_core::route::{HandOver, RouteName};
use sms_core::upkeep::Chore;

use crate::Rig;
use crate::rig::{all_recorded, days, minutes, person, refused, request, seconds};

pub(super) const ABSENT: ReceiptStatus = Undelivered(ErrorCode::AbsentSubscriber);

fn network_id(id: &str) -> NetworkId {
    NetworkId::new(RouteName::new("main"), id)
}

pub(super) fn submitted(ids: &[&str]) -> HandOver {
    HandOver::Submitted { parts: ids.iter().map(|id| network_id(id)).collect() }
}

pub(super) fn plan(rig: &Rig, id: &str, status: ReceiptStatus) -> ReportPlan {
    let report = NetworkReport::new(network_id(id), status);
    ReportPlan { report, at: rig.now(), ids: rig.ids() }
}

pub(super) fn plan_to(rig: &Rig, id: &str, status: ReceiptStatus, numbers: &[E164]) -> ReportPlan {
    let plan = plan(rig, id, status);
    ReportPlan { report: plan.report.between(numbers.iter().copied()), ..plan }
}

pub(super) async fn report_to(
    rig: &Rig,
    id: &str,
    status: ReceiptStatus,
    numbers: &[E164],
) -> Reported {
    let plans = vec![plan_to(rig, id, status, numbers)];
    all_recorded(rig.store().reports_record(plans).await).remove(0)
}

pub(super) async fn report(rig: &Rig, id: &str, status: ReceiptStatus) -> Reported {
    let plans = vec![plan(rig, id, status)];
    all_recorded(rig.store().reports_record(plans).await).remove(0)
}

pub(super) fn status(reported: &Reported) -> Option<MessageStatus> {
    match reported {
        Reported::Changed(message) => Some(message.status),
        _ => None,
    }
}

/// Sends a message that leaves in parts that the network calls so.
pub(super) async fn message_of_segments(rig: &Rig, account: &Account, ids: &[&str]) -> MessageId {
    message_to(rig, account, 1, ids).await
}

pub(super) async fn message_to(rig: &Rig, account: &Account, n: u16, ids: &[&str]) -> MessageId {
    let text = rig.text(account, n).await.id;
    let hand = rig.claim_all().await;
    let recorded = rig.record(text, hand.token, submitted(ids)).await;
    assert_eq!(recorded, OutcomeRecorded::Done(MessageStatus::Sent));
    text
}

pub(super) enum Call {
    Record(OutcomePlan),
    Report(ReportPlan),
}

async fn tidied(rig: &Rig) -> usize {
    let before = rig.now().minus(KEPT_FOR);
    rig.store().tidy(Chore::Reports { before }, 100).await.expect("tidied")
}

scenarios! { Receipt;
    /// A report finds its message by the id that the network gave when it took it.
    async fn a_report_finds_its_message(rig: &Rig) {
        let account = rig.account(10).await;
        let endpoint = rig.endpoint(&account, &EventType::SUBSCRIBABLE).await;
        let text = message_of_segments(rig, &account, &["a"]).await;
        let other = message_of_segments(rig, &account, &["b"]).await;
        let reported = report(rig, "a", Delivered).await;
        assert_eq!(status(&reported), Some(MessageStatus::Delivered));
        assert_eq!(rig.status(&account, text).await, MessageStatus::Delivered);
        assert_eq!(rig.status(&account, other).await, MessageStatus::Sent);
        assert_eq!(rig.deliveries(&endpoint).await.len(), 3, "two sent, one delivered");
    }

    /// The same report again, or a worse one after delivered, changes nothing; delivered after a
    /// worse one does.
    async fn late_and_repeated_reports_of_a_segment_change_nothing(rig: &Rig) {
        let account = rig.account(10).await;
        let text = message_of_segments(rig, &account, &["a"]).await;
        let news = [ABSENT, ABSENT, Delivered, Delivered, ABSENT];
        let mut told = Vec::new();
        for one in news {
            told.push(status(&report(rig, "a", one).await));
        }
        let changed = Some(MessageStatus::Delivered);
        assert_eq!(told, [Some(MessageStatus::Undelivered), None, changed, None, None]);
        assert_eq!(rig.status(&account, text).await, MessageStatus::Delivered);
    }

    /// A message of several parts is delivered when all of them are.
    async fn a_message_is_delivered_when_all_of_its_segments_are(rig: &Rig) {
        let account = rig.account(10).await;
        let text = message_of_segments(rig, &account, &["a", "b", "c"]).await;
        assert_eq!(report(rig, "c", Delivered).await, Reported::Kept);
        assert_eq!(report(rig, "c", Delivered).await, Reported::Repeat);
        assert_eq!(report(rig, "a", Delivered).await, Reported::Kept);
        assert_eq!(rig.status(&account, text).await, MessageStatus::Sent);
        rig.advance(seconds(3));
        let last = report(rig, "b", Delivered).await;
        assert_eq!(status(&last), Some(MessageStatus::Delivered));
        let stored = rig.message(&account, text).await;
        assert_eq!(stored.times.delivered_at, Some(rig.now()));
    }

    /// A message of several parts is undelivered as soon as one is, and delivered should that one
    /// and all others be delivered after all.
    async fn a_message_is_undelivered_when_one_of_its_segments_is(rig: &Rig) {
        let account = rig.account(10).await;
        let text = message_of_segments(rig, &account, &["a", "b"]).await;
        let balance = rig.balance(&account).await;
        assert_eq!(status(&report(rig, "b", ABSENT).await), Some(MessageStatus::Undelivered));
        let stored = rig.message(&account, text).await;
        assert_eq!(stored.error, Some(ErrorCode::AbsentSubscriber));
        assert_eq!(report(rig, "a", Delivered).await, Reported::Kept, "one is still undelivered");
        assert_eq!(status(&report(rig, "b", Delivered).await), Some(MessageStatus::Delivered));
        assert_eq!(rig.balance(&account).await, balance, "it left, so nothing is refunded");
    }

    /// Several reports in one call are recorded in their order, each beside what the ones before
    /// left.
    async fn reports_of_one_call_build_on_each_other(rig: &Rig) {
        let account = rig.account(10).await;
        let text = message_of_segments(rig, &account, &["a", "b"]).await;
        let news = [("a", Delivered), ("x", ABSENT), ("b", ABSENT), ("b", Delivered)];
        let plans = news.iter().map(|(id, status)| plan(rig, id, *status)).collect();
        let told = all_recorded(rig.store().reports_record(plans).await);
        assert_eq!((&told[0], &told[1]), (&Reported::Kept, &Reported::Early));
        let changed: Vec<_> = told[2..].iter().map(status).collect();
        assert_eq!(changed, [Some(MessageStatus::Undelivered), Some(MessageStatus::Delivered)]);
        assert_eq!(rig.status(&account, text).await, MessageStatus::Delivered);
        assert_eq!(all_recorded(rig.store().reports_record(Vec::new()).await), []);
    }

    /// A report that comes before the hand-over is recorded counts when it is, by one commit with
    /// both events.
    async fn a_report_before_the_record_of_the_hand_over_counts(rig: &Rig) {
        let account = rig.account(10).await;
        let endpoint = rig.endpoint(&account, &EventType::SUBSCRIBABLE).await;
        let text = rig.text(&account, 1).await.id;
        let hand = rig.claim_all().await;
        assert_eq!(report(rig, "a", ABSENT).await, Reported::Early);
        assert_eq!(report(rig, "a", Delivered).await, Reported::Early);
        assert_eq!(report(rig, "a", ABSENT).await, Reported::Early, "delivered is delivered");
        assert_eq!(rig.status(&account, text).await, MessageStatus::Sending);
        let recorded = rig.record(text, hand.token, submitted(&["a"])).await;
        assert_eq!(recorded, OutcomeRecorded::Done(MessageStatus::Delivered));
        let statuses = rig.statuses(&account, text).await;
        assert!(statuses.ends_with(&[MessageStatus::Sent, MessageStatus::Delivered]));
        assert_eq!(rig.deliveries(&endpoint).await.len(), 2);
        assert_eq!(report(rig, "a", Delivered).await, Reported::Repeat);
        assert_eq!(rig.next_dispatch().await, None);
    }

    /// A network that counts its ids anew gives a message one that another part had: a report that
    /// came before the message was claimed is not of this part, and one that comes later is.
    async fn a_report_from_before_the_hand_over_began_is_of_another_part(rig: &Rig) {
        let account = rig.account(10).await;
        report(rig, "a", Delivered).await;
        report(rig, "b", ABSENT).await;
        rig.advance(minutes(1));
        let text = message_of_segments(rig, &account, &["a", "b"]).await;
        assert_eq!(report(rig, "a", Delivered).await, Reported::Kept);
        assert_eq!(rig.status(&account, text).await, MessageStatus::Sent);
        let last = report(rig, "b", Delivered).await;
        assert_eq!(status(&last), Some(MessageStatus::Delivered));
    }

    /// However long a hand-over takes to be recorded, what was reported since it began counts.
    async fn a_report_counts_however_late_its_hand_over_is_recorded(rig: &Rig) {
        let account = rig.account(10).await;
        let text = rig.text(&account, 1).await.id;
        let hand = rig.claim_all().await;
        let claimed_at = rig.now();
        rig.advance(seconds(1));
        report(rig, "a", Delivered).await;
        rig.advance(days(2));
        let plan = rig.outcome(text, hand.token, submitted(&["a"]));
        let recorded = rig.record_all(vec![OutcomePlan { claimed_at, ..plan }]).await;
        assert_eq!(recorded, [OutcomeRecorded::Done(MessageStatus::Delivered)]);
    }

    /// A delivery that was reported long before anybody had the id does not hide what is reported
    /// now, whether that comes in one call or in two.
    async fn an_old_early_report_gives_way_to_a_new_one(rig: &Rig) {
        let account = rig.account(10).await;
        report(rig, "a", Delivered).await;
        let old = plan(rig, "b", Delivered);
        rig.advance(EARLY_FOR);
        let text = rig.text(&account, 1).await.id;
        let hand = rig.claim_all().await;
        report(rig, "a", ABSENT).await;
        let plans = vec![old, plan(rig, "b", ABSENT)];
        all_recorded(rig.store().reports_record(plans).await);
        let recorded = rig.record(text, hand.token, submitted(&["a"])).await;
        assert_eq!(recorded, OutcomeRecorded::Done(MessageStatus::Undelivered));
        let other = rig.text(&account, 2).await.id;
        let hand = rig.claim_all().await;
        let recorded = rig.record(other, hand.token, submitted(&["b"])).await;
        assert_eq!(recorded, OutcomeRecorded::Done(MessageStatus::Undelivered));
    }

    /// A report that comes before its hand-over is recorded counts for its own recipient alone: a
    /// network that uses an id again still reports on the message that had it before.
    async fn an_early_report_on_another_recipient_does_not_count(rig: &Rig) {
        let account = rig.account(10).await;
        for (name, number, expected) in [
            ("a", person(2), MessageStatus::Sent),
            ("b", person(1), MessageStatus::Delivered),
        ] {
            let text = rig.text(&account, 1).await.id;
            let hand = rig.claim_all().await;
            let plan = plan(rig, name, Delivered);
            let plan = ReportPlan { report: plan.report.between([person(9), number]), ..plan };
            let told = rig.store().reports_record(vec![plan]).await;
            assert_eq!(all_recorded(told), [Reported::Early]);
            let recorded = rig.record(text, hand.token, submitted(&[name])).await;
            assert_eq!(recorded, OutcomeRecorded::Done(expected), "{name}");
            assert_eq!(rig.status(&account, text).await, expected, "{name}");
        }
        assert_eq!(status(&report(rig, "a", Delivered).await), Some(MessageStatus::Delivered));
    }

    /// Of several parts, some reported before the hand-over is recorded and some after, all count.
    async fn early_and_late_reports_of_segments_add_up(rig: &Rig) {
        let account = rig.account(10).await;
        let text = rig.text(&account, 1).await.id;
        let hand = rig.claim_all().await;
        report(rig, "b", Delivered).await;
        let recorded = rig.record(text, hand.token, submitted(&["a", "b"])).await;
        assert_eq!(recorded, OutcomeRecorded::Done(MessageStatus::Sent));
        assert_eq!(status(&report(rig, "a", Delivered).await), Some(MessageStatus::Delivered));
    }

    /// Reports that race with the records of the hand-overs they are about all count.
    async fn reports_that_race_with_the_records_of_hand_overs_all_count(rig: &Rig) {
        let account = rig.account(100).await;
        let sent = rig.send(&account, &request(1..=30)).await;
        let hand = rig.claim_all().await;
        let names: Vec<String> = (0..30).map(|n| format!("id-{n}")).collect();
        let records = hand.messages.iter().zip(&names).map(|(text, name)| {
            Call::Record(rig.outcome(text.message, hand.token, submitted(&[name])))
        });
        let reports = names.iter().map(|name| Call::Report(plan(rig, name, Delivered)));
        let mut calls: Vec<Call> = Vec::new();
        for (record, report) in records.zip(reports) {
            let is_early = calls.len().is_multiple_of(4);
            calls.extend(if is_early { [report, record] } else { [record, report] });
        }
        rig.race_each(calls, |store, call| async move {
            match call {
                Call::Record(plan) => {
                    store.dispatch_record(vec![plan]).await.expect("recorded");
                }
                Call::Report(plan) => {
                    all_recorded(store.reports_record(vec![plan]).await);
                }
            }
        });
        for message in sent.messages {
            assert_eq!(rig.status(&account, message.id).await, MessageStatus::Delivered);
        }
    }

    /// Reports of one message's parts that race with each other make it delivered once.
    async fn racing_reports_of_the_segments_of_a_message_deliver_it_once(rig: &Rig) {
        let account = rig.account(10).await;
        let endpoint = rig.endpoint(&account, &[EventType::MessageDelivered]).await;
        let names: Vec<String> = (0..8).map(|n| format!("id-{n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let text = message_of_segments(rig, &account, &names).await;
        let twice: Vec<ReportPlan> =
            names.iter().chain(&names).map(|name| plan(rig, name, Delivered)).collect();
        let told = rig.race_each(twice, |store, plan| async move {
            all_recorded(store.reports_record(vec![plan]).await).remove(0)
        });
        let changed = told.iter().filter(|one| matches!(one, Reported::Changed(_))).count();
        assert_eq!((changed, rig.deliveries(&endpoint).await.len()), (1, 1));
        assert_eq!(rig.status(&account, text).await, MessageStatus::Delivered);
    }

    /// The same id of two routes is two ids.
    async fn ids_of_two_routes_are_told_apart(rig: &Rig) {
        let account = rig.account(10).await;
        let text = message_of_segments(rig, &account, &["7"]).await;
        let id = NetworkId::new(RouteName::new("backup"), "7");
        let report = NetworkReport::new(id, Delivered);
        let plans = vec![ReportPlan { report, at: rig.now(), ids: rig.ids() }];
        assert_eq!(all_recorded(rig.store().reports_record(plans).await), [Reported::Early]);
        assert_eq!(rig.status(&account, text).await, MessageStatus::Sent);
    }

    /// An id that a network uses again belongs to the message that it was last given to.
    async fn an_id_that_is_used_again_belongs_to_the_later_message(rig: &Rig) {
        let account = rig.account(10).await;
        let first = message_of_segments(rig, &account, &["a"]).await;
        assert_eq!(status(&report(rig, "a", Delivered).await), Some(MessageStatus::Delivered));
        let second = message_of_segments(rig, &account, &["a"]).await;
        assert_eq!(rig.status(&account, second).await, MessageStatus::Sent, "no report of it yet");
        assert_eq!(status(&report(rig, "a", ABSENT).await), Some(MessageStatus::Undelivered));
        assert_eq!(rig.status(&account, first).await, MessageStatus::Delivered);
    }

    /// An outcome that no longer counts leaves no ids behind.
    async fn ids_of_a_lost_lease_are_not_kept(rig: &Rig) {
        let account = rig.account(10).await;
        let text = rig.text(&account, 1).await.id;
        rig.claim_all().await;
        let lost = rig.record(text, rig.token(), submitted(&["a"])).await;
        assert_eq!(lost, OutcomeRecorded::LeaseLost);
        assert_eq!(report(rig, "a", Delivered).await, Reported::Early);
        assert_eq!(rig.status(&account, text).await, MessageStatus::Sending);
    }

    /// Ids and early reports are forgotten after their time, and not before.
    async fn ids_and_early_reports_are_kept_for_their_time(rig: &Rig) {
        let account = rig.account(10).await;
        let text = message_of_segments(rig, &account, &["a"]).await;
        report(rig, "x", Delivered).await;
        rig.advance(KEPT_FOR);
        assert_eq!(tidied(rig).await, 0);
        assert_eq!(status(&report(rig, "a", ABSENT).await), Some(MessageStatus::Undelivered));
        rig.advance(days(1));
        assert_eq!(tidied(rig).await, 2);
        assert_eq!(report(rig, "a", Delivered).await, Reported::Early);
        assert_eq!(rig.status(&account, text).await, MessageStatus::Undelivered);
    }

    /// A message that may have been sent is handed over again, and its timeline says so however
    /// often; one that is given up ends as undelivered, keeps its price, and has both events.
    async fn what_left_perhaps_is_tried_again_or_given_up(rig: &Rig) {
        let account = rig.account(10).await;
        let endpoint = rig.endpoint(&account, &EventType::SUBSCRIBABLE).await;
        let text = rig.text(&account, 1).await.id;
        let balance = rig.balance(&account).await;
        let detail = "no answer came".to_owned();
        for attempt in 0..3 {
            let hand = rig.claim_all().await;
            assert_eq!(hand.messages[0].attempt, attempt);
            let again = HandOver::Unanswered { detail: detail.clone() };
            assert_eq!(rig.record(text, hand.token, again).await, OutcomeRecorded::Retry);
            let next = rig.next_dispatch().await.expect("it is tried again");
            rig.advance(next.since(rig.now()));
        }
        let told = rig.message_and_timeline(account.id, text).await.1;
        let silent = |detail: &str| detail.starts_with("no answer came");
        let lines = told.iter().filter(|line| line.detail.as_deref().is_some_and(silent)).count();
        assert_eq!(lines, 3);
        let hand = rig.claim_all().await;
        let error = ErrorCode::NetworkError;
        let given_up = HandOver::Abandoned { error, detail: "2 of 3 parts left".to_owned() };
        let recorded = rig.record(text, hand.token, given_up).await;
        assert_eq!(recorded, OutcomeRecorded::Done(MessageStatus::Undelivered));
        let stored = rig.message(&account, text).await;
        assert_eq!((stored.error, stored.times.sent_at), (Some(error), Some(rig.now())));
        let last = rig.message_and_timeline(account.id, text).await.1.pop().expect("a line");
        assert_eq!(last.detail.as_deref(), Some("2 of 3 parts left"));
        assert_eq!((rig.balance(&account).await, rig.next_dispatch().await), (balance, None));
        assert_eq!(rig.deliveries(&endpoint).await.len(), 2);
    }

    /// A report of a message that failed before it left changes nothing.
    async fn a_report_of_a_message_that_failed_changes_nothing(rig: &Rig) {
        let account = rig.account(10).await;
        let text = rig.text(&account, 1).await.id;
        report(rig, "a", Delivered).await;
        let hand = rig.claim_all().await;
        rig.record(text, hand.token, refused()).await;
        assert_eq!(report(rig, "a", Delivered).await, Reported::Early);
        assert_eq!(rig.status(&account, text).await, MessageStatus::Failed);
    }
}
