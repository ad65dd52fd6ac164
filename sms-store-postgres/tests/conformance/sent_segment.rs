//! Promises about reports on segments beyond the conformance suite: no report is lost, however it
//! races with the recording of its segment.

use std::sync::Arc;

use sms_conformance::Rig;
use sms_conformance::rig::{Hand, all_recorded, request};
use sms_core::account::Account;
use sms_core::dispatch::{OutcomePlan, OutcomeRecorded};
use sms_core::ids::MessageId;
use sms_core::message::{ErrorCode, MessageStatus};
use sms_core::receipt::ReceiptStatus::{self, Delivered, Undelivered};
use sms_core::receipt::report::{NetworkId, NetworkReport, ReportPlan, Reported};
use sms_core::route::{HandOver, RouteName};
use sqlx::{Connection, Executor, PgConnection};
use tokio::task::JoinHandle;

use crate::postgres::{Act, Blocker, wait_for_locks};

/// The tests by name.
pub(crate) const TESTS: &[(&str, Act)] = &[
    ("sent_segment::a_report_waits_while_its_segment_is_being_recorded", |rig, url| {
        Box::pin(report_waits(rig, url))
    }),
    ("sent_segment::a_message_that_another_worker_takes_meanwhile_is_left_to_it", |rig, url| {
        Box::pin(lost_meanwhile(rig, url))
    }),
    ("sent_segment::a_report_counts_on_top_of_one_that_came_meanwhile", |rig, url| {
        Box::pin(undelivered_meanwhile(rig, url))
    }),
    ("sent_segment::a_recording_waits_while_an_early_report_is_being_stored", |rig, url| {
        Box::pin(record_waits(rig, url))
    }),
    ("sent_segment::a_report_follows_an_id_that_moves_to_another_message", |rig, url| {
        Box::pin(id_moves(rig, url))
    }),
    ("sent_segment::an_outcome_with_a_lost_lease_leaves_its_ids_unchanged", |rig, _| {
        Box::pin(lost_among_others(rig))
    }),
    ("sent_segment::an_early_report_counts_for_one_of_two_messages_with_the_same_id", |rig, _| {
        Box::pin(one_id_twice(rig))
    }),
    ("sent_segment::an_invalid_row_delays_no_other_report", |rig, url| Box::pin(bad_row(rig, url))),
];

const ABSENT: ReceiptStatus = Undelivered(ErrorCode::AbsentSubscriber);

fn network_id(id: &str) -> NetworkId {
    NetworkId::new(RouteName::new("main"), id)
}

fn plan(rig: &Rig, id: &str, status: ReceiptStatus) -> ReportPlan {
    let report = NetworkReport::new(network_id(id), status);
    ReportPlan { report, at: rig.now(), ids: rig.ids() }
}

async fn report(rig: &Rig, id: &str, status: ReceiptStatus) -> Reported {
    let plans = vec![plan(rig, id, status)];
    all_recorded(rig.store().reports_record(plans).await).remove(0)
}

fn submitted(rig: &Rig, hand: &Hand, text: MessageId, ids: &[&str]) -> OutcomePlan {
    let parts = ids.iter().map(|id| network_id(id)).collect();
    rig.outcome(text, hand.token, HandOver::Submitted { parts })
}

/// Messages that a worker has claimed.
async fn in_hand(rig: &Rig, account: &Account, messages: u16) -> (Hand, Vec<MessageId>) {
    let sent = rig.send(account, &request(1..=messages)).await;
    (rig.claim_all().await, sent.messages.iter().map(|message| message.id).collect())
}

/// Records outcomes in a concurrent task.
fn recording(rig: &Rig, plans: Vec<OutcomePlan>) -> JoinHandle<Vec<OutcomeRecorded>> {
    let store = Arc::clone(rig.store());
    tokio::spawn(async move { store.dispatch_record(plans).await.expect("recorded") })
}

fn reporting(rig: &Rig, plans: Vec<ReportPlan>) -> JoinHandle<Vec<Reported>> {
    let store = Arc::clone(rig.store());
    tokio::spawn(async move { all_recorded(store.reports_record(plans).await) })
}

async fn run(url: &str, sql: &'static str) {
    let mut connection = PgConnection::connect(url).await.expect("the server answers");
    connection.execute(sql).await.expect("the statement runs");
    connection.close().await.expect("the connection ends");
}

/// The recording has written the segment, but not committed, when the report arrives.
async fn report_waits(rig: &Rig, url: &str) {
    let account = rig.account(10).await;
    let (hand, messages) = in_hand(rig, &account, 1).await;
    rig.record_all(vec![submitted(rig, &hand, messages[0], &["before"])]).await;
    // Another message to the same person.
    let (hand, messages) = in_hand(rig, &account, 1).await;
    let blocker = Blocker::holding(url, "SELECT FROM last_contacted FOR UPDATE").await;
    let recorded = recording(rig, vec![submitted(rig, &hand, messages[0], &["a"])]);
    wait_for_locks(url, 1).await;
    let reported = reporting(rig, vec![plan(rig, "a", Delivered), plan(rig, "b", ABSENT)]);
    wait_for_locks(url, 2).await;
    blocker.let_go().await;
    let recorded = recorded.await.expect("it finishes in time");
    assert_eq!(recorded, [OutcomeRecorded::Done(MessageStatus::Sent)]);
    let reported = reported.await.expect("it finishes in time");
    assert!(matches!(&reported[..], [Reported::Changed(_), Reported::Early]), "{reported:?}");
    assert_eq!(rig.status(&account, messages[0]).await, MessageStatus::Delivered);
}

/// The recording has read that the worker holds the message, which another worker takes meanwhile.
async fn lost_meanwhile(rig: &Rig, url: &str) {
    let account = rig.account(10).await;
    let (hand, messages) = in_hand(rig, &account, 2).await;
    let first = uuid::Uuid::from_u128(messages[0].as_u128());
    let taken = format!("UPDATE queue SET lease = gen_random_uuid() WHERE message_id = '{first}'");
    let blocker = Blocker::holding(url, taken).await;
    let plans = vec![
        submitted(rig, &hand, messages[0], &["a"]),
        submitted(rig, &hand, messages[1], &["b"]),
    ];
    let recorded = recording(rig, plans);
    wait_for_locks(url, 1).await;
    blocker.keep().await;
    let recorded = recorded.await.expect("it finishes in time");
    let done = OutcomeRecorded::Done(MessageStatus::Sent);
    assert_eq!(recorded, [OutcomeRecorded::LeaseLost, done]);
    assert_eq!(rig.status(&account, messages[0]).await, MessageStatus::Sending);
    assert_eq!(report(rig, "a", Delivered).await, Reported::Early);
    assert!(matches!(report(rig, "b", Delivered).await, Reported::Changed(_)));
}

/// The report has read that the message is sent, which another report changes meanwhile.
async fn undelivered_meanwhile(rig: &Rig, url: &str) {
    let account = rig.account(10).await;
    let (hand, messages) = in_hand(rig, &account, 1).await;
    rig.record_all(vec![submitted(rig, &hand, messages[0], &["a"])]).await;
    let changed = "UPDATE message
        SET status = 'undelivered', error_code = 'absent_subscriber', failed_at = sent_at";
    let blocker = Blocker::holding(url, changed).await;
    let reported = reporting(rig, vec![plan(rig, "a", Delivered)]);
    wait_for_locks(url, 1).await;
    blocker.keep().await;
    let reported = reported.await.expect("it finishes in time");
    assert!(matches!(&reported[..], [Reported::Changed(_)]), "{reported:?}");
    let found = rig.store().message_get(account.id, messages[0]).await.expect("read");
    let message = found.expect("it is there").0;
    assert_eq!((message.status, message.error), (MessageStatus::Delivered, None));
    assert_eq!(message.times.failed_at, None);
}

/// The report is written, but not committed, when the segment is recorded.
async fn record_waits(rig: &Rig, url: &str) {
    let account = rig.account(10).await;
    let (hand, messages) = in_hand(rig, &account, 1).await;
    report(rig, "a", ABSENT).await;
    let held = "SELECT FROM sent_segment WHERE network_id = 'z' FOR UPDATE";
    report(rig, "z", ABSENT).await;
    let blocker = Blocker::holding(url, held).await;
    let reported = reporting(rig, vec![plan(rig, "a", Delivered), plan(rig, "z", ABSENT)]);
    wait_for_locks(url, 1).await;
    let recorded = recording(rig, vec![submitted(rig, &hand, messages[0], &["a"])]);
    wait_for_locks(url, 2).await;
    blocker.let_go().await;
    assert_eq!(reported.await.expect("it finishes in time"), [Reported::Early, Reported::Early]);
    let recorded = recorded.await.expect("it finishes in time");
    assert_eq!(recorded, [OutcomeRecorded::Done(MessageStatus::Delivered)]);
    assert_eq!(report(rig, "a", Delivered).await, Reported::Repeat);
}

/// A report has found its message and waits for it while the id moves to another message.
async fn id_moves(rig: &Rig, url: &str) {
    let account = rig.account(10).await;
    let (hand, messages) = in_hand(rig, &account, 2).await;
    rig.record_all(vec![submitted(rig, &hand, messages[0], &["a"])]).await;
    let first = uuid::Uuid::from_u128(messages[0].as_u128());
    let held = format!("SELECT FROM message WHERE id = '{first}' FOR UPDATE");
    let blocker = Blocker::holding(url, held).await;
    let reported = reporting(rig, vec![plan(rig, "a", Delivered)]);
    wait_for_locks(url, 1).await;
    rig.record_all(vec![submitted(rig, &hand, messages[1], &["a"])]).await;
    blocker.let_go().await;
    let reported = reported.await.expect("it finishes in time");
    assert!(matches!(&reported[..], [Reported::Changed(_)]), "{reported:?}");
    assert_eq!(rig.status(&account, messages[0]).await, MessageStatus::Sent);
    assert_eq!(rig.status(&account, messages[1]).await, MessageStatus::Delivered);
}

/// The outcomes of one worker. It no longer holds one of the messages.
async fn lost_among_others(rig: &Rig) {
    let account = rig.account(10).await;
    let (hand, messages) = in_hand(rig, &account, 4).await;
    rig.record_all(vec![submitted(rig, &hand, messages[0], &["old"])]).await;
    report(rig, "early", Delivered).await;
    let stale = Hand { token: rig.token(), ..hand.clone() };
    let recorded = rig
        .record_all(vec![
            submitted(rig, &hand, messages[1], &["kept"]),
            submitted(rig, &stale, messages[2], &["old", "early", "new"]),
        ])
        .await;
    let done = OutcomeRecorded::Done;
    assert_eq!(recorded, [done(MessageStatus::Sent), OutcomeRecorded::LeaseLost]);
    for (id, text) in [("old", messages[0]), ("kept", messages[1])] {
        assert!(matches!(report(rig, id, Delivered).await, Reported::Changed(_)), "{id}");
        assert_eq!(rig.status(&account, text).await, MessageStatus::Delivered);
    }
    assert_eq!(report(rig, "new", Delivered).await, Reported::Early);
    let recorded = rig.record_all(vec![submitted(rig, &hand, messages[3], &["early"])]).await;
    assert_eq!(recorded, [done(MessageStatus::Delivered)], "the early report is still there");
}

/// A network gives two messages of one call the same id.
async fn one_id_twice(rig: &Rig) {
    let account = rig.account(10).await;
    let (hand, messages) = in_hand(rig, &account, 2).await;
    report(rig, "a", Delivered).await;
    let plans = messages.iter().map(|text| submitted(rig, &hand, *text, &["a"])).collect();
    let done = OutcomeRecorded::Done;
    assert_eq!(
        rig.record_all(plans).await,
        [done(MessageStatus::Delivered), done(MessageStatus::Sent)]
    );
    assert!(matches!(report(rig, "a", Delivered).await, Reported::Changed(_)));
    assert_eq!(rig.status(&account, messages[1]).await, MessageStatus::Delivered);
}

async fn bad_row(rig: &Rig, url: &str) {
    let account = rig.account(10).await;
    let (hand, messages) = in_hand(rig, &account, 3).await;
    let names = ["a", "b", "c"];
    let plans = messages.iter().zip(names).map(|(text, id)| submitted(rig, &hand, *text, &[id]));
    rig.record_all(plans.collect()).await;
    run(url, "UPDATE sent_segment SET report = 'bored' WHERE network_id = 'b'").await;
    let plans = names.iter().map(|id| plan(rig, id, Delivered)).collect();
    let answers = rig.store().reports_record(plans).await;
    assert!(matches!(answers[..], [Ok(_), Err(_), Ok(_)]), "{answers:?}");
    run(url, "UPDATE sent_segment SET report = NULL WHERE report = 'bored'").await;
    assert!(matches!(report(rig, "b", Delivered).await, Reported::Changed(_)));
}
