//! How long one program's caches hide another's changes.

use std::sync::Arc;
use std::time::Duration;

use sms_core::Sms;
use sms_core::account::Mode;
use sms_core::account::api_key::{ApiKey, KeyRecord};
use sms_core::account::store::{ApiKeyStore, KeyCreated};
use sms_core::idempotency::Once;
use sms_core::ids::IdSource;
use sms_core::random::SeededRandom;
use sms_core::service::operator::NewAccountInput;
use sqlx::Executor;
use tokio::time::timeout;

use crate::Database;

/// The limit that `decisions.md` of the specification sets.
const WITHIN: Duration = Duration::from_secs(5);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_revoked_key_is_refused_at_once_where_it_was_revoked_and_within_5_s_elsewhere() {
    let database = Database::new().await;
    let (here, there) = (database.store().await, database.store().await);
    let sms = |store| Sms::builder(Arc::new(store)).build();
    let (here, there) = (sms(here), sms(there));
    let account = here.operator().account_create(NewAccountInput::active("Bistro", 0)).await;
    let account = account.expect("made").id;
    let made = here.operator().api_key_create(account, Mode::Live, None).await.expect("made");
    for sms in [&here, &there] {
        let caller = sms.authenticate(made.key.reveal()).await.expect("read");
        assert_eq!(caller.map(|caller| caller.account), Some(account));
    }
    here.operator().api_key_revoke(account, made.record.id).await.expect("revoked");
    let refused = timeout(WITHIN, async {
        while there.authenticate(made.key.reveal()).await.expect("read").is_some() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
    assert_eq!(here.authenticate(made.key.reveal()).await.expect("read"), None);
    refused.await.expect("refused everywhere");
    database.drop().await;
}

/// The table is locked, so that a look-up would wait forever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unknown_key_that_comes_again_costs_no_look_up() {
    let database = Database::new().await;
    let sms = Sms::builder(Arc::new(database.store().await)).build();
    let unknown = ApiKey::generate(Mode::Live, &SeededRandom::new(99));
    assert_eq!(sms.authenticate(unknown.reveal()).await.expect("read"), None);
    let mut other = database.connect().await;
    other.execute("BEGIN").await.expect("begun");
    other.execute("LOCK TABLE api_key IN ACCESS EXCLUSIVE MODE").await.expect("locked");
    for _ in 0..1_000 {
        let answer = timeout(WITHIN, sms.authenticate(unknown.reveal())).await;
        assert_eq!(answer.expect("answered from memory").expect("read"), None);
    }
    other.execute("ROLLBACK").await.expect("unlocked");
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_that_was_unknown_works_at_once_where_it_is_created_and_within_5_s_elsewhere() {
    let database = Database::new().await;
    let store = database.store().await;
    let sms = |store| Sms::builder(Arc::new(store)).build();
    let (here, there) = (sms(store.clone()), sms(database.store().await));
    let account = here.operator().account_create(NewAccountInput::active("Bistro", 0)).await;
    let account = account.expect("made").id;
    let random = SeededRandom::new(99);
    let key = ApiKey::generate(Mode::Live, &random);
    for sms in [&here, &there] {
        assert_eq!(sms.authenticate(key.reveal()).await.expect("read"), None);
    }
    let at = here.now();
    let record = KeyRecord {
        id: IdSource::default().draw(at, &random).next(),
        account,
        mode: Mode::Live,
        name: None,
        hash: key.hash(),
        last_four: key.last_four().to_owned(),
        created_at: at,
        last_used_at: None,
        revoked_at: None,
    };
    assert_eq!(
        store.api_key_create(record, None).await.expect("written"),
        Once::Done(KeyCreated::Created)
    );
    let known = timeout(WITHIN, async {
        while there.authenticate(key.reveal()).await.expect("read").is_none() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
    let caller = here.authenticate(key.reveal()).await.expect("read");
    assert_eq!(caller.map(|caller| caller.account), Some(account));
    known.await.expect("known everywhere");
    database.drop().await;
}
