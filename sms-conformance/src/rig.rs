//! What a scenario works with: the store, a clock that stands still, ids, and builders for the
//! plans that a service would make. Every builder panics when the store fails.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use sms_core::Sms;
use sms_core::clock::{Clock, ManualClock};
use sms_core::credits::Credits;
use sms_core::dispatch::{HeldMessage, LeaseToken};
use sms_core::ids::{AccountId, Id, IdSource, Ids, Kind, MessageId};
use sms_core::page::{Cursor, Limit, Page, PageRequest};
use sms_core::phone::E164;
use sms_core::random::{Random, SeededRandom};
use sms_core::store::{Store, StoreError};
use sms_core::time::Timestamp;

use super::Runner;

mod account;
mod campaign;
mod contact;
mod conversation;
mod dispatch;
mod event;
mod idempotency;
mod inbound;
mod link;
mod receipt;
mod sending;
mod statistics;
mod webhook;

pub use contact::{named, with_fields};
pub use dispatch::{Hand, refused, taken, taken_with, try_later, unanswered};
pub use event::{events_from, message_of};
pub use idempotency::done;
pub use link::tracked;
pub use sending::{key, refusal_of, request, request_with_body, request_with_key};
pub use webhook::{event_of, secret};

/// 2026-11-21T07:07:10.123Z: when every scenario begins.
const START: i64 = 1_795_244_830_123;

/// The number 07700 900000 and `n` more; those above 0 are people in the scenarios.
pub fn person(n: u16) -> E164 {
    E164::from_digits(447_700_900_000 + u64::from(n)).expect("n is below 1,000")
}

/// The number that messages come from unless a scenario says otherwise: 07700 900000.
pub fn our_number() -> E164 {
    person(0)
}

/// This many credits. Panics beyond [`Credits::MAX`].
pub fn credits(amount: u64) -> Credits {
    Credits::new(amount).expect("an account can hold this much")
}

/// A duration of this many milliseconds.
pub const fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// A duration of this many seconds.
pub const fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// A duration of this many minutes.
pub const fn minutes(count: u64) -> Duration {
    Duration::from_secs(count * 60)
}

/// A duration of this many days of 24 hours.
pub const fn days(count: u64) -> Duration {
    Duration::from_secs(count * 24 * 60 * 60)
}

/// What a scenario works with.
#[derive(Debug)]
pub struct Rig {
    store: Arc<dyn Store>,
    runner: Arc<dyn Runner>,
    random: Arc<SeededRandom>,
    ids: IdSource,
    clock: ManualClock,
    accounts: Mutex<Vec<AccountId>>,
    /// Accounts whose log no longer has all events.
    tidied: Mutex<Vec<AccountId>>,
    /// What workers know of the messages that they hold.
    held: Mutex<BTreeMap<(LeaseToken, MessageId), Arc<HeldMessage>>>,
}

impl Rig {
    /// A rig over a store that holds nothing yet.
    pub fn new(store: Arc<dyn Store>, runner: Arc<dyn Runner>) -> Self {
        Self {
            store,
            runner,
            random: Arc::new(SeededRandom::new(1)),
            ids: IdSource::default(),
            clock: ManualClock::at(Timestamp::from_millis(START)),
            accounts: Mutex::default(),
            tidied: Mutex::default(),
            held: Mutex::default(),
        }
    }

    /// The store under test.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// A service on the store, whose clock stands still at the present moment.
    pub fn service(&self) -> Sms {
        let clock = Arc::new(ManualClock::at(self.now()));
        Sms::builder(Arc::clone(&self.store)).clock(clock).random(self.shared_random()).build()
    }

    /// What runs the scenario.
    pub fn runner(&self) -> &Arc<dyn Runner> {
        &self.runner
    }

    /// The present moment of the scenario.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Moves the scenario's clock on, and returns the new time.
    pub fn advance(&self, by: Duration) -> Timestamp {
        self.clock.advance(by)
    }

    /// Moves the scenario's clock on to `to`.
    pub fn advance_to(&self, to: Timestamp) {
        self.clock.advance_to(to);
    }

    /// A run of fresh ids.
    pub fn ids(&self) -> Ids {
        self.ids.draw(self.now(), &*self.random)
    }

    /// One fresh id of this kind.
    pub fn id<K: Kind>(&self) -> Id<K> {
        self.ids().next()
    }

    /// The randomness of the scenario.
    pub fn random(&self) -> &SeededRandom {
        &self.random
    }

    /// The same, to be kept.
    pub fn shared_random(&self) -> Arc<dyn Random> {
        Arc::<SeededRandom>::clone(&self.random)
    }

    /// Runs futures concurrently and returns what they gave, in their order.
    pub fn race<T: Send + 'static>(&self, futures: Vec<BoxFuture<'static, T>>) -> Vec<T> {
        let slots: Vec<Arc<Mutex<Option<T>>>> = futures.iter().map(|_| Arc::default()).collect();
        let runs = futures.into_iter().zip(slots.clone()).map(|(future, slot)| {
            let run = async move {
                let value = future.await;
                *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
            };
            run.boxed()
        });
        self.runner.race(runs.collect());
        let value_of = |slot: Arc<Mutex<Option<T>>>| {
            let value = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
            value.expect("every racing future ends")
        };
        slots.into_iter().map(value_of).collect()
    }

    /// Has the store do something with each item, concurrently, and returns the answers in the
    /// order of the items.
    pub fn race_each<I, T, F>(
        &self,
        items: impl IntoIterator<Item = I>,
        act: impl Fn(Arc<dyn Store>, I) -> F,
    ) -> Vec<T>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        let run = |item| act(Arc::clone(&self.store), item).boxed();
        self.race(items.into_iter().map(run).collect())
    }

    /// The accounts that the scenario made.
    pub fn accounts(&self) -> Vec<AccountId> {
        self.accounts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn remember(&self, account: AccountId) {
        self.accounts.lock().unwrap_or_else(PoisonError::into_inner).push(account);
    }
}

/// What a store answered to a list of plans, none of which it may fail to record.
pub fn all_recorded<T>(answers: Vec<Result<T, StoreError>>) -> Vec<T> {
    answers.into_iter().map(|answer| answer.expect("it is recorded")).collect()
}

/// A page of at most `limit` things after `after`.
pub fn page(limit: u32, after: Option<Cursor>) -> PageRequest {
    PageRequest { limit: Limit::new(limit).expect("1 to 100"), after }
}

/// More than any list in a scenario holds.
const MOST: usize = 20_000;

/// Reads a list to its end, a page at a time. No page may be larger than its limit, and none but
/// an only one may be empty.
pub async fn read_all<T, F>(limit: u32, read: impl Fn(PageRequest) -> F) -> Vec<T>
where
    F: Future<Output = Page<T>>,
{
    let mut all = Vec::new();
    let mut after = None;
    loop {
        let Page { items, next } = read(page(limit, after)).await;
        assert!(items.len() <= limit as usize, "a page holds more than its limit");
        assert!(next.is_none() || items.len() == limit as usize, "a page in between is not full");
        assert!(after.is_none() || !items.is_empty(), "a cursor led to an empty page");
        all.extend(items);
        assert!(all.len() < MOST, "a list does not end");
        match next {
            Some(_) => after = next,
            None => return all,
        }
    }
}
