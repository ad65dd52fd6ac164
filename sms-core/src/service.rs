//! The service: rules, store, routes and webhooks put together.
//!
//! [`Sms`] is a cheap handle on the service. [`Sms::account`] is the only way to the data of one
//! account, so that no account sees another's data. [`Sms::operator`] leads to what belongs to the
//! operator.
//!
//! # Background work
//!
//! Nothing is spawned here. Background work is split into bounded calls: `Workers::start` of
//! `sms-workers` runs all of them on tokio, and a test makes them one by one. A program that drives
//! them itself, for example on another runtime, makes these calls:
//!
//! | Call | When | What it does |
//! |---|---|---|
//! | [`Sms::dispatch_due`] | [`Work::Dispatch`] | hands due messages to their routes |
//! | [`Sms::dispatch_held`] | always, as a task, if wanted | new messages leave without a claim |
//! | [`Sms::simulate_due`] | [`Work::FollowUps`] | brings back what simulated routes owe |
//! | [`Sms::deliver_webhooks`] | [`Work::Webhooks`] | attempts due webhook deliveries |
//! | [`Sms::replays_go_on`] | [`Sms::next_replay`], at least every second | replays events |
//! | [`Sms::charge_rents`] | [`Work::Rents`] | charges due rent of numbers |
//! | [`Sms::renew_leases`] | three times per [`Sms::lease_length`] | keeps claimed messages |
//! | [`Sms::tidy`] | every minute, until it returns 0 | removes what is past its retention |
//! | [`Sms::prepare_search`] | every minute, until it returns 0 | speeds up searches |
//! | [`Sms::fold_statistics`] | every 10 s, until less than a batch is left | adds up statistics |
//! | [`Sms::listen_to_others`] | always, as a task | passes on wake-ups of other programs |
//! | [`Route::run`] with [`Sms::sink`] | always, as a task for each of [`Sms::routes`] | connects |
//! | [`Route::close`] | once, at the end, while `run` still runs | answers what is under way |
//! | [`Sms::record_kept`] | every second; last, until it succeeds | records what the store missed |
//!
//! [`Sms::next_work`] returns the time at which work of a [`Work`] kind is due. A commit may create
//! earlier work; register with [`Sms::wake_with`] to be woken then. [`Sms::do_work`] does work of
//! any kind.

use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use futures_util::lock::Mutex;

use crate::clock::{Clock, SteadyClock};
use crate::dispatch::journal::{Journal, LeftOver};
use crate::dispatch::{LEASE, VALIDITY};
use crate::event::log;
use crate::ids::{IdSource, Ids};
use crate::link::LinkBase;
use crate::random::{Random, SystemRandom};
use crate::route::simulator::Simulator;
use crate::route::{Route, RouteName};
use crate::store::{IntoStore, Store};
use crate::time::Timestamp;
use crate::webhook::RetrySchedule;
use crate::webhook::attempt::ATTEMPT_LEASE;
use crate::webhook::sealing::{PlainSecrets, SecretSealer};
use crate::webhook::sender::WebhookSender;

pub mod account;
mod addressees;
pub mod api_key;
pub mod authenticate;
pub mod campaign;
pub mod compute;
pub mod contact;
pub mod conversation;
mod credits;
pub mod event;
pub mod inbound;
pub mod keyed;
pub mod keyword;
pub mod link;
pub mod list;
pub mod new_account;
mod new_number;
pub mod no_webhooks;
pub mod number;
pub mod operator;
pub mod opt_out;
mod planning;
pub mod replay;
mod replay_look;
pub mod sandbox;
mod sealing;
pub mod sender_name;
pub mod sending;
pub mod session;
pub mod statistics;
pub mod template;
mod turns;
mod wake;
pub mod webhook;
pub mod work;

pub use account::AccountHandle;
pub use authenticate::Caller;
pub use compute::Compute;
pub use operator::Operator;
pub use wake::{Wake, WakeOthers, Work};

/// How many campaigns with long lists are launched at once. The store writes them meanwhile.
const LAUNCHES_AT_ONCE: NonZeroUsize = NonZeroUsize::new(2).unwrap();
/// How many requests for replays read the log at once.
const REPLAYS_AT_ONCE: NonZeroUsize = NonZeroUsize::new(4).unwrap();

/// A running service. Clones share it.
#[derive(Clone)]
pub struct Sms {
    inner: Arc<Inner>,
}

struct Inner {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
    ids: IdSource,
    routes: Vec<Arc<dyn Route>>,
    webhooks: Arc<dyn WebhookSender>,
    sealer: Arc<dyn SecretSealer>,
    compute: Arc<dyn Compute>,
    turns: turns::Turns,
    launches: turns::Turns,
    replay_turns: turns::Turns,
    signals: wake::Signals,
    link_base: LinkBase,
    /// Locked while messages are claimed.
    claiming: Mutex<()>,
    expired: work::ExpiredLook,
    claim_turns: work::NextTurns,
    leases: work::HeldLeases,
    unrecorded: work::Unrecorded,
    rooms: Arc<work::Rooms>,
    journal: Option<Arc<dyn Journal>>,
    /// What an earlier run of this program left in its journal.
    left_over: Mutex<Vec<LeftOver>>,
    validity: Duration,
    lease: Duration,
    attempt_lease: Duration,
    retries: RetrySchedule,
    events_kept_for: Duration,
    replays: replay_look::ReplayLook,
}

impl fmt::Debug for Sms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sms").field("routes", &self.inner.routes).finish_non_exhaustive()
    }
}

impl Sms {
    /// A builder for a service on this store.
    ///
    /// ```
    /// use sms_core::Sms;
    /// use sms_store_memory::MemoryStore;
    ///
    /// let sms = Sms::builder(MemoryStore::new()).build();
    /// ```
    pub fn builder(store: impl IntoStore) -> SmsBuilder {
        SmsBuilder {
            store: store.into_store(),
            clock: Arc::new(SteadyClock::start()),
            random: Arc::new(SystemRandom),
            routes: Vec::new(),
            webhooks: Arc::new(no_webhooks::NoWebhooks),
            sealer: Arc::new(PlainSecrets),
            compute: Arc::new(compute::InPlace),
            others: Arc::new(wake::NoOthers),
            link_base: LinkBase::default(),
            validity: VALIDITY,
            journal: None,
            lease: LEASE,
            attempt_lease: ATTEMPT_LEASE,
            retries: RetrySchedule::default(),
            events_kept_for: log::KEPT_FOR,
        }
    }

    /// The time on the service's clock.
    pub fn now(&self) -> Timestamp {
        self.inner.clock.now()
    }

    /// The store of the service.
    pub fn store(&self) -> &dyn Store {
        &*self.inner.store
    }

    /// The configured routes, with the route for test keys last.
    pub fn routes(&self) -> &[Arc<dyn Route>] {
        &self.inner.routes
    }

    /// How long a claim on messages holds. Call [`Sms::renew_leases`] three times in this time.
    pub fn lease_length(&self) -> Duration {
        self.inner.lease
    }

    fn ids(&self, now: Timestamp) -> Ids {
        self.inner.ids.draw(now, &*self.inner.random)
    }

    /// The route of live messages whose number names no route.
    pub fn default_route(&self) -> &RouteName {
        // The builder adds at least the simulator and the test route.
        self.inner.routes[0].name()
    }
}

/// Builds a service. Everything except the store has a default: the machine's time at the start and
/// what has passed since, the machine's randomness, the simulator as the only route, and no
/// webhooks.
#[derive(Debug)]
#[must_use = "call build"]
pub struct SmsBuilder {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
    routes: Vec<Arc<dyn Route>>,
    webhooks: Arc<dyn WebhookSender>,
    sealer: Arc<dyn SecretSealer>,
    compute: Arc<dyn Compute>,
    others: Arc<dyn WakeOthers>,
    link_base: LinkBase,
    journal: Option<Arc<dyn Journal>>,
    validity: Duration,
    lease: Duration,
    attempt_lease: Duration,
    retries: RetrySchedule,
    events_kept_for: Duration,
}

impl SmsBuilder {
    /// Reads the time from this clock.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Draws ids, keys and secrets from this source.
    pub fn random(mut self, random: Arc<dyn Random>) -> Self {
        self.random = random;
        self
    }

    /// Adds a route. The first one carries live messages whose number names no other. Without any,
    /// the simulator does.
    pub fn route(mut self, route: Arc<dyn Route>) -> Self {
        self.routes.push(route);
        self
    }

    /// Calls webhook endpoints through this sender. Without one, endpoints cannot be saved.
    pub fn webhooks(mut self, sender: Arc<dyn WebhookSender>) -> Self {
        self.webhooks = sender;
        self
    }

    /// Seals webhook secrets before the store gets them: `SecretKeys` of `sms-webhooks`, for
    /// example. Call [`Sms::seal_secrets`] before the service is used. Without it, secrets are
    /// stored in plain text.
    pub fn seal_secrets_with(mut self, sealer: Arc<dyn SecretSealer>) -> Self {
        self.sealer = sealer;
        self
    }

    /// Runs long computations, such as the plan of a send to a long list, in this place. Without
    /// one, they run where they are asked for and let other tasks run in between.
    pub fn compute(mut self, compute: Arc<dyn Compute>) -> Self {
        self.compute = compute;
        self
    }

    /// Exchanges wake-ups with other programs on the same store, for example through `PgWake` of
    /// `sms-store-postgres`. Nothing else is necessary, because `Workers::start` of `sms-workers`
    /// listens. Without it, work that another program creates waits until the workers poll, about a
    /// second.
    pub fn wake_others(mut self, others: Arc<dyn WakeOthers>) -> Self {
        self.others = others;
        self
    }

    /// The start of short URLs, where a host serves them: see [`Sms::link_click`].
    pub fn link_base(mut self, base: LinkBase) -> Self {
        self.link_base = base;
        self
    }

    /// How long a message may wait for its route before it expires; 24 hours by default.
    pub fn validity(mut self, validity: Duration) -> Self {
        self.validity = validity;
        self
    }

    /// How long a claim on messages holds unless it is renewed; 30 s by default. When a program
    /// dies, its messages wait this long for another program. A program that stalls for longer
    /// loses its messages.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.lease = lease;
        self
    }

    /// How long a claim on a webhook delivery holds; 30 s by default. It has to be longer than an
    /// attempt can take, or the delivery is sent twice.
    pub fn attempt_lease(mut self, lease: Duration) -> Self {
        self.attempt_lease = lease;
        self
    }

    /// When failed webhook deliveries are retried.
    pub fn webhook_retries(mut self, schedule: RetrySchedule) -> Self {
        self.retries = schedule;
        self
    }

    /// How long events are kept in the log; 30 days by default.
    pub fn events_kept_for(mut self, kept_for: Duration) -> Self {
        self.events_kept_for = kept_for;
        self
    }

    /// Writes to this journal how far hand-overs have come, so that a run that is killed leaves to
    /// the next what it has not recorded: `FileJournal` of `sms-workers`, for example. Routes that
    /// submit messages one by one get the same journal. Without it, what was answered and not yet
    /// recorded is sent twice.
    pub fn journal(mut self, journal: Arc<dyn Journal>) -> Self {
        self.journal = Some(journal);
        self
    }

    /// The service. An added route named `test` replaces the one for test keys.
    pub fn build(self) -> Sms {
        let Self {
            store,
            clock,
            random,
            mut routes,
            webhooks,
            sealer,
            compute,
            others,
            link_base,
            journal,
            validity,
            lease,
            attempt_lease,
            retries,
            events_kept_for,
        } = self;
        if routes.iter().all(|route| *route.name() == RouteName::test()) {
            routes.insert(0, Arc::new(Simulator::new(RouteName::new("simulator"))));
        }
        if routes.iter().all(|route| *route.name() != RouteName::test()) {
            routes.push(Arc::new(Simulator::new(RouteName::test())));
        }
        let left_over = journal.as_ref().map(|journal| journal.left_over()).unwrap_or_default();
        let inner = Inner {
            store,
            clock,
            random,
            ids: IdSource::default(),
            routes,
            webhooks,
            sealer,
            turns: turns::Turns::new(compute.at_once()),
            launches: turns::Turns::new(LAUNCHES_AT_ONCE),
            replay_turns: turns::Turns::new(REPLAYS_AT_ONCE),
            compute,
            signals: wake::Signals::new(others),
            link_base,
            claiming: Mutex::default(),
            expired: work::ExpiredLook::default(),
            claim_turns: work::NextTurns::default(),
            leases: work::HeldLeases::default(),
            unrecorded: work::Unrecorded::default(),
            rooms: Arc::default(),
            journal,
            left_over: Mutex::new(left_over),
            validity,
            lease,
            attempt_lease,
            retries,
            events_kept_for,
            replays: replay_look::ReplayLook::default(),
        };
        Sms { inner: Arc::new(inner) }
    }
}
