//! The database's time.

use std::time::Duration;

use sms_core::clock::Clock;
use sms_core::time::Timestamp;
use sms_store_postgres::PgClock;
use sqlx::PgConnection;

use crate::Database;

async fn shown(connection: &mut PgConnection) -> Timestamp {
    let now = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint";
    let now = sqlx::query_scalar(now).fetch_one(connection).await;
    Timestamp::from_millis(now.expect("the database answers"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clocks_of_several_programs_show_the_databases_time_within_their_measured_error() {
    let database = Database::new().await;
    let stores = [database.store().await, database.store().await];
    let clocks = [PgClock::start(&stores[0]).await, PgClock::start(&stores[1]).await];
    let mut connection = database.connect().await;
    for clock in &clocks {
        let clock = clock.as_ref().expect("the database answers");
        // The clock shows whole milliseconds.
        let error = clock.uncertainty() + Duration::from_millis(1);
        for _ in 0..50 {
            let before = shown(&mut connection).await;
            let now = clock.now();
            let after = shown(&mut connection).await;
            assert!(now >= before.minus(error), "{now} is before {before}");
            assert!(now <= after.plus(error), "{now} is after {after}");
        }
    }
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_keeps_running_when_the_database_is_gone() {
    let database = Database::new().await;
    let store = database.store().await;
    let clock = PgClock::start(&store).await.expect("the database answers");
    let before = clock.now();
    store.close().await;
    database.drop().await;
    while clock.now() == before {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert!(clock.now() > before);
}
