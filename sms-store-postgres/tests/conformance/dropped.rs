//! Commands whose futures are dropped in the middle. A connection must never return to the pool
//! inside a transaction (transact-rs/sqlx#4393), and no command may be half done.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use sms_conformance::Rig;
use sms_conformance::rig::{person, request, taken};
use sms_core::account::{Account, Mode};
use sms_core::campaign::launch::LaunchPlan;
use sms_core::campaign::store::CampaignStore;
use sms_core::credits::store::CreditStore;
use sms_core::dispatch::store::DispatchStore;
use sms_core::event::EventType;
use sms_core::number::Number;
use sms_core::number::store::{CheckedIn, NumberStore};
use sms_core::webhook::attempt::Room;
use sms_core::webhook::store::WebhookStore;
use sms_store_postgres::PgStore;
use sqlx::{Connection, PgConnection};

use crate::Own;

/// The most polls after which a command is dropped. Most commands finish earlier.
const MOST_POLLS: usize = 24;
/// How long a connection may take to roll back what its command left.
const BOUND: Duration = Duration::from_secs(10);

/// Polls a command this many times, each time it is woken, then drops it.
async fn dropped_after(polls: usize, command: BoxFuture<'_, ()>) {
    let mut command = pin!(command);
    let mut left = polls;
    poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(());
        }
        left -= 1;
        let polled = command.as_mut().poll(context);
        // After the last poll, it does not wait for a wake-up that may never come.
        if polled.is_pending() && left == 0 { Poll::Ready(()) } else { polled }
    })
    .await;
}

/// The commands that workers and requests drop.
fn commands<'a>(
    store: &'a PgStore,
    rig: &'a Rig,
    account: &'a Account,
    launch: LaunchPlan,
) -> Vec<(&'static str, BoxFuture<'a, ()>)> {
    let room = Room { total: 5, failing: 5, each: 5, endpoints: std::collections::BTreeMap::new() };
    let (adjust, claim) = (rig.adjust_plan(account.id, 5), rig.claim_plan(3));
    let deliveries = rig.delivery_claim(room);
    vec![
        ("send", Box::pin(async { drop(rig.send(account, &request([1, 2])).await) })),
        ("adjust", Box::pin(async { drop(store.credits_adjust(adjust, None).await) })),
        ("launch", Box::pin(async { drop(store.campaign_launch(launch, None).await) })),
        ("claim", Box::pin(async { drop(store.dispatch_claim(claim).await) })),
        (
            "claim and record",
            Box::pin(async {
                let hand = rig.claim(2).await;
                drop(rig.finish(&hand, &taken()).await);
            }),
        ),
        ("claim deliveries", Box::pin(async { drop(store.deliveries_claim(deliveries).await) })),
    ]
}

/// Checks from another connection that a dropped command left nothing behind.
async fn assert_nothing_is_left(
    store: &PgStore,
    outside: &mut PgConnection,
    number: &Number,
    (moment, what): (i64, &str),
) {
    let deadline = Instant::now() + BOUND;
    loop {
        let open: Vec<(String,)> = sqlx::query_as(
            "SELECT COALESCE(query, '') FROM pg_stat_activity
             WHERE datname = current_database() AND state LIKE 'idle in transaction%'",
        )
        .fetch_all(&mut *outside)
        .await
        .expect("the server answers");
        if open.is_empty() {
            break;
        }
        assert!(Instant::now() < deadline, "{what}: left in a transaction after {open:?}");
        tokio::task::yield_now().await;
    }
    // A write outside a transaction is visible to others, so its connection is in no old
    // transaction.
    let at = sms_core::time::Timestamp::from_millis(moment);
    let check_in = || store.number_check_in(CheckedIn::Number(number.id), at);
    let written = tokio::join!(check_in(), check_in());
    assert_eq!((written.0.ok(), written.1.ok()), (Some(1), Some(1)), "{what}");
    let seen: (i64,) = sqlx::query_as(
        "SELECT (extract(epoch FROM checked_in_at) * 1000)::bigint FROM number WHERE id = $1",
    )
    .bind(uuid::Uuid::from_u128(number.id.as_u128()))
    .fetch_one(&mut *outside)
    .await
    .expect("the number is read");
    assert_eq!(seen.0, moment, "{what}: a write is seen by its own connection only");
    let wrong: Vec<(i64, i64)> = sqlx::query_as(
        "SELECT balance, (SELECT COALESCE(sum(amount), 0)::bigint FROM ledger_entry
                          WHERE account_id = account.id) AS booked
         FROM account WHERE balance <> (SELECT COALESCE(sum(amount), 0) FROM ledger_entry
                                        WHERE account_id = account.id)",
    )
    .fetch_all(outside)
    .await
    .expect("the ledger is read");
    assert_eq!(wrong, [], "{what}: a balance is not the sum of its ledger");
}

/// Commands that are dropped at any point leave no transaction open, and are done completely or not
/// at all.
pub(crate) async fn a_dropped_command_leaves_no_transaction_open(own: Own) {
    let rig = own.rig(&own.store);
    let account = rig.account(1_000_000).await;
    let number = rig.dedicated_number(person(900), &account).await;
    let _ = rig.endpoint(&account, &[EventType::MessageReceived]).await;
    rig.raise(number.phone, 3).await;
    let mut outside = PgConnection::connect(&own.url).await.expect("the server answers");
    let mut moment = 1_795_244_830_123;
    let list = rig.list_of(&account, [1, 2, 3]).await;
    for polls in 1..MOST_POLLS {
        let draft = rig.draft(&account, &list).await;
        let launch = rig.launch_plan(&account, &draft, Mode::Live, None);
        for (what, command) in commands(&own.store, &rig, &account, launch) {
            dropped_after(polls, command).await;
            moment += 1;
            let what = format!("{what}, dropped after {polls} polls");
            assert_nothing_is_left(&own.store, &mut outside, &number, (moment, &what)).await;
        }
    }
    rig.audit().await;
}
