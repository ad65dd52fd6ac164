//! The rate limit of a key over several servers on one PostgreSQL: the promise of
//! `sms_http::rate_limit`. That it holds for all orders of requests is tested there, on a clock
//! that the test moves.

use std::sync::Arc;
use std::time::Instant;

use sms_core::ids::{ApiKeyId, Id};
use sms_http::rate_limit::{Gcra, RateLimiter, Stopwatch};
use sms_server::backing::InDatabase;
use sms_store_postgres::{PgRateLimit, PgSettings, PgStore};
use tokio::task::JoinSet;

use crate::process::{Process, TOKEN, ask};
use crate::server_postgres::{account, cluster, start};

/// How many of these requests a server admits while its own clock stands still.
async fn admitted(server: &RateLimiter, requests: u64) -> u64 {
    let key: ApiKeyId = Id::from_u128(1);
    let mut admitted = 0;
    for _ in 0..requests {
        admitted += u64::from(server.judge(key).await.retry_after.is_none());
    }
    admitted
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn servers_that_are_asked_at_once_admit_the_burst_and_a_lot_for_each_further_one() {
    let database = cluster().create(None).await;
    let url = cluster().url(&database);
    let gcra = Gcra::new(20, 400);
    assert_eq!(gcra.lot(), 5);
    let mut servers = Vec::new();
    for number in 0..3 {
        let store = PgStore::connect(&url, PgSettings { connections: 1 }).await.unwrap();
        if number == 0 {
            store.migrate().await.unwrap();
        }
        let now = Instant::now();
        let shared = Arc::new(InDatabase(PgRateLimit::new(&store)));
        servers.push(RateLimiter::new(gcra, Stopwatch::new(move || now), Some(shared)));
    }
    let began = Instant::now();
    let mut all = JoinSet::new();
    for server in servers {
        all.spawn(async move { admitted(&server, 500).await });
    }
    let total: u64 = all.join_all().await.into_iter().sum();
    // The servers' clocks stand still, the database's does not: it gives back 20 a second.
    let back = u64::try_from(began.elapsed().as_millis()).unwrap() / 50 + 1;
    assert!((400..=400 + 2 * 5 + back).contains(&total), "{total} admitted, {back} came back");
    cluster().drop(&database).await;
}

/// Asks a server again and again, and counts what it admits.
async fn hammer(server: &Process, key: &str, requests: u32) -> u128 {
    let mut admitted = 0;
    for _ in 0..requests {
        let answer = ask(server.addr(), "GET", "/api/v1/balance", Some(key), "").await;
        assert!(matches!(answer.status, 200 | 429), "{}: {}", answer.status, answer.body);
        admitted += u128::from(answer.status == 200);
    }
    admitted
}

/// How many requests a server counted alone because the database did not answer in time. The
/// promise leaves them out.
async fn counted_alone(server: &Process) -> u128 {
    let page = ask(server.addr(), "GET", "/metrics", Some(TOKEN), "").await;
    assert_eq!(page.status, 200, "{}", page.body);
    let line = page.body.lines().find(|line| line.starts_with("sms_rate_limit_unshared_total "));
    line.map_or(0, |line| line.rsplit(' ').next().unwrap().parse().unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_has_one_limit_over_servers_that_share_a_database_and_follow_one_another() {
    let database = cluster().create(None).await;
    let url = cluster().url(&database);
    let (first, other) = (start(&url), start(&url));
    let key = account(&first, 100).await;
    let began = Instant::now();
    // A burst at one server is the burst of all.
    assert_eq!(hammer(&first, &key, 40).await, 40);
    let mut admitted = 40 + hammer(&other, &key, 40).await;
    let mut alone = counted_alone(&first).await;
    // One that follows a server that was killed counts as a third.
    first.signal("-KILL");
    drop(first);
    let third = start(&url);
    admitted += hammer(&third, &key, 40).await + hammer(&other, &key, 40).await;
    alone += counted_alone(&third).await + counted_alone(&other).await;
    let most = 40 + began.elapsed().as_millis() / 50 + 2 * 5 + alone;
    assert!(admitted <= most, "{admitted} of {most}, {alone} of them counted alone");
    drop((other, third));
    cluster().drop(&database).await;
}
