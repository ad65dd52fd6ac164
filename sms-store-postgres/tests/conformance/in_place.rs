//! Rows of messages that change in place, and what a program from before that leaves behind.

use std::time::Duration;

use sms_conformance::Rig;
use sms_conformance::rig::{all_recorded, page, request};
use sms_core::account::Account;
use sms_core::dispatch::OutcomePlan;
use sms_core::message::{MessageFilter, MessageStatus, TimelineEntry};
use sms_core::receipt::ReceiptStatus::Delivered;
use sms_core::receipt::report::{NetworkId, NetworkReport, ReportPlan};
use sms_core::route::{HandOver, RouteName};
use sms_store_postgres::{PgSettings, PgStore};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

use crate::Own;
use crate::postgres::Act;

/// The tests by name.
pub(crate) const TESTS: &[(&str, Act)] = &[
    ("message::a_plain_timeline_is_told_by_columns_alone", |rig, url| Box::pin(columns(rig, url))),
    ("message::a_timeline_that_an_older_program_began_is_read_whole", |rig, url| {
        Box::pin(older_timeline(rig, url))
    }),
    ("message::a_page_lists_what_an_older_program_queued", |rig, url| {
        Box::pin(older_queue(rig, url))
    }),
];

/// Messages of a send that shares one commit at each step.
const MANY: u16 = 500;

fn network_id(id: &str) -> NetworkId {
    NetworkId::new(RouteName::new("main"), id)
}

/// Hands over what is due, each message as one segment, and reports all as delivered.
async fn leave_and_arrive(rig: &Rig) {
    let hand = rig.claim(usize::from(MANY)).await;
    let id = |n: usize| network_id(&format!("{n}"));
    let outcome = |(n, text): (usize, &sms_core::route::OutboundMessage)| {
        rig.outcome(text.message, hand.token, HandOver::Submitted { parts: vec![id(n)] })
    };
    let plans: Vec<OutcomePlan> = hand.messages.iter().enumerate().map(outcome).collect();
    rig.record_all(plans).await;
    let report = |n| ReportPlan {
        report: NetworkReport::new(id(n), Delivered),
        at: rig.now(),
        ids: rig.ids(),
    };
    let reports = (0..hand.messages.len()).map(report).collect();
    all_recorded(rig.store().reports_record(reports).await);
}

/// From the send to the receipt, no change of a message adds an entry to an index.
pub(crate) async fn every_change_in_a_message_s_life_is_made_in_place(own: Own) {
    let store = PgStore::connect(&own.url, PgSettings { connections: 2 }).await;
    let store = store.expect("it answers");
    let rig = own.rig(&store);
    let account = rig.account(10_000).await;
    let shipped =
        "SELECT FROM pg_class WHERE relname = 'message' AND 'fillfactor=45' = ANY(reloptions)";
    assert_eq!(run(&own.url, shipped).await, 1);
    // A page has room for all four versions of its rows. With less, it depends on whatever else
    // holds a snapshot meanwhile, such as an analysis, whether old versions make room in time.
    run(&own.url, "ALTER TABLE message SET (fillfactor = 20)").await;
    rig.send(&account, &request(0..MANY)).await;
    leave_and_arrive(&rig).await;
    let all = MessageFilter { status: Some(MessageStatus::Delivered), ..MessageFilter::default() };
    let listed = store_list(&rig, &account, &all).await;
    assert_eq!(listed, 100);
    // Connections tell what they did at the latest when they end.
    store.close().await;
    let (updated, hot) = updates(&own.url, 3 * i64::from(MANY)).await;
    assert_eq!((updated, hot), (3 * i64::from(MANY), updated));
}

async fn store_list(rig: &Rig, account: &Account, filter: &MessageFilter) -> usize {
    let listed = rig.store().message_list(account.id, filter, page(100, None)).await;
    listed.expect("listed").items.len()
}

/// How many rows of messages were updated, and how many of them in place, once it is at least
/// `wanted`.
async fn updates(url: &str, wanted: i64) -> (i64, i64) {
    let mut connection = PgConnection::connect(url).await.expect("the server answers");
    for _ in 0..3_000 {
        let counted: (i64, i64) = sqlx::query_as(
            "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'message'",
        )
        .fetch_one(&mut connection)
        .await
        .expect("counted");
        if counted.0 >= wanted {
            connection.close().await.expect("the connection ends");
            return counted;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("fewer than {wanted} updates");
}

async fn run(url: &str, sql: &'static str) -> u64 {
    let mut connection = PgConnection::connect(url).await.expect("the server answers");
    let done = connection.execute(sql).await.expect("the statement runs").rows_affected();
    connection.close().await.expect("the connection ends");
    done
}

async fn timeline(rig: &Rig, account: &Account) -> Vec<TimelineEntry> {
    let all = MessageFilter::default();
    let listed = rig.store().message_list(account.id, &all, page(1, None)).await;
    let id = listed.expect("listed").items[0].id;
    let found = rig.store().message_get(account.id, id).await.expect("read");
    found.expect("it is there").1
}

async fn columns(rig: &Rig, url: &str) {
    use MessageStatus as S;
    let account = rig.account(10).await;
    let text = rig.text(&account, 1).await;
    leave_and_arrive(rig).await;
    let lines = timeline(rig, &account).await;
    let told: Vec<MessageStatus> = lines.iter().map(|line| line.status).collect();
    assert_eq!(told, [S::Queued, S::Sending, S::Sent, S::Delivered]);
    assert_eq!(lines[0].at, text.created_at());
    let plain = "DELETE FROM message WHERE timeline = '[]' AND sending_at IS NOT NULL";
    assert_eq!(run(url, plain).await, 1);
}

async fn older_timeline(rig: &Rig, url: &str) {
    let account = rig.account(10).await;
    rig.text(&account, 1).await;
    leave_and_arrive(rig).await;
    let whole = timeline(rig, &account).await;
    // What an older program would have stored of it, up to the claim, and up to the end.
    for kept in [2, 4] {
        let lines: Vec<_> = whole[..kept]
            .iter()
            .map(|line| {
                format!(r#"{{"status": "{}", "at": {}}}"#, line.status, line.at.as_millis())
            })
            .collect();
        let older =
            format!("UPDATE message SET sending_at = NULL, timeline = '[{}]'", lines.join(", "));
        let mut connection = PgConnection::connect(url).await.expect("the server answers");
        connection.execute(AssertSqlSafe(older)).await.expect("it is put back");
        connection.close().await.expect("the connection ends");
        assert_eq!(timeline(rig, &account).await, whole, "{kept}");
    }
}

async fn older_queue(rig: &Rig, url: &str) {
    let account = rig.account(10).await;
    rig.text(&account, 1).await;
    let queued = MessageFilter { status: Some(MessageStatus::Queued), ..MessageFilter::default() };
    assert_eq!(store_list(rig, &account, &queued).await, 1);
    run(url, "UPDATE queue SET status = DEFAULT").await;
    assert_eq!(store_list(rig, &account, &queued).await, 1);
    let sending =
        MessageFilter { status: Some(MessageStatus::Sending), ..MessageFilter::default() };
    assert_eq!(store_list(rig, &account, &sending).await, 0);
    rig.claim(1).await;
    assert_eq!(store_list(rig, &account, &queued).await, 0);
    assert_eq!(store_list(rig, &account, &sending).await, 1);
}
