//! The event log shows nothing that an open transaction may still come before.

use sms_conformance::Rig;
use sms_conformance::rig::events_from;
use sms_core::event::log::ReadFrom;
use sms_core::event::position::Position;
use sms_core::receipt::ReceiptStatus;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

use crate::Own;
use crate::postgres::{Act, wait_for_locks};

/// The tests by name.
pub(crate) const TESTS: &[(&str, Act)] = &[
    ("event::what_an_open_transaction_may_come_before_is_not_shown_yet", |rig, url| {
        Box::pin(held_back(rig, url))
    }),
    ("event::a_transaction_that_raises_no_events_holds_nothing_back", |rig, url| {
        Box::pin(not_held_back(rig, url))
    }),
    ("event::receipts_that_waited_for_another_commit_come_after_it_in_the_log", |rig, url| {
        Box::pin(receipts_after(rig, url))
    }),
    ("event::clicks_that_waited_for_another_commit_come_after_it_in_the_log", |rig, url| {
        Box::pin(clicks_after(rig, url))
    }),
];

async fn run(connection: &mut PgConnection, sql: &str) {
    connection.execute(AssertSqlSafe(sql.to_owned())).await.expect("the statement runs");
}

/// A connection in a transaction that has a number, after this statement.
async fn open(url: &str, first: &str) -> PgConnection {
    let mut connection = PgConnection::connect(url).await.expect("the server answers");
    for statement in ["BEGIN", first, "SELECT pg_current_xact_id()"] {
        run(&mut connection, statement).await;
    }
    connection
}

async fn held_back(rig: &Rig, url: &str) {
    let account = rig.account(100).await;
    let first = rig.message_that_left(&account, 1).await;
    let mut older = open(url, "SELECT 1").await;
    rig.message_that_left(&account, 2).await;
    let shown = rig.events(account.id).await;
    assert_eq!(shown.len(), 1, "the second may not be the next");
    let end = rig.event_end(account.id).await;
    // The older transaction raises an event too, and commits last.
    let copy = "INSERT INTO event (seq, account_id, place, kinds, last_id, events)
         SELECT (SELECT base FROM event_base) + pg_current_xact_id()::text::bigint, account_id,
             place, kinds, last_id, events
         FROM event ORDER BY seq LIMIT 1";
    run(&mut older, copy).await;
    run(&mut older, "COMMIT").await;
    for after in [shown[0].position, end] {
        let page = rig.event_page(account.id, events_from(ReadFrom::After(after), 9)).await;
        assert_eq!(page.items.len(), 2, "nobody misses the older one");
        assert!(page.items[0].position < page.items[1].position);
    }
    let remove = format!(
        "DELETE FROM event WHERE seq = (SELECT seq FROM event ORDER BY seq OFFSET 1 LIMIT 1)
             AND account_id = '{:032x}'",
        account.id.as_u128()
    );
    run(&mut older, &remove).await;
    older.close().await.expect("the connection ends");
    assert_eq!(rig.message(&account, first.id).await, first);
}

async fn not_held_back(rig: &Rig, url: &str) {
    let account = rig.account(100).await;
    let quiet = open(url, "SELECT pg_advisory_xact_lock_shared(1936552293, 1)").await;
    rig.message_that_left(&account, 1).await;
    assert_eq!(rig.events(account.id).await.len(), 1);
    let other = open(url, "SELECT pg_advisory_xact_lock_shared(1936552293, 2)").await;
    rig.message_that_left(&account, 2).await;
    assert_eq!(rig.events(account.id).await.len(), 1, "another lock says nothing");
    for mut connection in [quiet, other] {
        run(&mut connection, "ROLLBACK").await;
        connection.close().await.expect("the connection ends");
    }
    assert_eq!(rig.events(account.id).await.len(), 2);
}

async fn receipts_after(rig: &Rig, url: &str) {
    let account = rig.account(100).await;
    let first = rig.message_that_left(&account, 1).await;
    let second = rig.message_that_left(&account, 2).await;
    let receipts = [first.id, second.id].map(|id| rig.receipt(id, ReceiptStatus::Delivered));
    let store = rig.store().clone();
    let record = async move {
        let recorded = store.receipts_record(receipts.into()).await;
        assert!(recorded.iter().all(Result::is_ok));
    };
    let row = format!("message SET body = body WHERE id = '{:032x}'", second.id.as_u128());
    check_order(url, &row, record).await;
}

async fn clicks_after(rig: &Rig, url: &str) {
    let account = rig.account(100).await;
    let (first, second) = (rig.link(&account, 1).await, rig.link(&account, 2).await);
    let clicks = vec![rig.click_plan(first.code), rig.click_plan(second.code)];
    let store = rig.store().clone();
    let click = async move {
        let clicked = store.links_click(clicks).await;
        assert!(clicked.iter().all(Result::is_ok));
    };
    let row = format!("link SET url = url WHERE id = '{:032x}'", second.id.as_u128());
    check_order(url, &row, click).await;
}

/// Runs a command that locks a row and then waits for another one, which another transaction holds
/// and changes under a younger number (`UPDATE` and `row`). Its events have to come later.
async fn check_order(url: &str, row: &str, command: impl Future<Output = ()> + Send + 'static) {
    let (table, changed) = row.split_once(" SET ").expect("a table and what changes");
    let (_, condition) = changed.split_once(" WHERE ").expect("a condition");
    let lock = format!("SELECT 1 FROM {table} WHERE {condition} FOR UPDATE");
    let mut other = open(url, &lock).await;
    let waiting = tokio::spawn(command);
    // It has locked the first row, and so has a number, and waits for the second.
    wait_for_locks(url, 1).await;
    run(&mut other, "SAVEPOINT younger").await;
    run(&mut other, &format!("UPDATE {row}")).await;
    let number = format!("SELECT xmin::text::bigint FROM {table} WHERE {condition}");
    let number = sqlx::query_scalar::<_, i64>(AssertSqlSafe(number)).fetch_one(&mut other).await;
    run(&mut other, "COMMIT").await;
    waiting.await.expect("the command ends");
    let newest = "SELECT max(seq) - (SELECT base FROM event_base) FROM event";
    let newest: i64 = sqlx::query_scalar(newest).fetch_one(&mut other).await.expect("read");
    assert!(newest > number.expect("read"), "its events come after what it waited for");
    other.close().await.expect("the connection ends");
}

/// While transactions that raise no events begin and end all the time, as a tidying server's do and
/// those of other databases.
pub(crate) async fn the_horizon_never_goes_back(own: Own) {
    const QUIET: &str = "BEGIN; SELECT pg_advisory_xact_lock_shared(1936552293, 1);
        SELECT pg_current_xact_id(); SELECT count(*) FROM generate_series(1, 200); COMMIT";
    let writers: Vec<_> = (0..8)
        .map(|_| {
            let url = own.url.clone();
            tokio::spawn(async move {
                let mut connection = PgConnection::connect(&url).await.expect("it answers");
                for _ in 0..300 {
                    run(&mut connection, QUIET).await;
                }
                connection.close().await.expect("the connection ends");
            })
        })
        .collect();
    let mut reader = PgConnection::connect(&own.url).await.expect("the server answers");
    let mut highest = 0_i64;
    while !writers.iter().all(tokio::task::JoinHandle::is_finished) {
        let horizon = sqlx::query_scalar("SELECT event_horizon()").fetch_one(&mut reader).await;
        let horizon = horizon.expect("read");
        assert!(highest <= horizon, "{horizon} after {highest}: shown events are hidden again");
        highest = horizon;
    }
    for writer in writers {
        writer.await.expect("it wrote");
    }
    reader.close().await.expect("the connection ends");
}

/// As a database that has moved to another server eight million times.
pub(crate) async fn positions_rise_up_to_the_largest_number(own: Own) {
    let rig = own.rig(&own.store);
    let account = rig.account(100).await;
    rig.message_that_left(&account, 1).await;
    let mut connection = PgConnection::connect(&own.url).await.expect("the server answers");
    let far = "UPDATE event_base SET base = 9223372036854775807 - 1000000";
    run(&mut connection, far).await;
    connection.close().await.expect("the connection ends");
    rig.message_that_left(&account, 2).await;
    let end = rig.event_end(account.id).await;
    rig.message_that_left(&account, 3).await;
    let events = rig.events(account.id).await;
    assert_eq!(events.len(), 3);
    assert!(events.is_sorted_by(|one, next| one.position < next.position), "{events:?}");
    assert!(events[1].position.commit > 1 << 62, "{events:?}");
    for (event, rest) in events.iter().zip([&events[1..], &events[2..], &[]]) {
        let text = event.position.to_string();
        let after = ReadFrom::After(text.parse().expect("it is a position"));
        assert_eq!(rig.event_page(account.id, events_from(after, 9)).await.items, rest);
    }
    let on = events_from(ReadFrom::After(end), 9);
    assert_eq!(rig.event_page(account.id, on).await.items, events[2..]);
}

pub(crate) async fn a_database_on_another_server_goes_on_above_all_its_positions(own: Own) {
    let rig = own.rig(&own.store);
    let account = rig.account(100).await;
    rig.message_that_left(&account, 1).await;
    let before = rig.events(account.id).await.remove(0).position;
    let mut connection = PgConnection::connect(&own.url).await.expect("the server answers");
    // As if the events came from a server that has run many more transactions.
    let elsewhere = "UPDATE event_base SET origin = 'another server'";
    run(&mut connection, elsewhere).await;
    run(&mut connection, "UPDATE event SET seq = seq + 2000000000").await;
    connection.close().await.expect("the connection ends");
    own.store.migrate().await.expect("nothing to migrate");
    rig.message_that_left(&account, 2).await;
    let page = events_from(ReadFrom::After(Position::START), 9);
    let events = rig.event_page(account.id, page).await.items;
    assert_eq!(events.len(), 2);
    assert!(before < events[0].position && events[0].position < events[1].position);
}
