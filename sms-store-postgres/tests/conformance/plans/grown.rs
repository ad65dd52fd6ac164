//! A database that has just grown: its queue has been counted, and its texts have not, so that they
//! are taken for some of each of two hundred accounts.

use sms_conformance::rig::{Rig, request, taken};
use sms_core::store::Store;
use sqlx::{Executor, PgConnection};

use super::Plans;

/// So many texts a send.
const MANY: u16 = 900;

/// Workers look each text up by its id all the same, and not among all of its account's.
pub(super) async fn texts_that_were_not_counted_are_looked_up(
    store: &dyn Store,
    rig: &Rig,
    connection: &mut PgConnection,
) {
    let account = rig.account(10_000).await;
    for _ in 0..4 {
        rig.send(&account, &request(0..MANY)).await;
    }
    connection.execute("ANALYZE queue").await.expect("the queue is counted");
    let _ = Plans::told();
    for _ in 0..8 {
        let hand = rig.claim(100).await;
        assert_eq!(hand.texts.len(), 100);
        rig.finish(&hand, &taken()).await;
        store.health_check().await.expect("the server answers");
    }
    Plans::told().judge_those_of("FROM due", "claims of texts that were not counted", 300.0);
    while !rig.claim(500).await.texts.is_empty() {}
}
