//! The shared arrival times of the rate limit, as the database keeps them. How servers use them,
//! and what they promise, is tested in `sms-http`.

use sms_core::ids::Id;
use sms_store_postgres::{PgRateLimit, RateLot};
use tokio::task::JoinSet;

use crate::Database;

const SECOND: i64 = 1_000_000_000;
const HOUR: i64 = 3_600 * SECOND;

fn lot(key: u128, charge: i64, ahead: i64) -> RateLot {
    RateLot { key: Id::from_u128(key), charge, ahead, most: 100 * HOUR }
}

async fn add(rates: &PgRateLimit, lot: RateLot) -> i64 {
    rates.add(lot).await.expect("the database answers")
}

async fn arrival(database: &Database) -> i64 {
    database.ask("SELECT arrival FROM rate_limit").await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn lots_that_servers_add_at_once_all_count() {
    let database = Database::new().await;
    let first = PgRateLimit::new(&database.store().await);
    // Far ahead, so that no arrival time passes while the test runs.
    add(&first, lot(1, 0, HOUR)).await;
    let before = arrival(&database).await;
    let mut all = JoinSet::new();
    for _ in 0..4 {
        let rates = PgRateLimit::new(&database.store().await);
        all.spawn(async move {
            let mut last = 0;
            for _ in 0..100 {
                // The answer includes everything added before, so it only grows.
                let ahead = add(&rates, lot(1, SECOND, 0)).await;
                assert!(ahead > last - SECOND, "{ahead} after {last}");
                last = ahead;
            }
        });
    }
    all.join_all().await;
    assert_eq!(arrival(&database).await, before + 400 * SECOND);
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_arrival_time_is_the_later_of_the_sum_and_the_lots_own_within_a_bound() {
    let database = Database::new().await;
    let rates = PgRateLimit::new(&database.store().await);
    let now = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000000)::bigint";
    // The arrival time before and after a lot, in hours ahead of now.
    for (before, charge, ahead, most, after) in [
        (None, 1, 2, 10, 2),
        (None, 1, -2, 10, -2),
        (Some(3), 1, 2, 10, 4),
        (Some(-3), 1, 2, 10, 2),
        (Some(-3), 1, -5, 10, -2),
        (Some(8), 3, 2, 10, 10),
        (Some(80), 1, 2, 10, 10),
    ] {
        database.run("TRUNCATE rate_limit").await;
        if let Some(before) = before {
            let hours = before * HOUR;
            let key = "00000000-0000-0000-0000-000000000001";
            database
                .run(&format!("INSERT INTO rate_limit SELECT '{key}', ({now}) + {hours}"))
                .await;
        }
        let [charge, ahead, most] = [charge, ahead, most].map(|hours: i64| hours * HOUR);
        let key = Id::from_u128(1);
        let answer = add(&rates, RateLot { key, charge, ahead, most }).await;
        // The test itself takes less than half an hour, so whole hours tell the results apart.
        let minutes = (answer - after * HOUR).abs() / (60 * SECOND);
        assert!(minutes < 30, "{before:?} became {answer}, not {after} hours");
    }
    database.drop().await;
}
