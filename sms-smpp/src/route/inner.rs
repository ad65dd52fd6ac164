//! What submitting and receiving share of a route.

use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, OnceLock};

use sms_core::clock::Clock;
use sms_core::dispatch::journal::Journal;
use sms_core::route::RouteName;
use tokio::sync::{Semaphore, watch};

use super::patience::Patience;
use crate::carrier::Carrier;
use crate::settings::RouteSettings;

pub(super) struct Inner {
    pub(super) name: RouteName,
    pub(super) settings: Arc<RouteSettings>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) carrier: Carrier,
    /// Messages handed over whose outcome is not known yet.
    pub(super) in_hand: AtomicUsize,
    pub(super) closing: watch::Sender<bool>,
    pub(super) patience: Patience,
    /// Where it writes that it is about to submit a message.
    pub(super) journal: OnceLock<Arc<dyn Journal>>,
    /// Permits for inbound messages that are being stored.
    pub(super) keeping: Semaphore,
}
