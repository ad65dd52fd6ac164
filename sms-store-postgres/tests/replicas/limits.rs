//! The shared rate limit: leases and counters as the database keeps them. The rules, and the law
//! under every kind of trouble, are tested in the core.

use sms_core::ids::{ApiKeyId, Id};
use sms_core::rate_limit::Gcra;
use sms_core::rate_limit::membership::{CheckIn, ReplicaId, Standing, Wish};
use sms_core::rate_limit::reservation::{Granted, Reservation};
use sms_core::rate_limit::store::SharedLimits;
use sms_store_postgres::PgLimits;
use tokio::task::JoinSet;

use crate::Database;

async fn limits(database: &Database) -> PgLimits {
    PgLimits::new(&database.store().await)
}

async fn check_in(limits: &PgLimits, replica: u128, wish: Wish, turn: u64) -> Standing {
    let check_in = CheckIn { replica: ReplicaId(replica), wish, turn };
    limits.check_in(check_in).await.expect("the database answers")
}

fn ask(key: u128, waiting: u64) -> Reservation {
    let key: ApiKeyId = Id::from_u128(key);
    Reservation { key, gcra: Gcra::new(20, 40), waiting, ahead: 0 }
}

async fn reserve(limits: &PgLimits, asked: Vec<Reservation>) -> Vec<Granted> {
    limits.reserve(asked).await.expect("the database answers")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_counts_alone_until_another_comes_and_both_have_agreed_to_share() {
    let database = Database::new().await;
    let (one, other) = (limits(&database).await, limits(&database).await);
    assert_eq!(check_in(&one, 1, Wish::Alone, 1).await, Standing::Alone { spent: None });
    assert_eq!(check_in(&one, 1, Wish::Alone, 2).await, Standing::Alone { spent: None });
    assert_eq!(check_in(&other, 2, Wish::Alone, 1).await, Standing::Waiting);
    assert_eq!(check_in(&one, 1, Wish::Alone, 3).await, Standing::GiveWay);
    assert_eq!(check_in(&other, 2, Wish::Shared, 2).await, Standing::Waiting);
    assert_eq!(check_in(&one, 1, Wish::Shared, 4).await, Standing::Shared { others: 1 });
    assert_eq!(check_in(&other, 2, Wish::Shared, 3).await, Standing::Shared { others: 1 });
    assert_eq!(check_in(&other, 2, Wish::Shared, 3).await, Standing::Overtaken);
    assert_eq!(check_in(&one, 1, Wish::Leave, 5).await, Standing::Left);
    let Standing::Alone { spent: Some(ago) } = check_in(&other, 2, Wish::Alone, 4).await else {
        panic!("it is alone, after others")
    };
    assert!(ago < 20_000_000_000, "{ago}");
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_that_start_at_once_one_is_alone_and_the_others_wait() {
    let database = Database::new().await;
    let mut all = JoinSet::new();
    for replica in 1..=8 {
        let limits = limits(&database).await;
        all.spawn(async move { check_in(&limits, replica, Wish::Alone, 1).await });
    }
    let standings = all.join_all().await;
    let alone = |standing: &&Standing| matches!(standing, Standing::Alone { .. });
    assert_eq!(standings.iter().filter(alone).count(), 1, "{standings:?}");
    let waiting = standings.iter().filter(|standing| **standing == Standing::Waiting);
    assert_eq!(waiting.count(), 7, "{standings:?}");
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn replicas_that_reserve_at_once_are_granted_no_more_than_the_law_allows() {
    let database = Database::new().await;
    check_in(&limits(&database).await, 1, Wish::Shared, 1).await;
    let mut all = JoinSet::new();
    for replica in 0..4_u64 {
        let limits = limits(&database).await;
        all.spawn(async move {
            let mut granted = Vec::new();
            for round in 0..100 {
                // Two keys, in either order.
                let mut asked = vec![ask(1, 1 + (replica + round) % 3), ask(2, 1)];
                asked.rotate_left(usize::from(replica % 2 == 1));
                let answers = reserve(&limits, asked.clone()).await;
                granted.extend(asked.into_iter().zip(answers));
            }
            granted
        });
    }
    let granted: Vec<(Reservation, Granted)> = all.join_all().await.into_iter().flatten().collect();
    for key in [1, 2] {
        let of_key = granted.iter().filter(|(asked, _)| asked.key == Id::from_u128(key));
        let times = of_key.flat_map(|(_, granted)| (0..granted.waiting).map(|_| granted.now));
        let mut times: Vec<u64> = times.collect();
        times.sort_unstable();
        assert!(!times.is_empty());
        for (index, first) in times.iter().enumerate() {
            for (count, last) in (1..).zip(&times[index..]) {
                assert!(count <= 40 + (last - first) / 50_000_000, "{count} in a window");
            }
        }
    }
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn counters_that_a_crash_has_emptied_begin_with_the_burst_spent() {
    let database = Database::new().await;
    let limits = limits(&database).await;
    assert_eq!(reserve(&limits, vec![ask(2, 50)]).await[0].waiting, 0, "nobody has checked in");
    check_in(&limits, 1, Wish::Shared, 1).await;
    database.run("UPDATE rate_limit_start SET at = 1").await;
    assert_eq!(reserve(&limits, vec![ask(1, 30)]).await[0].waiting, 30);
    // As PostgreSQL does with tables that are not logged.
    database.run("TRUNCATE rate_limit, rate_limit_start").await;
    assert_eq!(reserve(&limits, vec![ask(1, 50)]).await[0].waiting, 0);
    check_in(&limits, 1, Wish::Shared, 2).await;
    let granted = reserve(&limits, vec![ask(1, 50)]).await[0];
    let begun: i64 = database.ask("SELECT at FROM rate_limit_start").await;
    let since = granted.now - u64::try_from(begun).expect("a time");
    assert!(granted.waiting <= since / 50_000_000, "{} after {since} ns", granted.waiting);
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_asks_for_nothing_learns_that_there_are_answers() {
    let database = Database::new().await;
    let limits = limits(&database).await;
    assert_eq!(reserve(&limits, Vec::new()).await, []);
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_that_have_been_idle_for_an_hour_are_forgotten() {
    let database = Database::new().await;
    let limits = limits(&database).await;
    check_in(&limits, 1, Wish::Shared, 1).await;
    reserve(&limits, vec![ask(1, 1), ask(2, 1), ask(3, 1)]).await;
    database.run("UPDATE rate_limit SET arrival = arrival - 3500000000000").await;
    assert_eq!(limits.tidy(10).await.expect("the database answers"), 0);
    database.run("UPDATE rate_limit SET arrival = arrival - 200000000000").await;
    reserve(&limits, vec![ask(3, 1)]).await;
    assert_eq!(limits.tidy(1).await.expect("the database answers"), 1);
    assert_eq!(limits.tidy(10).await.expect("the database answers"), 1);
    assert_eq!(database.ask::<i64>("SELECT count(*) FROM rate_limit").await, 1);
    database.drop().await;
}
