//! Promises that this store makes beyond the conformance suite: an invalid row is named in the
//! error and delays no other row, commands share commits, and no backlog of deliveries delays
//! anything.

use std::collections::BTreeMap;
use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, join_all, poll_immediate};
use sms_conformance::Rig;
use sms_conformance::rig::{all_recorded, named, page, person, request};
use sms_core::account::Account;
use sms_core::change::cancel::CancelPlan;
use sms_core::ids::Id;
use sms_core::list::ListChange;
use sms_core::receipt::{ReceiptStatus, Recorded};
use sms_core::store::{Store, StoreError};
use sms_core::template::TemplateChange;
use sms_core::upkeep::{Chore, Due};
use sms_core::version::IfVersion;
use sms_core::webhook::attempt::{AttemptVerdict, Room};
use sms_core::webhook::delivery::{Delivery, DeliveryError, DeliveryStatus, KEPT_FOR};
use sms_core::webhook::endpoint::{DisabledReason, Endpoint, EndpointChange, Power};
use sms_core::webhook::store::EndpointsWanted;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

/// A test with a rig over the store, and the address of its database.
pub(crate) type Act = for<'a> fn(&'a Rig, &'a str) -> BoxFuture<'a, ()>;

/// The tests by name.
pub(crate) const TESTS: &[(&str, Act)] = &[
    ("receipt::an_invalid_row_delays_no_other_receipt", |rig, url| {
        Box::pin(bad_message_among_receipts(rig, url))
    }),
    ("receipt::receipts_that_wait_for_a_commit_share_the_next_one", |rig, url| {
        Box::pin(receipts_share_a_commit(rig, url))
    }),
    ("refusal::a_refused_command_has_ended_when_it_is_answered", |rig, url| {
        Box::pin(refusals_leave_nothing_behind(rig, url))
    }),
    ("row::what_a_column_cannot_hold_is_an_error_that_names_it", |rig, url| {
        Box::pin(impossible_values(rig, url))
    }),
    ("sending::large_sends_that_wait_delay_no_other_send", |rig, url| {
        Box::pin(large_sends_hold_up_nobody(rig, url))
    }),
    ("webhook::an_invalid_row_delays_no_other_attempt", |rig, url| {
        Box::pin(bad_delivery_among_attempts(rig, url))
    }),
    ("webhook::a_backlog_hides_no_other_endpoint", |rig, url| {
        Box::pin(backlog_hides_nothing(rig, url))
    }),
    ("webhook::disabling_an_endpoint_does_not_write_its_backlog", |rig, url| {
        Box::pin(switch_off_with_a_backlog(rig, url))
    }),
    ("webhook::deleting_an_endpoint_does_not_write_its_backlog", |rig, url| {
        Box::pin(removal_with_a_backlog(rig, url))
    }),
];

const PORTION: usize = 1_000;

async fn connect(url: &str) -> PgConnection {
    PgConnection::connect(url).await.expect("the server answers")
}

async fn run(url: &str, sql: impl Into<String>) {
    let mut connection = connect(url).await;
    connection.execute(AssertSqlSafe(sql.into())).await.expect("the statement runs");
    connection.close().await.expect("the connection ends");
}

async fn count(url: &str, sql: impl Into<String>) -> i64 {
    let mut connection = connect(url).await;
    let query = sqlx::query_scalar(AssertSqlSafe(sql.into()));
    let count = query.fetch_one(&mut connection).await.expect("the server answers");
    connection.close().await.expect("the connection ends");
    count
}

fn uuid<K: sms_core::ids::Kind>(id: Id<K>) -> String {
    uuid::Uuid::from_u128(id.as_u128()).to_string()
}

/// The cause of a failure, as text.
fn cause(error: &StoreError) -> String {
    error.source().map(ToString::to_string).unwrap_or_default()
}

/// Inserts pending deliveries that have been due for a second, without raising events.
async fn backlog(rig: &Rig, url: &str, endpoint: &Endpoint, deliveries: u32) {
    let due = rig.now().as_millis() - 1_000;
    let sql = format!(
        "INSERT INTO delivery (account_id, endpoint_id, id, event_id, event_type, body, status,
             next_attempt_at, claimable_at, created_at, run)
         SELECT e.account_id, e.id, gen_random_uuid(), gen_random_uuid(), 'message.received',
             '{{}}', 'pending', at, at, at, e.run
         FROM endpoint e, generate_series(1, {deliveries}), to_timestamp({due} / 1000.0) AS at
         WHERE e.id = '{}'",
        uuid(endpoint.id)
    );
    run(url, sql).await;
}

/// An endpoint's newest deliveries.
async fn deliveries(rig: &Rig, endpoint: &Endpoint) -> Vec<Delivery> {
    let read = rig.store().delivery_list(endpoint.account, endpoint.id, page(10, None)).await;
    read.expect("read").items
}

/// Tidies until nothing is left. Returns how many deliveries were deleted.
async fn tidy(rig: &Rig) -> usize {
    let before = rig.now().minus(KEPT_FOR);
    let mut all = 0;
    loop {
        let done = rig.store().tidy(Chore::Deliveries { before }, PORTION).await.expect("tidied");
        assert!(done <= PORTION);
        if done == 0 {
            return all;
        }
        all += done;
    }
}

async fn bad_message_among_receipts(rig: &Rig, url: &str) {
    let account = rig.account(10).await;
    let sent = rig.send(&account, &request(1..=5)).await;
    rig.leave_all().await;
    let bad = sent.messages[2].id;
    run(url, "ALTER TABLE message DROP CONSTRAINT message_status_check").await;
    run(url, format!("UPDATE message SET status = 'lost' WHERE id = '{}'", uuid(bad))).await;
    let plan = |id| rig.receipt(id, ReceiptStatus::Delivered);
    let plans = sent.messages.iter().map(|message| plan(message.id)).collect();
    let answers = rig.store().receipts_record(plans).await;
    for (message, answer) in sent.messages.iter().zip(answers) {
        match answer {
            Ok(recorded) => assert!(matches!(recorded, Recorded::Changed(_))),
            Err(error) => {
                assert_eq!(message.id, bad);
                let row = format!("column status of table message, row {}", uuid(bad));
                assert_eq!(cause(&error), format!("cannot read {row}: invalid value"));
            }
        }
    }
    let delivered = "SELECT count(*) FROM message WHERE status = 'delivered'";
    assert_eq!(count(url, delivered).await, 4);
    run(url, format!("UPDATE message SET status = 'sent' WHERE id = '{}'", uuid(bad))).await;
}

async fn bad_delivery_among_attempts(rig: &Rig, url: &str) {
    let (_, endpoint) = rig.listener(person(900)).await;
    rig.raise(person(900), 5).await;
    let claimed = rig.claim_any(10).await;
    let bad = claimed[3].request.delivery;
    let wrong = "UPDATE delivery SET last_error = 'bored' WHERE id =";
    run(url, format!("{wrong} '{}'", uuid(bad))).await;
    let plans = claimed.iter().map(|one| rig.attempt(one, Err(DeliveryError::Timeout)));
    let answers = rig.store().deliveries_record(plans.collect()).await;
    for (one, answer) in claimed.iter().zip(answers) {
        match answer {
            Ok(verdict) => assert!(matches!(verdict, AttemptVerdict::Record { .. })),
            Err(error) => {
                assert_eq!(one.request.delivery, bad);
                let row = format!("column last_error of table delivery, row {}", uuid(bad));
                assert_eq!(cause(&error), format!("cannot read {row}: invalid value"));
            }
        }
    }
    assert_eq!(rig.endpoint_now(&endpoint).await.consecutive_failures, 4);
    run(url, "UPDATE delivery SET last_error = NULL WHERE last_error = 'bored'").await;
}

/// When a command that changes nothing is answered, its transaction is over: no row is locked, and
/// no reader of the event log waits for it.
async fn refusals_leave_nothing_behind(rig: &Rig, url: &str) {
    let store = rig.store();
    let account = rig.account(0).await;
    let contact = named(1, "Ann");
    rig.contact(&account, &contact).await;
    let mut beside = connect(url).await;
    let open = "SELECT count(*) FROM pg_stat_activity
         WHERE datname = current_database() AND state LIKE 'idle in transaction%'";
    // A connection that is about to roll back may do so before it is seen.
    for _ in 0..20 {
        let commands: [(&str, BoxFuture<'_, bool>); 7] = [
            (
                "contact_create",
                Box::pin(async {
                    store.contact_create(rig.create_plan(&account, &contact), None).await.is_err()
                }),
            ),
            (
                "list_update",
                Box::pin(async {
                    let update =
                        store.list_update(account.id, rig.id(), ListChange::default(), rig.now());
                    update.await.expect("answered").is_none()
                }),
            ),
            (
                "template_update",
                Box::pin(async {
                    let change = TemplateChange::default();
                    let update = store.template_update(account.id, rig.id(), change, rig.now());
                    update.await.expect("answered").is_none()
                }),
            ),
            (
                "endpoint_update",
                Box::pin(async {
                    let change = EndpointChange::default();
                    let update = store.endpoint_update(account.id, rig.id(), change, rig.now());
                    update.await.expect("answered").is_none()
                }),
            ),
            (
                "number_delete",
                Box::pin(async {
                    !store.number_delete(rig.id(), rig.now()).await.expect("answered")
                }),
            ),
            (
                "campaign_delete",
                Box::pin(async {
                    store.campaign_delete(account.id, rig.id(), IfVersion::Any).await.is_err()
                }),
            ),
            (
                "message_cancel",
                Box::pin(async {
                    let (message, at, ids) = (rig.id(), rig.now(), rig.ids());
                    let plan = CancelPlan { account: account.id, message, at, ids };
                    store.message_cancel(plan).await.is_err()
                }),
            ),
        ];
        for (command, refused) in commands {
            assert!(refused.await, "{command} is refused");
            let open: i64 = sqlx::query_scalar(open).fetch_one(&mut beside).await.expect("counted");
            assert_eq!(open, 0, "{command} was answered before its rollback");
        }
    }
}

/// Two large sends wait for a locked account. A send of another account goes ahead.
async fn large_sends_hold_up_nobody(rig: &Rig, url: &str) {
    let (large, small) = (rig.account(20_000).await, rig.account(1).await);
    let lock = format!("SELECT FROM account WHERE id = '{}' FOR UPDATE", uuid(large.id));
    let blocker = Blocker::holding(url, lock).await;
    let mut waiting = Vec::new();
    for _ in 0..2 {
        // Together they exceed what one commit holds.
        let plans: Vec<_> = (0..6).map(|_| rig.plan(&large, &request(1..=1_000))).collect();
        let store = Arc::clone(rig.store());
        waiting.push(tokio::spawn(async move { store.send_accept(plans).await }));
    }
    wait_for_locks(url, 1).await;
    let sent = rig.send(&small, &request([1])).await;
    assert_eq!(sent.messages.len(), 1);
    assert!(waiting.iter().all(|large| !large.is_finished()));
    blocker.let_go().await;
    for answers in join_all(waiting).await {
        let answers = answers.expect("it finishes in time");
        let messages = answers.into_iter().map(|sent| sent.expect("accepted").messages.len());
        assert_eq!(messages.sum::<usize>(), 6_000);
    }
}

/// Each of the two committers waits for a locked message. The receipts that arrive meanwhile share
/// one commit.
async fn receipts_share_a_commit(rig: &Rig, url: &str) {
    let account = rig.account(200).await;
    let sent = rig.send(&account, &request(1..=102)).await;
    rig.leave_all().await;
    let plan = |n: usize| vec![rig.receipt(sent.messages[n].id, ReceiptStatus::Delivered)];
    let [one, other] = [0, 1].map(|n: usize| uuid(sent.messages[n].id));
    let locks = format!("SELECT FROM message WHERE id IN ('{one}', '{other}') FOR UPDATE");
    let blocker = Blocker::holding(url, locks).await;
    let mut first = Vec::new();
    for (n, waiting) in [(0, 1), (1, 2)] {
        let (store, plans) = (Arc::clone(rig.store()), plan(n));
        first.push(tokio::spawn(async move { store.receipts_record(plans).await }));
        wait_for_locks(url, waiting).await;
    }
    let mut rest = join_all((2..102).map(|n| rig.store().receipts_record(plan(n))));
    // Both committers are busy now, so these receipts wait.
    assert!(poll_immediate(&mut rest).await.is_none());
    blocker.let_go().await;
    for answers in rest.await {
        assert!(matches!(all_recorded(answers)[..], [Recorded::Changed(_)]));
    }
    for answers in join_all(first).await {
        all_recorded(answers.expect("it finishes in time"));
    }
    let commits =
        count(url, "SELECT count(DISTINCT xmin::text) FROM message WHERE status = 'delivered'")
            .await;
    assert_eq!(commits, 3, "two for the locked messages, and one for all the others");
}

/// A connection that holds locks until [`Blocker::let_go`].
pub(crate) struct Blocker(PgConnection);

impl Blocker {
    /// Takes the locks of this statement and keeps them.
    pub(crate) async fn holding(url: &str, what: impl Into<String>) -> Self {
        let mut connection = connect(url).await;
        connection.execute("BEGIN").await.expect("begun");
        connection.execute(AssertSqlSafe(what.into())).await.expect("held");
        Self(connection)
    }

    /// Keeps what the statement changed, and releases all locks.
    pub(crate) async fn keep(mut self) {
        self.0.execute("COMMIT").await.expect("committed");
        self.0.close().await.expect("the connection ends");
    }

    /// Releases all locks.
    pub(crate) async fn let_go(mut self) {
        self.0.execute("ROLLBACK").await.expect("let go");
        self.0.close().await.expect("the connection ends");
    }
}

/// Waits until `wanted` transactions wait for locks, for 30 s at most.
pub(crate) async fn wait_for_locks(url: &str, wanted: i64) {
    let mut connection = connect(url).await;
    let waiting = "SELECT count(*) FROM pg_stat_activity
                   WHERE datname = current_database() AND wait_event_type = 'Lock'";
    for _ in 0..3_000 {
        let found: i64 =
            sqlx::query_scalar(waiting).fetch_one(&mut connection).await.expect("counted");
        if found >= wanted {
            connection.close().await.expect("the connection ends");
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("fewer than {wanted} transactions wait for locks");
}

async fn impossible_values(rig: &Rig, url: &str) {
    let (account, endpoint) = rig.listener(person(900)).await;
    rig.raise(person(900), 1).await;
    rig.adjust(&account, 5).await.expect("booked");
    for (table, column, constraint, kept) in [
        ("account", "status", "account_status_check", "active"),
        ("endpoint", "disabled_reason", "endpoint_disabled_reason_check", ""),
        ("delivery", "status", "delivery_status_check", "pending"),
        ("delivery", "event_type", "none", "message.received"),
        ("ledger_entry", "kind", "ledger_entry_kind_check", "top_up"),
    ] {
        run(url, format!("ALTER TABLE {table} DROP CONSTRAINT IF EXISTS {constraint}")).await;
        run(url, "ALTER TABLE delivery DROP CONSTRAINT IF EXISTS delivery_check").await;
        run(url, format!("UPDATE {table} SET {column} = 'no such thing'")).await;
        let error = read(rig, &account, &endpoint, table).await.expect_err("an impossible row");
        let told = cause(&error);
        let named = format!("cannot read column {column} of table {table}, row ");
        assert!(told.starts_with(&named) && told.ends_with(": invalid value"), "{told}");
        run(url, format!("UPDATE {table} SET {column} = NULLIF('{kept}', '')")).await;
        read(rig, &account, &endpoint, table).await.expect("a row as it was");
    }
}

async fn read(
    rig: &Rig,
    account: &Account,
    endpoint: &Endpoint,
    table: &str,
) -> Result<(), StoreError> {
    let store: &Arc<dyn Store> = rig.store();
    match table {
        "account" => store.account_get(account.id).await.map(drop),
        "endpoint" => store.endpoint_list(EndpointsWanted::Of(account.id)).await.map(drop),
        "delivery" => store.delivery_list(account.id, endpoint.id, page(10, None)).await.map(drop),
        _ => store.ledger_list(account.id, page(10, None)).await.map(drop),
    }
}

async fn backlog_hides_nothing(rig: &Rig, url: &str) {
    let (account, busy) = rig.listener(person(900)).await;
    let (_, quiet) = rig.listener(person(901)).await;
    // More than a claim reads to find the endpoints with due deliveries.
    backlog(rig, url, &busy, 1_500).await;
    rig.raise(person(901), 1).await;
    let room = Room { total: 10, failing: 5, each: 4, endpoints: BTreeMap::new() };
    let claimed = rig.claim_deliveries(room.clone()).await;
    let of = |endpoint: &Endpoint| {
        claimed.iter().filter(|claimed| claimed.endpoint == endpoint.id).count()
    };
    assert_eq!((of(&busy), of(&quiet)), (4, 1));
    rig.succeed(&claimed).await;
    // Finished deliveries that are not tidied yet hide nothing either.
    rig.switch(&busy, Power::Off(DisabledReason::ByOwner)).await;
    rig.switch(&busy, Power::On).await;
    assert_eq!(rig.store().next(Due::Deliveries).await.expect("read"), None);
    rig.raise(person(900), 1).await;
    assert_eq!(rig.store().next(Due::Deliveries).await.expect("read"), Some(rig.now()));
    assert_eq!(rig.claim_deliveries(room.clone()).await.len(), 1);
    assert!(
        rig.store().endpoint_delete(account.id, busy.id, IfVersion::Any).await.expect("removed")
    );
    rig.raise(person(901), 1).await;
    assert_eq!(rig.store().next(Due::Deliveries).await.expect("read"), Some(rig.now()));
    assert_eq!(rig.claim_deliveries(room).await.len(), 1);
}

async fn switch_off_with_a_backlog(rig: &Rig, url: &str) {
    let (_, endpoint) = rig.listener(person(900)).await;
    backlog(rig, url, &endpoint, 3_000).await;
    rig.raise(person(900), 1).await;
    let newest = deliveries(rig, &endpoint).await.remove(0).id;
    rig.switch(&endpoint, Power::Off(DisabledReason::ByOwner)).await;
    let given_up = "SELECT count(*) FROM delivery WHERE status = 'given_up'";
    assert_eq!(count(url, given_up).await, 0, "the backlog is not written");
    let delivery = rig.delivery(&endpoint, newest).await;
    assert_eq!(delivery.status, DeliveryStatus::GivenUp);
    assert_eq!(delivery.last_error, Some(DeliveryError::EndpointOff));
    assert_eq!(tidy(rig).await, 3_001);
    assert_eq!(count(url, given_up).await, 3_001);
    assert_eq!(rig.delivery(&endpoint, newest).await, delivery, "as it was read before");
}

async fn removal_with_a_backlog(rig: &Rig, url: &str) {
    let (account, endpoint) = rig.listener(person(900)).await;
    backlog(rig, url, &endpoint, 3_000).await;
    assert!(
        rig.store()
            .endpoint_delete(account.id, endpoint.id, IfVersion::Any)
            .await
            .expect("removed")
    );
    let left = "SELECT count(*) FROM delivery";
    assert_eq!(count(url, left).await, 3_000, "the backlog is not written");
    assert_eq!(deliveries(rig, &endpoint).await, []);
    assert_eq!(tidy(rig).await, 3_000);
    assert_eq!(count(url, left).await, 0);
    let removed = "SELECT count(*) FROM endpoint_removed";
    assert_eq!(count(url, removed).await, 1, "something may still come for it");
    run(url, "UPDATE endpoint_removed SET removed_at = now() - interval '1 hour'").await;
    tidy(rig).await;
    assert_eq!(count(url, removed).await, 0);
}
