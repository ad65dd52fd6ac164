//! Counting requests together with the other servers over one store: drives a
//! [`Replica`], whose rules are the core's.
//!
//! While this server is the only one it counts by itself, and a request asks nobody. With others
//! it takes tokens from the store: for all requests of all keys that wait, in one go, and for busy
//! keys some ahead of need.
//!
//! A store that does not answer shuts nobody out: the server then lets through what its own count
//! allows, and several servers let through the sum. What costs credits is refused by the ledger as
//! long as the store is away. Check-ins and reservations are told apart in this: a check-in waits
//! for a disk and a reservation does not, so one may be late while the other is answered.

use std::collections::BTreeMap;
use std::fmt;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sms_core::ids::ApiKeyId;
use sms_core::random::{Random, SystemRandom};
use sms_core::rate_limit::membership::{
    CHECK_IN_EVERY, CHECK_IN_WHILE_WAITING, CheckIn, ReplicaId, Standing,
};
use sms_core::rate_limit::replica::{Asked, Judged, Replica};
use sms_core::rate_limit::store::SharedLimits;
use sms_core::rate_limit::{Gcra, Verdict};
use sms_core::store::StoreError;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::{Instant, sleep, timeout};

use crate::domain_error::causes;

/// The longest the store may take over a check-in: a second one still fits into the time for which
/// a lease is trusted.
const CHECK_IN_PATIENCE: Duration = Duration::from_millis(500);
/// The longest the store may take over reservations.
const RESERVATION_PATIENCE: Duration = Duration::from_secs(1);
/// The longest a request waits for the server to get a footing: longer than the lease of one that
/// died.
const LONGEST_WAIT: Duration = Duration::from_secs(3);
/// How soon a store that failed is asked again.
const AFTER_FAILURE: Duration = Duration::from_millis(100);
/// The most keys that are asked for in one go.
const MOST_KEYS: usize = 500;
const TIDY_EVERY: Duration = Duration::from_mins(1);
const TIDY_BATCH: usize = 1_000;

/// Counts requests together with others. Clones share the count.
#[derive(Clone)]
pub struct SharedLimiter {
    inner: Arc<Inner>,
}

struct Inner {
    limits: Arc<dyn SharedLimits>,
    start: Instant,
    replica: Mutex<Replica>,
    asks: mpsc::UnboundedSender<Ask>,
    asked: tokio::sync::Mutex<mpsc::UnboundedReceiver<Ask>>,
    /// Rung after each check-in.
    checked_in: Notify,
    check_ins: Answers,
    reservations: Answers,
}

/// Whether what is asked of the store in one way is answered.
struct Answers {
    what: &'static str,
    patience: Duration,
    /// Whether the store failed when it was last asked.
    are_away: AtomicBool,
}

/// A request that waits for a token.
struct Ask {
    key: ApiKeyId,
    /// Told nothing if it has to be judged again.
    answer: oneshot::Sender<Option<Verdict>>,
}

impl SharedLimiter {
    /// Counts in `limits`, while [`run`](Self::run) runs.
    pub fn new(limits: Arc<dyn SharedLimits>, gcra: Gcra) -> Self {
        let random = [SystemRandom.next_u64(), SystemRandom.next_u64()];
        let id = ReplicaId(random.iter().fold(0, |id, half| id << 64 | u128::from(*half)));
        let (asks, asked) = mpsc::unbounded_channel();
        let inner = Inner {
            limits,
            start: Instant::now(),
            replica: Mutex::new(Replica::new(id, gcra)),
            asks,
            asked: tokio::sync::Mutex::new(asked),
            checked_in: Notify::new(),
            check_ins: Answers::new("check-ins", CHECK_IN_PATIENCE),
            reservations: Answers::new("reservations", RESERVATION_PATIENCE),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Judges a request of `key` and counts it if it may pass.
    pub async fn judge(&self, key: ApiKeyId) -> Verdict {
        let judging = async {
            loop {
                if let Some(verdict) = self.judge_once(key).await {
                    return verdict;
                }
            }
        };
        match timeout(LONGEST_WAIT, judging).await {
            Ok(verdict) => verdict,
            Err(_) => self.judge_by_itself(key),
        }
    }

    async fn judge_once(&self, key: ApiKeyId) -> Option<Verdict> {
        let mut checked_in = pin!(self.inner.checked_in.notified());
        checked_in.as_mut().enable();
        match self.inner.with(|replica, now| replica.judge(key, now)) {
            Judged::Said(verdict) => Some(verdict),
            Judged::Ask if self.inner.reservations.are_away() => Some(self.judge_by_itself(key)),
            Judged::Wait if self.inner.check_ins.are_away() => Some(self.judge_by_itself(key)),
            Judged::Ask => {
                let (answer, answered) = oneshot::channel();
                // A closed queue drops the sender, which reads as no answer below.
                let _ = self.inner.asks.send(Ask { key, answer });
                answered.await.unwrap_or_else(|_| Some(self.judge_by_itself(key)))
            }
            Judged::Wait => {
                checked_in.await;
                None
            }
        }
    }

    fn judge_by_itself(&self, key: ApiKeyId) -> Verdict {
        let verdict = self.inner.with(|replica, now| replica.judge_by_itself(key, now));
        if verdict.retry_after.is_none() {
            metrics::counter!("sms_rate_limit_unshared_total").increment(1);
        }
        verdict
    }

    /// Checks in once, so that the first request need not wait for it.
    pub async fn join(&self) {
        self.inner.check_in().await;
    }

    /// Keeps the server's place among others and takes tokens from the store, until dropped. To be
    /// run once; [`leave`](Self::leave) then gives the place up.
    pub async fn run(&self) {
        tokio::join!(self.inner.keep_checked_in(), self.inner.keep_reserving(), self.inner.tidy());
    }

    /// Gives the server's place up, so that the next one need not wait for it to run out. Nothing
    /// must be judged from here on.
    pub async fn leave(&self) {
        let check_in = self.inner.with(|replica, _| replica.leave());
        // Should it fail, the lease runs out by itself.
        let _ = timeout(CHECK_IN_PATIENCE, self.inner.limits.check_in(check_in)).await;
    }
}

impl Inner {
    fn with<T>(&self, act: impl FnOnce(&mut Replica, u64) -> T) -> T {
        // A panic cannot leave a count worse than one request off.
        let mut replica = self.replica.lock().unwrap_or_else(PoisonError::into_inner);
        let now = u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        act(&mut replica, now)
    }

    async fn keep_checked_in(&self) {
        loop {
            let pause = match self.check_in().await {
                Some(Standing::GiveWay) => continue,
                Some(Standing::Waiting) => CHECK_IN_WHILE_WAITING,
                Some(_) => CHECK_IN_EVERY,
                None => AFTER_FAILURE,
            };
            sleep(pause).await;
        }
    }

    async fn check_in(&self) -> Option<Standing> {
        let (check_in, asked): (CheckIn, u64) =
            self.with(|replica, now| (replica.check_in(now), now));
        let answer = self.check_ins.wait_for(self.limits.check_in(check_in)).await;
        if let Some(standing) = answer {
            self.with(|replica, now| replica.checked_in(check_in, standing, asked, now));
        }
        self.checked_in.notify_waiters();
        answer
    }

    async fn keep_reserving(&self) {
        let mut asked = self.asked.lock().await;
        while let Some(first) = asked.recv().await {
            let mut waiting: BTreeMap<ApiKeyId, Vec<Ask>> = BTreeMap::new();
            waiting.entry(first.key).or_default().push(first);
            while waiting.len() < MOST_KEYS {
                let Ok(next) = asked.try_recv() else { break };
                waiting.entry(next.key).or_default().push(next);
            }
            self.reserve(waiting).await;
            if self.reservations.are_away() {
                self.regain_reservations(&mut asked).await;
            }
        }
    }

    /// Asks for nothing until there is an answer. Who asks meanwhile is judged again: by this
    /// server alone.
    async fn regain_reservations(&self, asked: &mut mpsc::UnboundedReceiver<Ask>) {
        let answered = async {
            while self.reservations.are_away() {
                sleep(AFTER_FAILURE).await;
                self.reservations.wait_for(self.limits.reserve(Vec::new())).await;
            }
        };
        let turned_away = async {
            while let Some(ask) = asked.recv().await {
                let _ = ask.answer.send(None);
            }
        };
        tokio::select! {
            () = answered => {}
            () = turned_away => {}
        }
    }

    /// Asks for all that wait, each key's once, and answers them.
    async fn reserve(&self, waiting: BTreeMap<ApiKeyId, Vec<Ask>>) {
        let mut asked: Vec<(Asked, Vec<Ask>)> = Vec::with_capacity(waiting.len());
        for (key, mut asks) in waiting {
            asks.retain(|ask| !ask.answer.is_closed());
            let count = u64::try_from(asks.len()).unwrap_or(u64::MAX);
            match self.with(|replica, now| replica.reservation(key, count, now)) {
                Some(reservation) => asked.push((reservation, asks)),
                None => answer(asks, std::iter::repeat(None)),
            }
        }
        if asked.is_empty() {
            return;
        }
        let reservations = asked.iter().map(|(asked, _)| asked.reservation).collect();
        let granted = self.reservations.wait_for(self.limits.reserve(reservations)).await;
        let mut granted = granted.unwrap_or_default().into_iter();
        for (asked, asks) in asked {
            // Without an answer they are judged again: by this server alone.
            let verdicts = granted.next().and_then(|granted| {
                self.with(|replica, now| replica.reserved(asked, granted, now))
            });
            match verdicts {
                Some(verdicts) => answer(asks, verdicts.into_iter().map(Some)),
                None => answer(asks, std::iter::repeat(None)),
            }
        }
    }

    async fn tidy(&self) {
        loop {
            sleep(TIDY_EVERY).await;
            // What fails now is done a minute later.
            while let Ok(TIDY_BATCH) = self.limits.tidy(TIDY_BATCH).await {}
        }
    }
}

impl Answers {
    fn new(what: &'static str, patience: Duration) -> Self {
        Self { what, patience, are_away: AtomicBool::new(false) }
    }

    fn are_away(&self) -> bool {
        self.are_away.load(Ordering::Relaxed)
    }

    /// Waits for the store, and notes whether it answered.
    async fn wait_for<T>(&self, answer: impl Future<Output = Result<T, StoreError>>) -> Option<T> {
        let answer = timeout(self.patience, answer).await;
        let are_away = !matches!(answer, Ok(Ok(_)));
        if self.are_away.swap(are_away, Ordering::Relaxed) != are_away {
            let what = self.what;
            match &answer {
                Ok(Err(error)) => {
                    let error = causes(error);
                    tracing::warn!(what, %error, "the store of the rate limit fails");
                }
                Err(_) => tracing::warn!(what, "the store of the rate limit does not answer"),
                Ok(Ok(_)) => tracing::info!(what, "the store of the rate limit answers again"),
            }
        }
        answer.ok()?.ok()
    }
}

fn answer(asks: Vec<Ask>, verdicts: impl Iterator<Item = Option<Verdict>>) {
    for (ask, verdict) in asks.into_iter().zip(verdicts) {
        // Whoever waited may have given up; the token is lost then.
        let _ = ask.answer.send(verdict);
    }
}

impl fmt::Debug for SharedLimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedLimiter").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
