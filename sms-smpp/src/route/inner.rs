//! What submitting and receiving share of a route.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use sms_core::clock::Clock;
use sms_core::dispatch::Lane;
use sms_core::dispatch::journal::Journal;
use sms_core::route::RouteName;
use tokio::sync::{Semaphore, watch};

use super::patience::Patience;
use crate::carrier::Carrier;
use crate::settings::RouteSettings;

/// How many messages of each lane are in hand.
#[derive(Debug, Default)]
pub(super) struct InHandCounts {
    normal: AtomicUsize,
    bulk: AtomicUsize,
}

impl InHandCounts {
    pub(super) fn of(&self, lane: Lane) -> &AtomicUsize {
        match lane {
            Lane::Normal => &self.normal,
            Lane::Bulk => &self.bulk,
        }
    }

    pub(super) fn all(&self) -> usize {
        Lane::ALL.into_iter().map(|lane| self.of(lane).load(Ordering::Relaxed)).sum()
    }
}

pub(super) struct Inner {
    pub(super) name: RouteName,
    pub(super) settings: Arc<RouteSettings>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) carrier: Carrier,
    /// Messages handed over whose outcome is not known yet, by lane.
    pub(super) in_hand: InHandCounts,
    pub(super) closing: watch::Sender<bool>,
    pub(super) patience: Patience,
    /// Where it writes that it is about to submit a message.
    pub(super) journal: OnceLock<Arc<dyn Journal>>,
    /// Permits for inbound messages that are being stored.
    pub(super) keeping: Semaphore,
}
