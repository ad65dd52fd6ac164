//! What is promised of statistics beyond what every store shows: a database that was there before
//! them gets them.

use sms_conformance::Rig;
use sms_conformance::rig::{days, person, refused, request, seconds};
use sms_core::statistics::{Counts, Period};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

use crate::postgres::Act;

/// The tests by name.
pub(crate) const TESTS: &[(&str, Act)] =
    &[("statistics::what_was_there_before_them_is_counted_by_the_migration", |rig, url| {
        Box::pin(counted_by_migration(rig, url))
    })];

async fn counted_by_migration(rig: &Rig, url: &str) {
    let migration = include_str!("../../migrations/20261121220100_statistics.sql");
    let (_, backfill) = migration.split_once("-- What was there before.").expect("it is there");
    let account = rig.account(100).await;
    let number = rig.dedicated_number(person(900), &account).await;
    let text = rig.text_that_left(&account, 1).await;
    rig.advance(seconds(90));
    rig.deliver(text.id).await;
    let text = rig.text_that_left(&account, 2).await;
    rig.undeliver(text.id).await;
    rig.advance(days(2));
    rig.send_test(&account, &request([5])).await;
    rig.send(&account, &request([3, 4])).await;
    rig.advance(seconds(1));
    rig.finish(&rig.claim_all().await, &refused()).await;
    rig.inbound_routed(1, number.phone, "Thank you").await;
    let always = Period { from: account.created_at, to: rig.now().plus(seconds(1)) };
    let counted = rig.statistics(account.id, &[always]).await;
    rig.fold_statistics(1_000).await;
    let mut connection = PgConnection::connect(url).await.expect("the server answers");
    let forget = "TRUNCATE statistic, statistic_change";
    connection.execute(AssertSqlSafe(forget)).await.expect("the server does it");
    assert_eq!(rig.statistics(account.id, &[always]).await, [Counts::default()]);
    connection.execute(AssertSqlSafe(format!("--{backfill}"))).await.expect("it runs");
    connection.close().await.expect("the connection ends");
    assert_eq!(rig.statistics(account.id, &[always]).await, counted);
    rig.audit().await;
}
