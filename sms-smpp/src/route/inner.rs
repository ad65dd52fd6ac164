//! What submitting and receiving share of a route.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use sms_core::clock::Clock;
use sms_core::dispatch::Lane;
use sms_core::dispatch::journal::Journal;
use sms_core::route::RouteName;
use tokio::sync::{Semaphore, watch};

use super::patience::{Interrupted, Patience};
use crate::carrier::Carrier;
use crate::settings::RouteSettings;

/// How many messages of each lane are in hand.
#[derive(Debug, Default)]
pub(super) struct InHandCounts {
    normal: LaneCounts,
    bulk: LaneCounts,
}

#[derive(Debug, Default)]
struct LaneCounts {
    all: AtomicUsize,
    /// Those of which nothing was written yet.
    waiting: AtomicUsize,
}

impl InHandCounts {
    fn of(&self, lane: Lane) -> &LaneCounts {
        match lane {
            Lane::Normal => &self.normal,
            Lane::Bulk => &self.bulk,
        }
    }

    fn waiting(&self, lane: Lane) -> usize {
        self.of(lane).waiting.load(Ordering::Relaxed)
    }

    pub(super) fn all(&self) -> usize {
        Lane::ALL.into_iter().map(|lane| self.of(lane).all.load(Ordering::Relaxed)).sum()
    }
}

/// Counts a message as in hand until dropped.
pub(super) struct InHand {
    inner: Arc<Inner>,
    lane: Lane,
    is_waiting: AtomicBool,
}

impl InHand {
    pub(super) fn new(inner: &Arc<Inner>, lane: Lane) -> Self {
        inner.in_hand.of(lane).all.fetch_add(1, Ordering::Relaxed);
        let is_waiting = AtomicBool::new(false);
        let in_hand = Self { inner: Arc::clone(inner), lane, is_waiting };
        in_hand.waits();
        in_hand
    }

    /// It waits for its turn, once more if it was turned away.
    pub(super) fn waits(&self) {
        if !self.is_waiting.swap(true, Ordering::Relaxed) {
            self.inner.in_hand.of(self.lane).waiting.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// It waits no more: it is being written.
    pub(super) fn writes(&self) {
        if self.is_waiting.swap(false, Ordering::Relaxed) {
            self.inner.in_hand.of(self.lane).waiting.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Drop for InHand {
    fn drop(&mut self) {
        self.writes();
        self.inner.in_hand.of(self.lane).all.fetch_sub(1, Ordering::Relaxed);
    }
}

/// While this many messages of a lane wait in the route, it claims no more of that lane. They keep
/// any window busy during the next claim. More would only wait here, and no other server could
/// submit them meanwhile.
const ENOUGH: usize = 250;
/// Messages may wait in the route for so long: well below what a look at them counts.
const WAIT: Duration = Duration::from_millis(500);
/// While both lanes wait, one message in this many is bulk.
const SHARES: f64 = 5.0;
/// A claim begins once so much of the room for waiting messages is free, because small ones cost as
/// much as larger ones.
const WORTH_A_CLAIM: f64 = 0.25;

pub(super) struct Inner {
    pub(super) name: RouteName,
    pub(super) settings: Arc<RouteSettings>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) carrier: Carrier,
    /// Messages handed over whose outcome is not known yet, by lane.
    pub(super) in_hand: InHandCounts,
    pub(super) closing: watch::Sender<bool>,
    pub(super) patience: Patience,
    pub(super) interrupted: Interrupted,
    /// Where it writes that it is about to submit a message.
    pub(super) journal: OnceLock<Arc<dyn Journal>>,
    /// Permits for inbound messages that are being stored.
    pub(super) keeping: Semaphore,
}

impl Inner {
    /// How many messages of this lane can wait without getting too old. While both lanes wait, they
    /// share what the route can submit.
    fn most_waiting(&self, lane: Lane) -> f64 {
        let most = self.carrier.soon(lane, WAIT);
        let is_shared = Lane::ALL.iter().any(|it| *it != lane && self.in_hand.waiting(*it) > 0);
        match lane {
            _ if !is_shared => most,
            Lane::Normal => most * (SHARES - 1.0) / SHARES,
            Lane::Bulk => most / SHARES,
        }
    }

    /// Whether one more is tried although that may be more than the route can submit in time: none
    /// waits, and the next turn is soon.
    fn tries_one(&self, lane: Lane) -> bool {
        self.in_hand.waiting(lane) == 0 && self.carrier.takes_one(lane, WAIT)
    }

    /// How many more messages of this lane can be submitted in time.
    pub(super) fn room(&self, lane: Lane) -> usize {
        let free = self.most_waiting(lane) - count(self.in_hand.waiting(lane));
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
        let free = free as usize;
        if self.tries_one(lane) { free.max(1) } else { free }
    }

    /// Whether the room is worth a claim.
    pub(super) fn is_worth_a_claim(&self, lane: Lane) -> bool {
        let (waiting, most) = (self.in_hand.waiting(lane), self.most_waiting(lane));
        let worth = (most * WORTH_A_CLAIM).min(count(ENOUGH)).max(1.0);
        (waiting < ENOUGH && most - count(waiting) >= worth) || self.tries_one(lane)
    }
}

#[expect(clippy::cast_precision_loss, reason = "the counts are small")]
fn count(messages: usize) -> f64 {
    messages as f64
}
