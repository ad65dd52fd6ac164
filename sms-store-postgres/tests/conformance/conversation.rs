//! What is promised of conversations beyond what every store shows: a database from before them
//! gets them when it is brought up to date.

use sms_conformance::Rig;
use sms_conformance::rig::{person, request};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

use crate::postgres::Act;

/// The tests by name.
pub(crate) const TESTS: &[(&str, Act)] =
    &[("conversation::texts_of_before_have_their_conversations", |rig, url| {
        Box::pin(texts_of_before(rig, url))
    })];

const MIGRATION: &str = include_str!("../../migrations/20261121230000_conversation.sql");

/// Brings a database with texts to the state before, and runs that part of the migration which
/// looks at what came in. The scenario's audit looks at every conversation.
async fn texts_of_before(rig: &Rig, url: &str) {
    let (account, other) = (rig.account(10).await, rig.account(10).await);
    let ours = rig.dedicated_number(person(900), &account).await.phone;
    for n in [1, 2, 1, 3] {
        rig.inbound_routed(n, ours, "Hello").await;
    }
    rig.read(&account, 2).await;
    rig.send(&account, &request([1, 9])).await;
    rig.send(&other, &request([1])).await;
    let shown = rig.conversations(account.id).await;
    let (_, rest) = MIGRATION.split_once("-- What came in before.\n").expect("it says so");
    let (filling, _) = rest.split_once("\n\n").expect("a paragraph");
    let mut connection = PgConnection::connect(url).await.expect("the server answers");
    for sql in
        ["TRUNCATE conversation, inbox; UPDATE account SET has_conversations = false", filling]
    {
        connection.execute(AssertSqlSafe(sql)).await.expect("the server does it");
    }
    connection.close().await.expect("the connection ends");
    assert_eq!(rig.conversations(account.id).await, shown);
    rig.audit().await;
    rig.send(&account, &request([3])).await;
    rig.send(&other, &request([3])).await;
    rig.inbound_routed(2, ours, "Hello again").await;
    rig.audit().await;
}
