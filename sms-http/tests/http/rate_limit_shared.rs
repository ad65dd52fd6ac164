//! The rate limit of a key over several servers on one database, as its users meet it: whichever
//! they ask, and whoever starts or dies meanwhile.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use sms_core::clock::{Clock, SystemClock};
use sms_core::time::Timestamp;
use tokio::task::JoinSet;

use crate::process::{Process, TOKEN, ask};
use crate::server_postgres::{account, cluster, start};

/// A moment by the clock that only goes on, and by the machine's own, which the database goes by
/// and which may be set.
#[derive(Debug, Clone, Copy)]
struct Moment {
    steady: Instant,
    wall: Timestamp,
}

impl Moment {
    fn now() -> Self {
        Self { steady: Instant::now(), wall: SystemClock.now() }
    }

    /// The time since an earlier one, by the clock that went further: milliseconds, rounded up.
    fn millis_since(self, earlier: Self) -> u128 {
        let steady = (self.steady - earlier.steady).as_millis() + 1;
        steady.max(self.wall.since(earlier.wall).as_millis() + 1)
    }
}

/// When a request that was let through was sent, and when its answer was there.
type Passed = (Moment, Moment);

/// Asks these servers with one key, four requests at a time each, for so long.
async fn hammer(servers: &[&Process], key: &str, time: Duration) -> Vec<Passed> {
    let end = Instant::now() + time;
    let mut all = JoinSet::new();
    for server in servers {
        for _ in 0..4 {
            all.spawn(hammer_one(server.addr(), key.to_owned(), end));
        }
    }
    all.join_all().await.into_iter().flatten().collect()
}

async fn hammer_one(addr: SocketAddr, key: String, end: Instant) -> Vec<Passed> {
    let mut passed = Vec::new();
    while Instant::now() < end {
        let sent = Moment::now();
        let answer = ask(addr, "GET", "/api/v1/balance", Some(&key), "").await;
        match answer.status {
            200 => passed.push((sent, Moment::now())),
            429 => tokio::time::sleep(Duration::from_millis(5)).await,
            other => panic!("{other}: {}", answer.body),
        }
    }
    passed
}

/// How many requests a server let through by its own count, because the database did not answer in
/// time: the law is not promised for those.
async fn judged_alone(server: &Process) -> u128 {
    let page = ask(server.addr(), "GET", "/metrics", Some(TOKEN), "").await;
    assert_eq!(page.status, 200, "{}", page.body);
    let line = page.body.lines().find(|line| line.starts_with("sms_rate_limit_unshared_total "));
    line.map_or(0, |line| line.rsplit(' ').next().unwrap().parse().unwrap())
}

/// No window holds more whole requests than the burst of 40, 20 for each of its seconds, and those
/// that servers judged `alone`.
fn assert_law(passed: &[Passed], alone: u128) {
    let mut by_end = passed.to_vec();
    by_end.sort_by_key(|(_, answered)| answered.steady);
    for (from, _) in passed {
        let within = by_end.iter().filter(|(sent, _)| sent.steady >= from.steady);
        for (count, (_, until)) in (1..).zip(within) {
            let share = until.millis_since(*from) / 50;
            let wall = until.wall.since(from.wall);
            let steady = until.steady - from.steady;
            assert!(
                count <= 40 + share + alone,
                "{count} requests, {alone} of them alone, in {steady:?}, by the wall {wall:?}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_has_one_limit_over_all_servers_whoever_starts_stops_or_dies() {
    let database = cluster().create(None).await;
    let url = cluster().url(&database);
    let second = Duration::from_secs(1);
    let first = start(&url);
    let key = account(&first, 100).await;
    // One that is alone gives the whole burst.
    let mut passed = Vec::new();
    for _ in 0..40 {
        let sent = Moment::now();
        let answer = ask(first.addr(), "GET", "/api/v1/balance", Some(&key), "").await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        passed.push((sent, Moment::now()));
    }
    passed.extend(hammer(&[&first], &key, second).await);

    let other = start(&url);
    passed.extend(hammer(&[&first, &other], &key, 4 * second).await);
    let before = passed.len();
    let third = start(&url);
    let shared = hammer(&[&first, &other, &third], &key, 4 * second).await;
    println!("{before} before, {} of 80 in 4 s over three servers", shared.len());
    passed.extend(shared);

    let mut alone = judged_alone(&first).await;
    first.signal("-KILL");
    drop(first);
    passed.extend(hammer(&[&other, &third], &key, 2 * second).await);
    alone += judged_alone(&other).await;
    other.signal("-TERM");
    assert!(other.ended().success());
    let fourth = start(&url);
    passed.extend(hammer(&[&third, &fourth], &key, 2 * second).await);
    alone += judged_alone(&third).await + judged_alone(&fourth).await;
    println!("{} in all, {alone} of them judged alone", passed.len());
    assert_law(&passed, alone);
    assert!(passed.len() > before, "servers that share let requests through");
    drop((third, fourth));
    cluster().drop(&database).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_follows_one_that_was_killed_keeps_the_limit() {
    let database = cluster().create(None).await;
    let url = cluster().url(&database);
    let mut server = start(&url);
    let key = account(&server, 100).await;
    let (mut passed, mut alone) = (Vec::new(), 0);
    for _ in 0..3 {
        passed.extend(hammer(&[&server], &key, Duration::from_millis(300)).await);
        alone += judged_alone(&server).await;
        server.signal("-KILL");
        drop(server);
        server = start(&url);
    }
    passed.extend(hammer(&[&server], &key, Duration::from_millis(300)).await);
    alone += judged_alone(&server).await;
    assert_law(&passed, alone);
    drop(server);
    cluster().drop(&database).await;
}
