//! Sends that are accepted in one statement, and what a change between two of them is seen by: the
//! table of `src/sending/guarded.rs`.

use sms_conformance::Rig;
use sms_conformance::rig::{person, request};
use sms_core::account::{Account, AccountStatus};
use sms_core::for_stores::Health;
use sms_core::opt_out::{OptOut, OptOutSource};
use sms_store_postgres::{PgSettings, PgStore};
use sqlx::Connection;
use uuid::Uuid;

use super::hot::{connect, explain};
use super::{ALONE, Plans};
use crate::Own;
use crate::postgres::Act;

/// The tests by name.
pub(crate) const TESTS: &[(&str, Act)] =
    &[("sending::what_a_verdict_depends_on_moves_the_version", |rig, url| {
        Box::pin(versions(rig, url))
    })];

async fn version(url: &str, account: &Account) -> i64 {
    let mut connection = connect(url).await;
    let version = sqlx::query_scalar("SELECT version FROM account WHERE id = $1")
        .bind(Uuid::from_u128(account.id.as_u128()))
        .fetch_one(&mut connection)
        .await
        .expect("the account is there");
    connection.close().await.expect("the connection ends");
    version
}

/// What a send's verdict depends on, by what is done.
#[derive(Debug, Clone, Copy)]
enum Done {
    Suspends,
    Activates,
    OptsOut,
    OptsOutAgain,
    OptsIn,
    SendsStop,
    BeginsConversation,
    GoesOnTalking,
    Sends,
    TopsUp,
    Claims,
}

async fn act(rig: &Rig, account: &Account, done: Done) {
    let number = person(900);
    match done {
        Done::Suspends => rig.set_status(account, AccountStatus::Suspended).await,
        Done::Activates => rig.set_status(account, AccountStatus::Active).await,
        Done::OptsOut | Done::OptsOutAgain => {
            let (phone, created_at) = (person(1), rig.now());
            let opt_out = OptOut { phone, source: OptOutSource::Api, note: None, created_at };
            let created = rig.store().opt_out_create(account.id, opt_out, None).await;
            drop(created.expect("opted out"));
        }
        Done::OptsIn => {
            let deleted = rig.store().opt_out_delete(account.id, person(1)).await;
            assert!(deleted.expect("deleted"));
        }
        Done::SendsStop => drop(rig.inbound_routed(2, number, "STOP").await),
        Done::BeginsConversation => drop(rig.inbound_routed(3, number, "Hello").await),
        Done::GoesOnTalking => drop(rig.inbound_routed(4, number, "Hello").await),
        Done::Sends => drop(rig.send(account, &request([5])).await),
        Done::TopsUp => drop(rig.adjust(account, 5).await.expect("adjusted")),
        Done::Claims => drop(rig.claim(10).await),
    }
}

/// Whatever a verdict depends on counts the version of the account up, whichever command changes
/// it. What the guard compares itself does not, or sends would keep each other from being written
/// in one statement.
async fn versions(rig: &Rig, url: &str) {
    let account = rig.account(100).await;
    rig.dedicated_number(person(900), &account).await;
    let cases = [
        (Done::Sends, false),
        (Done::TopsUp, false),
        (Done::Claims, false),
        (Done::Suspends, true),
        (Done::Activates, true),
        (Done::OptsOut, true),
        // The row is there.
        (Done::OptsOutAgain, false),
        // Those who are remembered as opted out are looked up again.
        (Done::OptsIn, false),
        (Done::BeginsConversation, true),
        (Done::GoesOnTalking, false),
        (Done::SendsStop, true),
        (Done::Sends, false),
    ];
    for (done, moves) in cases {
        let before = version(url, &account).await;
        act(rig, &account, done).await;
        let after = version(url, &account).await;
        assert_eq!(after > before, moves, "{done:?}: {before}, then {after}");
        assert!(after >= before, "{done:?}");
    }
}

/// A plain send is one statement, once the account is known; nobody waits for a lock meanwhile. One
/// whose guard fails takes one statement more, those under the lock, and a read for the next.
pub(crate) async fn a_plain_send_takes_one_statement(own: Own) {
    let _alone = ALONE.lock().await;
    own.store.close().await;
    explain(&own.url).await;
    let store = PgStore::connect(&own.url, PgSettings { connections: 1 }).await;
    let store = store.expect("it answers");
    let rig = own.rig(&store);
    let account = rig.account(100).await;
    rig.provide_our_number().await;
    let held = || rig.held_plan(&account, &request(0..20));
    rig.accept(held()).await.expect("accepted");
    for plan in [held(), rig.plan(&account, &request([1])), held()] {
        let _ = Plans::told();
        rig.accept(plan).await.expect("accepted");
        assert_eq!(statements(&store).await, ["WITH placed"]);
    }
    rig.set_status(&account, AccountStatus::Suspended).await;
    rig.set_status(&account, AccountStatus::Active).await;
    let _ = Plans::told();
    rig.accept(rig.plan(&account, &request([1]))).await.expect("accepted");
    let all = statements(&store).await;
    assert!(all.len() > 2, "it was written with the account locked: {all:?}");
    rig.accept(rig.plan(&account, &request([1]))).await.expect("accepted");
    assert_eq!(statements(&store).await.last().map(String::as_str), Some("WITH placed"));
    assert_eq!(rig.balance(&account).await, 100 - 20 - 20 - 1 - 20 - 1 - 1);
    store.close().await;
}

/// How the statements begin that ran since the last look, without those that check rows of other
/// tables.
async fn statements(store: &PgStore) -> Vec<String> {
    // The plan of a statement may arrive with the next answer.
    store.health_check().await.expect("the server answers");
    let Plans(plans) = Plans::told();
    let text = |plan: &serde_json::Value| plan["Query Text"].as_str().unwrap_or("").to_owned();
    let texts = plans.iter().map(text).filter(|text| !text.contains("ONLY \"public\""));
    let begins = |text: String| text.chars().take("WITH placed".len()).collect();
    // What the health check asks.
    let is_check = |text: &String| text.starts_with("SELECT NOT") || text.is_empty();
    texts.filter(|text| !is_check(text)).map(begins).collect()
}
