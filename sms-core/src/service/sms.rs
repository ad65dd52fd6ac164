//! [`Sms`], the handle on a service, and the builder that puts one together.

use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use futures_util::lock::Mutex;

use super::compute::{Compute, InPlace};
use super::no_webhooks::NoWebhooks;
use super::reading::{READS_AT_ONCE, ReadTurns};
use super::replay_look::ReplayLook;
use super::turns::Turns;
use super::wake::{NoOthers, Signals, WakeOthers};
use super::work::claim_size::ClaimSize;
use super::work::held::{ExpiredLook, HeldLeases, NextTurns, Unrecorded};
use super::work::own_numbers::OwnNumbers;
use super::work::records::Records;
use super::work::room::Rooms;
use crate::clock::{Clock, SteadyClock};
use crate::dispatch::journal::{Journal, LeftOver};
use crate::dispatch::queue::{LEASE, VALIDITY};
use crate::event::log;
use crate::hand_over::look::Recalls;
use crate::ids::{IdSource, Ids};
use crate::keyword::reply_limit::ReplyLimits;
use crate::link::LinkBase;
use crate::random::{Random, SystemRandom};
use crate::route::Route;
use crate::route::simulator::Simulator;
use crate::route_name::RouteName;
use crate::store::{IntoStore, Store};
use crate::time::Timestamp;
use crate::webhook::attempt::ATTEMPT_LEASE;
use crate::webhook::retry::RetrySchedule;
use crate::webhook::sealing::{PlainSecrets, SecretSealer};
use crate::webhook::sender::WebhookSender;

/// How many campaigns with long lists are launched at once. The store writes them meanwhile.
const LAUNCHES_AT_ONCE: NonZeroUsize = NonZeroUsize::new(2).unwrap();
/// How many requests for replays read the log at once.
const REPLAYS_AT_ONCE: NonZeroUsize = NonZeroUsize::new(4).unwrap();

/// A running service. Clones share it.
#[derive(Clone)]
pub struct Sms {
    pub(super) inner: Arc<Inner>,
}

pub(super) struct Inner {
    pub(super) store: Arc<dyn Store>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) random: Arc<dyn Random>,
    pub(super) ids: IdSource,
    pub(super) routes: Vec<Arc<dyn Route>>,
    pub(super) webhooks: Arc<dyn WebhookSender>,
    pub(super) sealer: Arc<dyn SecretSealer>,
    pub(super) compute: Arc<dyn Compute>,
    pub(super) turns: Turns,
    pub(super) launches: Turns,
    pub(super) replay_turns: Turns,
    pub(super) reads: ReadTurns,
    pub(super) signals: Signals,
    pub(super) link_base: LinkBase,
    /// Locked while messages are claimed.
    pub(super) claiming: Mutex<()>,
    pub(super) expired: ExpiredLook,
    pub(super) claim_turns: NextTurns,
    pub(super) claim_size: ClaimSize,
    pub(super) recalls: Arc<Recalls>,
    pub(super) leases: HeldLeases,
    pub(super) unrecorded: Unrecorded,
    pub(super) records: Records,
    pub(super) own_numbers: OwnNumbers,
    pub(super) rooms: Arc<Rooms>,
    pub(super) journal: Option<Arc<dyn Journal>>,
    /// What an earlier run of this program left in its journal.
    pub(super) left_over: Mutex<Vec<LeftOver>>,
    pub(super) validity: Duration,
    pub(super) reply_limits: ReplyLimits,
    pub(super) lease: Duration,
    pub(super) attempt_lease: Duration,
    pub(super) retries: RetrySchedule,
    pub(super) events_kept_for: Duration,
    pub(super) replays: ReplayLook,
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
            webhooks: Arc::new(NoWebhooks),
            sealer: Arc::new(PlainSecrets),
            compute: Arc::new(InPlace),
            reads_at_once: READS_AT_ONCE,
            others: Arc::new(NoOthers),
            link_base: LinkBase::default(),
            validity: VALIDITY,
            reply_limits: ReplyLimits::default(),
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

    pub(super) fn ids(&self, now: Timestamp) -> Ids {
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
    reads_at_once: NonZeroUsize,
    others: Arc<dyn WakeOthers>,
    link_base: LinkBase,
    journal: Option<Arc<dyn Journal>>,
    validity: Duration,
    reply_limits: ReplyLimits,
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

    /// How many pages and searches of accounts the store is asked for at once; 4 by default. The
    /// others wait: accounts take turns at these places, an account has all but one of them at
    /// most, and searches have half of them. A store has to serve a few more reads at once, for
    /// workers and the operator.
    pub fn reads_at_once(mut self, count: NonZeroUsize) -> Self {
        self.reads_at_once = count;
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

    /// How many messages keywords may send in answer; by default 100 a minute and 1,000 an hour for
    /// an account, and a fifth of its balance.
    pub fn reply_limits(mut self, limits: ReplyLimits) -> Self {
        self.reply_limits = limits;
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
            reads_at_once,
            others,
            link_base,
            journal,
            validity,
            reply_limits,
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
            turns: Turns::new(compute.at_once()),
            launches: Turns::new(LAUNCHES_AT_ONCE),
            replay_turns: Turns::new(REPLAYS_AT_ONCE),
            reads: ReadTurns::new(reads_at_once),
            compute,
            signals: Signals::new(others),
            link_base,
            claiming: Mutex::default(),
            expired: ExpiredLook::default(),
            claim_turns: NextTurns::default(),
            claim_size: ClaimSize::default(),
            recalls: Arc::default(),
            leases: HeldLeases::default(),
            unrecorded: Unrecorded::default(),
            records: Records::default(),
            own_numbers: OwnNumbers::default(),
            rooms: Arc::default(),
            journal,
            left_over: Mutex::new(left_over),
            validity,
            reply_limits,
            lease,
            attempt_lease,
            retries,
            events_kept_for,
            replays: ReplayLook::default(),
        };
        Sms { inner: Arc::new(inner) }
    }
}
