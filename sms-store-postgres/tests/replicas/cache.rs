//! How long one program's caches hide another's changes.

use std::sync::Arc;
use std::time::Duration;

use sms_core::Sms;
use sms_core::account::Mode;
use sms_core::service::operator::NewAccountInput;
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
