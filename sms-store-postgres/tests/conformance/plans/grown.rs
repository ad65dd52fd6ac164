//! A database that has just grown. Its queue has been analyzed and its messages have not, so that
//! the planner expects a few messages in each of two hundred accounts.

use sms_conformance::rig::{Rig, request, taken};
use sms_core::store::Store;
use sqlx::{Executor, PgConnection};

use super::Plans;

/// Messages per send.
const MANY: u16 = 900;

/// Workers still look up each message by its id, and do not search all messages of its account.
pub(super) async fn messages_that_were_not_analyzed_are_looked_up_by_id(
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
        assert_eq!(hand.messages.len(), 100);
        rig.finish(&hand, &taken()).await;
        store.health_check().await.expect("the server answers");
    }
    Plans::told().judge_those_of("FROM due", "claims of messages that were not analyzed", 300.0);
    while !rig.claim(500).await.messages.is_empty() {}
}
