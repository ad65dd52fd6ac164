//! Sends that are accepted in one statement, and what a change between two of them is seen by: the
//! table of `src/sending/guarded.rs`.

use sms_conformance::Rig;
use sms_conformance::rig::{page, person, request, request_with_key};
use sms_core::account::{Account, AccountStatus};
use sms_core::conversation::ConversationFilter;
use sms_core::conversation::store::ReadsConversations;
use sms_core::for_stores::Health;
use sms_core::idempotency::Replay;
use sms_core::opt_out::{OptOut, OptOutSource};
use sms_core::sending::idempotency::KEPT_FOR;
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
    BeginsAnother,
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
        Done::BeginsConversation | Done::GoesOnTalking => {
            drop(rig.inbound_routed(3, number, "Hello").await);
        }
        Done::BeginsAnother => drop(rig.inbound_routed(4, number, "Hello").await),
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
        (Done::BeginsAnother, true),
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
/// whose guard fails takes two more.
pub(crate) async fn a_plain_send_takes_one_statement(own: Own) {
    let _alone = ALONE.lock().await;
    let store = reported(&own).await;
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
    // Its guard fails, which is not among those that ended; the account is read, and it is written
    // under the guard after all.
    assert_eq!(statements(&store).await, ["SELECT id, ", "WITH placed"]);
    assert_eq!(rig.balance(&account).await, 100 - 20 - 20 - 1 - 20 - 1);
    store.close().await;
}

/// An account with conversations sends in one statement too, which moves those that it belongs to.
pub(crate) async fn a_send_in_a_conversation_takes_one_statement(own: Own) {
    let _alone = ALONE.lock().await;
    let store = reported(&own).await;
    let rig = own.rig(&store);
    let account = rig.account(100).await;
    rig.dedicated_number(person(900), &account).await;
    for sender in [3, 4] {
        drop(rig.inbound_routed(sender, person(900), "Hello").await);
    }
    rig.accept(rig.plan(&account, &request([5]))).await.expect("accepted");
    let _ = Plans::told();
    let sent = rig.accept(rig.plan(&account, &request([3]))).await.expect("accepted");
    assert_eq!(statements(&store).await, ["WITH placed"]);
    let all = ConversationFilter::default();
    let listed = store.conversation_list(account.id, &all, page(5, None)).await.expect("listed");
    let newest = listed.items.first().expect("two conversations");
    assert_eq!((newest.number, newest.last_message.id), (person(3), sent.messages[0].id));
    store.close().await;
}

/// A plain send with an idempotency key is one statement too. A repetition is answered without a
/// lock, and does not send the sends that share its commit to the locked path.
pub(crate) async fn a_send_with_a_key_takes_one_statement(own: Own) {
    let _alone = ALONE.lock().await;
    let store = reported(&own).await;
    let rig = own.rig(&store);
    let account = rig.account(100).await;
    rig.provide_our_number().await;
    let keyed = |key| rig.plan(&account, &request_with_key(1, key));
    rig.accept(keyed("first")).await.expect("accepted");
    let _ = Plans::told();
    rig.accept(keyed("second")).await.expect("accepted");
    assert_eq!(statements(&store).await, ["WITH placed"]);
    let together = vec![keyed("third"), keyed("first"), keyed("fourth")];
    let answers = rig.store().send_accept(together).await;
    let balances = answers.into_iter().map(|answer| {
        let sent = answer.expect("accepted");
        (sent.replay, sent.balance.get())
    });
    let (first, repeated) = (Replay::First, Replay::Repeated);
    assert_eq!(balances.collect::<Vec<_>>(), [(first, 97), (repeated, 99), (first, 96)]);
    let all = statements(&store).await;
    assert_eq!(all.last().map(String::as_str), Some("WITH placed"), "{all:?}");
    assert!(!all.iter().any(|text| text == "INSERT INTO"), "written under a lock: {all:?}");
    let again = rig.accept(keyed("third")).await.expect("repeated");
    assert_eq!((again.replay, again.balance.get()), (repeated, 97), "as it was answered first");
    let expired = rig.balance(&account).await;
    rig.advance(KEPT_FOR);
    rig.accept(keyed("first")).await.expect("accepted");
    assert_eq!(rig.balance(&account).await, expired - 1, "an expired key is taken over");
    store.close().await;
}

/// A key that has expired is taken over under a lock. Of the sends that share its commit, only
/// those of its account that follow it in the same call are, too.
pub(crate) async fn an_expired_key_sends_no_other_send_to_the_locked_path(own: Own) {
    let rig = own.rig(&own.store);
    let accounts = [rig.account(1).await, rig.account(1).await, rig.account(1).await];
    let [first, expired, last] = &accounts;
    rig.adjust(expired, 2).await.expect("adjusted");
    rig.provide_our_number().await;
    let keyed = |account: &Account, key| rig.plan(account, &request_with_key(1, key));
    rig.accept(keyed(expired, "old")).await.expect("accepted");
    rig.advance(KEPT_FOR);
    let together = vec![
        keyed(first, "new"),
        keyed(expired, "old"),
        keyed(last, "new"),
        keyed(expired, "new"),
        rig.plan(expired, &request([1])),
    ];
    let answers = rig.store().send_accept(together).await;
    let sent = answers.into_iter().map(|answer| answer.ok().map(|sent| sent.balance.get()));
    let expected = [Some(0), Some(1), Some(0), Some(0), None];
    assert_eq!(sent.collect::<Vec<_>>(), expected, "each account's in their order");
    let [first, expired, last] = [
        commit(&own.url, first).await,
        commit(&own.url, expired).await,
        commit(&own.url, last).await,
    ];
    assert_eq!(first, last, "they share the commit under their guards");
    assert_ne!(first, expired);
}

/// The transaction that wrote an account's newest message.
async fn commit(url: &str, account: &Account) -> String {
    let mut connection = connect(url).await;
    let newest = "SELECT xmin::text FROM message WHERE account_id = $1 ORDER BY id DESC LIMIT 1";
    let commit = sqlx::query_scalar(newest)
        .bind(Uuid::from_u128(account.id.as_u128()))
        .fetch_one(&mut connection)
        .await
        .expect("a message");
    connection.close().await.expect("the connection ends");
    commit
}

/// A store of one connection whose statements are reported.
async fn reported(own: &Own) -> PgStore {
    own.store.close().await;
    explain(&own.url).await;
    let store = PgStore::connect(&own.url, PgSettings { connections: 1 }).await;
    store.expect("it answers")
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
