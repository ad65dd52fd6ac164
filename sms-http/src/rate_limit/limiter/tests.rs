//! The promise for several servers, on a clock that the test moves. Each server's clock and the
//! database's show different times.

use std::future::pending;
use std::sync::atomic::AtomicUsize;

use metrics_exporter_prometheus::PrometheusBuilder;
use proptest::prelude::*;
use sms_core::ids::Id;
use tokio::runtime::{Builder, Runtime};

use super::*;

/// What the database does when it is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    Answers,
    Fails,
    Hangs,
}

/// The shared arrival times in memory, on the test's clock.
#[derive(Debug)]
struct Database {
    /// Nanoseconds since the test began.
    now: Arc<AtomicU64>,
    manner: Mutex<Manner>,
    arrivals: Mutex<HashMap<ApiKeyId, i64>>,
    asked: AtomicUsize,
    /// How long a question takes to arrive, and so does its answer. Nanoseconds.
    latency: AtomicU64,
}

#[async_trait]
impl SharedArrivals for Database {
    async fn add(&self, key: ApiKeyId, lot: Lot) -> Result<i64, StoreError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let manner = *self.manner.lock().unwrap();
        match manner {
            Manner::Answers => {}
            Manner::Fails => {
                return Err(StoreError::Unavailable { doing: "counting", source: None });
            }
            Manner::Hangs => pending().await,
        }
        let latency = self.latency.load(Ordering::Relaxed);
        self.now.fetch_add(latency, Ordering::Relaxed);
        // A million seconds past the test's own zero.
        let now = i64::try_from(self.now.load(Ordering::Relaxed) + 1_000_000 * SECOND).unwrap();
        let mut arrivals = self.arrivals.lock().unwrap();
        let arrival = arrivals.entry(key).or_default();
        *arrival = (*arrival + lot.charge).max(now + lot.ahead).min(now + lot.most);
        self.now.fetch_add(latency, Ordering::Relaxed);
        Ok(*arrival - now)
    }
}

struct Site {
    gcra: Gcra,
    now: Arc<AtomicU64>,
    database: Arc<Database>,
    runtime: Runtime,
}

impl Site {
    fn new(gcra: Gcra) -> Self {
        let now = Arc::new(AtomicU64::new(0));
        let database = Arc::new(Database {
            now: Arc::clone(&now),
            manner: Mutex::new(Manner::Answers),
            arrivals: Mutex::default(),
            asked: AtomicUsize::new(0),
            latency: AtomicU64::new(0),
        });
        let runtime = Builder::new_current_thread().enable_time().start_paused(true).build();
        Self { gcra, now, database, runtime: runtime.unwrap() }
    }

    fn stopwatch(&self) -> Stopwatch {
        let (zero, now) = (Instant::now(), Arc::clone(&self.now));
        Stopwatch::new(move || zero + Duration::from_nanos(now.load(Ordering::Relaxed)))
    }

    fn server(&self) -> RateLimiter {
        let shared = Arc::clone(&self.database) as Arc<dyn SharedArrivals>;
        RateLimiter::new(self.gcra, self.stopwatch(), Some(shared))
    }

    fn alone(&self) -> RateLimiter {
        RateLimiter::new(self.gcra, self.stopwatch(), None)
    }

    fn judge(&self, server: &RateLimiter, key: u128) -> Verdict {
        self.runtime.block_on(server.judge(Id::from_u128(key)))
    }

    fn admits(&self, server: &RateLimiter) -> bool {
        self.judge(server, 1).retry_after.is_none()
    }

    /// How many of these requests a server admits at once.
    fn admitted(&self, server: &RateLimiter, requests: u64) -> u64 {
        (0..requests).map(|_| u64::from(self.admits(server))).sum()
    }

    fn pass(&self, nanos: u64) {
        self.now.fetch_add(nanos, Ordering::Relaxed);
    }

    fn database(&self, manner: Manner) {
        *self.database.manner.lock().unwrap() = manner;
    }
}

const MILLI: u64 = SECOND / 1_000;

#[test]
fn keys_do_not_share() {
    let site = Site::new(Gcra::new(1, 1));
    let server = site.alone();
    assert_eq!(site.judge(&server, 1).retry_after, None);
    assert_eq!(site.judge(&server, 1).retry_after, Some(1));
    assert_eq!(site.judge(&server, 2).retry_after, None);
}

#[test]
fn each_further_server_admits_at_most_one_lot_more_and_the_bound_is_reached() {
    let site = Site::new(Gcra::new(20, 40));
    let servers = [(); 4].map(|()| site.server());
    assert_eq!(site.admitted(&servers[0], 100), 40);
    // The first server has added all but its last lot. Each of the others knows nothing of it
    // until it has admitted a lot itself.
    let more = [1, 2, 3].map(|other: usize| site.admitted(&servers[other], 100));
    assert_eq!(more, [5, 5, 5]);
}

#[test]
fn a_lot_costs_one_statement_and_a_refusal_none() {
    let site = Site::new(Gcra::new(20, 40));
    let server = site.server();
    assert_eq!(site.admitted(&server, 40), 40);
    assert_eq!(site.database.asked.load(Ordering::Relaxed), 7);
    assert_eq!(site.admitted(&server, 100), 0);
    assert_eq!(site.database.asked.load(Ordering::Relaxed), 7);
    site.pass(50 * MILLI);
    assert_eq!(site.admitted(&server, 100), 1);
    assert_eq!(site.database.asked.load(Ordering::Relaxed), 8);
}

#[test]
fn requests_of_long_ago_take_nothing_from_a_burst() {
    let site = Site::new(Gcra::new(20, 40));
    let servers = [site.server(), site.server()];
    for server in &servers {
        assert_eq!(site.admitted(server, 5), 5);
    }
    site.pass(60 * SECOND);
    assert_eq!(site.admitted(&servers[0], 100), 40);
}

#[test]
fn a_server_counts_alone_while_the_database_is_away_and_says_how_much() {
    for manner in [Manner::Fails, Manner::Hangs] {
        let site = Site::new(Gcra::new(20, 40));
        let servers = [site.server(), site.server()];
        let recorder = PrometheusBuilder::new().build_recorder();
        metrics::with_local_recorder(&recorder, || {
            site.database(manner);
            for server in &servers {
                assert_eq!(site.admitted(server, 100), 40);
            }
            // One question by each, and none for a second after it failed.
            assert_eq!(site.database.asked.load(Ordering::Relaxed), 2);
        });
        let page = recorder.handle().render();
        let line = page.lines().find(|line| line.starts_with("sms_rate_limit_unshared_total "));
        // All but the last lot of each, which is not due yet.
        assert_eq!(line, Some("sms_rate_limit_unshared_total 70"));
        site.database(Manner::Answers);
        site.pass(60 * SECOND);
        assert_eq!(site.admitted(&servers[0], 100), 40);
        assert_eq!(site.admitted(&servers[1], 100), 0, "it learns of the other");
    }
}

#[test]
fn a_database_that_lost_its_numbers_frees_no_requests_of_a_server_that_remembers_them() {
    let site = Site::new(Gcra::new(20, 40));
    let servers = [site.server(), site.server()];
    assert_eq!(servers.each_ref().map(|server| site.admitted(server, 100)), [40, 5]);
    site.database.arrivals.lock().unwrap().clear();
    // The second server remembers what it learned of the first.
    let mut admitted = 0;
    for _ in 0..10 {
        site.pass(50 * MILLI);
        admitted += site.admitted(&servers[1], 100);
    }
    assert_eq!(admitted, 10);
}

#[test]
fn a_slow_database_does_not_slow_a_key_down() {
    let site = Site::new(Gcra::new(20, 40));
    let server = site.server();
    site.database.latency.store(10 * MILLI, Ordering::Relaxed);
    let mut admitted = 0;
    while site.now.load(Ordering::Relaxed) < 20 * SECOND {
        admitted += site.admitted(&server, 5);
        site.pass(10 * MILLI);
    }
    // The burst and 20 requests a second, less what one answer takes.
    assert!((438..=441).contains(&admitted), "{admitted}");
}

#[test]
fn a_request_waits_half_a_second_for_a_database_that_hangs_and_the_next_does_not() {
    let site = Site::new(Gcra::new(1, 40));
    let server = site.server();
    site.database(Manner::Hangs);
    site.admitted(&server, 1);
    let start = site.runtime.block_on(async { tokio::time::Instant::now() });
    site.admitted(&server, 39);
    // The runtime's clock is virtual: it moves only while a request waits.
    let waited = site.runtime.block_on(async move { start.elapsed() });
    assert_eq!(waited.as_millis(), PATIENCE.as_millis());
}

#[test]
fn a_clock_of_the_database_that_is_set_back_locks_a_key_out_for_ten_seconds_at_most() {
    let site = Site::new(Gcra::new(20, 40));
    let server = site.server();
    let an_hour_ahead = i64::try_from(1_003_600 * SECOND).unwrap();
    site.database.arrivals.lock().unwrap().insert(Id::from_u128(1), an_hour_ahead);
    assert_eq!(site.admitted(&server, 100), 5);
    site.pass(10 * SECOND);
    assert!(!site.admits(&server));
    site.pass(50 * MILLI);
    assert!(site.admits(&server));
}

#[test]
fn keys_that_are_idle_for_an_hour_are_forgotten() {
    let site = Site::new(Gcra::new(20, 40));
    let server = site.server();
    let kept = || server.keys.lock().unwrap().counts.len();
    for key in 0..1_024 {
        site.judge(&server, key);
    }
    site.pass(3_600 * SECOND);
    site.judge(&server, 1_024);
    assert_eq!(kept(), 1_025, "the burst came back less than an hour ago");
    site.pass(3_601 * SECOND);
    for key in 1_025..2_049 {
        site.judge(&server, key);
    }
    assert_eq!(kept(), 1_024, "those of the last hour are left");
}

/// When something happens, and what.
#[derive(Debug, Clone, Copy)]
enum Step {
    Pass(u64),
    /// Requests that come to one server at once.
    Requests(usize, u8),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => (0..400 * MILLI).prop_map(Step::Pass),
        1 => (0..5 * SECOND).prop_map(Step::Pass),
        4 => (any::<usize>(), 1..60_u8).prop_map(|(server, count)| Step::Requests(server, count)),
        4 => (any::<usize>(), 1..6_u8).prop_map(|(server, count)| Step::Requests(server, count)),
    ]
}

proptest! {
    #[test]
    fn no_window_holds_more_than_the_burst_its_share_and_a_lot_for_each_further_server(
        rate in 1_u32..100,
        burst in 1_u32..100,
        count in 1_usize..6,
        steps in prop::collection::vec(step(), 1..150),
    ) {
        let gcra = Gcra::new(rate, burst);
        let site = Site::new(gcra);
        let servers: Vec<RateLimiter> = (0..count).map(|_| site.server()).collect();
        let mut admitted: Vec<u64> = Vec::new();
        for step in steps {
            match step {
                Step::Pass(nanos) => site.pass(nanos),
                Step::Requests(server, requests) => {
                    let server = &servers[server % count];
                    let now = site.now.load(Ordering::Relaxed);
                    let passed = site.admitted(server, requests.into());
                    admitted.extend((0..passed).map(|_| now));
                }
            }
        }
        let most = gcra.burst + gcra.lot() * u64::try_from(count - 1).unwrap();
        for (index, first) in admitted.iter().enumerate() {
            for (held, last) in (1..).zip(&admitted[index..]) {
                prop_assert!(held <= most + (last - first) / gcra.interval, "{held} of {most}");
            }
        }
    }

    #[test]
    fn one_server_alone_on_a_database_judges_as_one_without(
        rate in 1_u32..100,
        burst in 1_u32..100,
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let site = Site::new(Gcra::new(rate, burst));
        let (server, without) = (site.server(), site.alone());
        for step in steps {
            match step {
                Step::Pass(nanos) => site.pass(nanos),
                Step::Requests(_, requests) => {
                    for _ in 0..requests {
                        prop_assert_eq!(site.judge(&server, 1), site.judge(&without, 1));
                    }
                }
            }
        }
    }
}
