use std::collections::HashMap;
use std::future::pending;

use async_trait::async_trait;
use metrics_exporter_prometheus::PrometheusBuilder;
use sms_core::ids::Id;
use sms_core::rate_limit::SECOND;
use sms_core::rate_limit::reservation::{Granted, Reservation, ReservationFacts};

use super::*;

/// How the store takes what it is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    Answers,
    /// After a tenth of a second.
    Tarries,
    Fails,
    /// Neither answers nor fails.
    Hangs,
}

impl Manner {
    async fn of<T>(self, answer: T) -> Result<T, StoreError> {
        match self {
            Self::Answers => Ok(answer),
            Self::Tarries => {
                sleep(Duration::from_millis(100)).await;
                Ok(answer)
            }
            Self::Fails => Err(StoreError::Unavailable { doing: "counting", source: None }),
            Self::Hangs => pending().await,
        }
    }
}

/// Counts for several servers, all of which share.
#[derive(Debug)]
struct Counter {
    check_ins: Mutex<Manner>,
    reservations: Mutex<Manner>,
    start: Instant,
    arrivals: Mutex<HashMap<ApiKeyId, u64>>,
}

impl Counter {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            check_ins: Mutex::new(Manner::Answers),
            reservations: Mutex::new(Manner::Answers),
            start: Instant::now(),
            arrivals: Mutex::default(),
        })
    }

    fn take_check_ins(&self, manner: Manner) {
        *self.check_ins.lock().unwrap() = manner;
    }

    fn take_reservations(&self, manner: Manner) {
        *self.reservations.lock().unwrap() = manner;
    }

    fn settle(&self, reservation: Reservation) -> Granted {
        let mut arrivals = self.arrivals.lock().unwrap();
        let arrival = arrivals.get(&reservation.key).copied();
        // It has counted for long: a key that is new has its burst.
        let now = 1_000 * SECOND + u64::try_from(self.start.elapsed().as_nanos()).unwrap();
        let granted = reservation.settle(ReservationFacts { arrival, start: Some(0), now });
        arrivals.insert(reservation.key, granted.arrival);
        granted
    }
}

#[async_trait]
impl SharedLimits for Counter {
    async fn check_in(&self, _check_in: CheckIn) -> Result<Standing, StoreError> {
        let manner = *self.check_ins.lock().unwrap();
        manner.of(Standing::Shared { others: 1 }).await
    }

    async fn reserve(&self, asked: Vec<Reservation>) -> Result<Vec<Granted>, StoreError> {
        let manner = *self.reservations.lock().unwrap();
        manner.of(()).await?;
        Ok(asked.into_iter().map(|reservation| self.settle(reservation)).collect())
    }

    async fn tidy(&self, _limit: usize) -> Result<usize, StoreError> {
        Ok(0)
    }
}

/// Servers over one store, each with a place of its own. They run until dropped.
async fn servers(store: &Arc<Counter>, gcra: Gcra, count: usize) -> Vec<SharedLimiter> {
    let mut servers = Vec::new();
    for _ in 0..count {
        let limiter = SharedLimiter::new(Arc::clone(store) as Arc<dyn SharedLimits>, gcra);
        limiter.join().await;
        let running = limiter.clone();
        tokio::spawn(async move { running.run().await });
        servers.push(limiter);
    }
    servers
}

async fn passes(limiter: &SharedLimiter) -> bool {
    limiter.judge(Id::from_u128(1)).await.retry_after.is_none()
}

async fn passed_of(limiter: &SharedLimiter, requests: usize) -> usize {
    let mut passed = 0;
    for _ in 0..requests {
        passed += usize::from(passes(limiter).await);
    }
    passed
}

/// How many requests of one key these servers let through when all are asked every millisecond.
async fn passed_in(servers: &[SharedLimiter], time: Duration) -> usize {
    let (mut passed, start) = (0, Instant::now());
    while start.elapsed() < time {
        for server in servers {
            passed += usize::from(passes(server).await);
        }
        sleep(Duration::from_millis(1)).await;
    }
    passed
}

/// What a test's servers count as `sms_rate_limit_unshared_total`.
fn unshared_while<F: Future<Output = ()>>(test: impl FnOnce() -> F) -> u64 {
    let recorder = PrometheusBuilder::new().build_recorder();
    metrics::with_local_recorder(&recorder, || {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_time().start_paused(true).build().unwrap().block_on(test());
    });
    let page = recorder.handle().render();
    let line = page.lines().find(|line| line.starts_with("sms_rate_limit_unshared_total "));
    line.map_or(0, |line| line.rsplit(' ').next().unwrap().parse().unwrap())
}

const TWENTY_OF_FORTY: (u32, u32) = (20, 40);

#[test]
fn while_check_ins_are_late_and_the_lease_holds_requests_are_counted_with_the_others() {
    for manner in [Manner::Fails, Manner::Hangs] {
        let alone = unshared_while(|| async {
            let (rate, burst) = TWENTY_OF_FORTY;
            let store = Counter::new();
            let servers = servers(&store, Gcra::new(rate, burst), 2).await;
            let mut passed = passed_in(&servers, Duration::from_secs(2)).await;
            store.take_check_ins(manner);
            // A lease is trusted for 1.5 s, and was renewed within the last 0.4 s.
            passed += passed_in(&servers, Duration::from_millis(1_090)).await;
            assert!((80..=40 + 62).contains(&passed), "{passed}");
        });
        assert_eq!(alone, 0);
    }
}

#[test]
fn a_check_in_that_is_not_answered_is_made_again_before_the_lease_is_over() {
    let alone = unshared_while(|| async {
        let (rate, burst) = TWENTY_OF_FORTY;
        let store = Counter::new();
        let servers = servers(&store, Gcra::new(rate, burst), 2).await;
        // Just before the check-in that is due 0.8 s after the start.
        let mut passed = passed_in(&servers, Duration::from_millis(790)).await;
        store.take_check_ins(Manner::Hangs);
        passed += passed_in(&servers, Duration::from_millis(560)).await;
        store.take_check_ins(Manner::Tarries);
        passed += passed_in(&servers, Duration::from_millis(1_650)).await;
        assert!((80..=40 + 60).contains(&passed), "{passed}");
    });
    assert_eq!(alone, 0);
}

#[test]
fn a_store_that_is_away_leaves_each_server_its_own_count() {
    for (check_ins, reservations) in [
        (Manner::Fails, Manner::Fails),
        (Manner::Hangs, Manner::Hangs),
        (Manner::Answers, Manner::Fails),
        (Manner::Answers, Manner::Hangs),
    ] {
        let alone = unshared_while(|| async {
            let store = Counter::new();
            store.take_check_ins(check_ins);
            store.take_reservations(reservations);
            // One request in a long time, so that none comes back while this runs.
            let servers = servers(&store, Gcra::new(1, 300), 2).await;
            for server in &servers {
                assert_eq!(passed_of(server, 200).await, 200);
                let passed = passed_of(server, 1_000).await;
                assert!((100..=103).contains(&passed), "{passed}");
            }
        });
        // Those that were refused are not among them.
        assert!((600..=606).contains(&alone), "{alone}");
    }
}

#[test]
fn reservations_are_asked_for_again_once_the_store_answers_them() {
    for manner in [Manner::Fails, Manner::Hangs] {
        let alone = unshared_while(|| async {
            let store = Counter::new();
            let servers = servers(&store, Gcra::new(1, 10), 2).await;
            store.take_reservations(manner);
            assert!(passes(&servers[0]).await);
            store.take_reservations(Manner::Answers);
            // Longer than the store is waited for, and the pause after that.
            sleep(Duration::from_secs(2)).await;
            assert!(passes(&servers[0]).await);
        });
        assert_eq!(alone, 1);
    }
}

#[test]
fn nobody_waits_long_for_a_store_that_hangs() {
    let alone = unshared_while(|| async {
        let store = Counter::new();
        let servers = servers(&store, Gcra::new(1, 100), 1).await;
        store.take_check_ins(Manner::Hangs);
        store.take_reservations(Manner::Hangs);
        let start = Instant::now();
        assert_eq!(passed_of(&servers[0], 50).await, 50);
        // By a clock of the test's own: one wait for the store, and none after it.
        assert!(start.elapsed() <= RESERVATION_PATIENCE + CHECK_IN_PATIENCE);
    });
    assert_eq!(alone, 50);
}
