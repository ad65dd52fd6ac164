//! What a server does with a copy: it goes on where the source stopped.

use std::sync::Arc;
use std::time::Duration;

use sms_conformance::rig::{request, taken};
use sms_conformance::{Rig, ThreadRunner};
use sms_core::message::MessageStatus;
use sms_core::receipt::Recorded;
use sms_core::store::Store;
use sms_store_postgres::{PgSettings, PgStore};
use sms_store_sqlite::SqliteStore;

use crate::rig::{Own, connect, copied, open};

pub(crate) async fn sending_goes_on_from_the_copy(own: Arc<Own>) {
    let store = SqliteStore::open(own.file("a.db")).expect("the file opens");
    let rig = Rig::new(Arc::new(store), Arc::new(ThreadRunner));
    let account = rig.account(100).await;
    rig.provide_our_number().await;
    let sent = rig.text(&account, 1).await;
    let hand = rig.claim(1).await;
    rig.finish(&hand, &taken()).await;
    // One is in the hands of a worker that dies with the server, and one waits.
    let held = rig.text(&account, 2).await;
    assert_eq!(rig.claim(1).await.ids(), [held.id]);
    let waiting = rig.text(&account, 3).await;
    drop(rig);

    let url = own.database().await;
    let (file, database) = (open(own.file("a.db")), connect(&url).await);
    copied(&file, &database).await.expect("everything is copied");
    let back = open(own.file("b.db"));
    copied(&database, &back).await.expect("everything is copied back");
    database.close().await;
    drop(back);
    let database = PgStore::connect(&url, PgSettings { connections: 4 }).await.expect("it answers");
    let file = SqliteStore::open(own.file("b.db")).expect("the file opens");
    let stores: [(Arc<dyn Store>, _); 2] =
        [(Arc::new(database.clone()), own.runner()), (Arc::new(file), Arc::new(ThreadRunner))];
    for (store, runner) in stores {
        let rig = Rig::new(store, runner);
        rig.advance(Duration::from_mins(10));
        let mut claimed = rig.claim(10).await.ids();
        claimed.sort_unstable();
        assert_eq!(claimed, [held.id, waiting.id], "the lease has run out");
        let recorded = rig.deliver(sent.id).await;
        assert!(matches!(recorded, Recorded::Changed(_)), "{recorded:?}");
        assert_eq!(rig.status(&account, sent.id).await, MessageStatus::Delivered);
        rig.send(&account, &request([4])).await;
        assert_eq!(rig.balance(&account).await, 96);
    }
    database.close().await;
}
