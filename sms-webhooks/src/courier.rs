//! The worker that makes deliveries: [`Courier`].
//!
//! It keeps as many attempts under way as [`Slots`] allow, claims no more than it has slots for,
//! and records each attempt when it ends, whatever the others do. So one slow or dead endpoint
//! never delays another's deliveries.

use std::time::Duration;

use sms_core::ids::EndpointId;
use sms_core::service::webhook::Attempted;
use sms_core::webhook::attempt::Room;
use sms_core::{Error, Sms};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::{Outcome, SlotLimits, Slots};

/// An attempt that takes longer than this holds its slot for long.
const SLOW: Duration = Duration::from_secs(4);

/// Makes the deliveries of a service. Hosts call [`fill`](Courier::fill) when there is work, and
/// [`next_done`](Courier::next_done) while attempts are under way.
///
/// Each attempt is a task of its own, so that it goes on whatever the host does meanwhile. Dropped,
/// the courier ends them and leaves what was under way to be claimed again when its lease runs out.
pub struct Courier {
    sms: Sms,
    slots: Slots<EndpointId>,
    under_way: JoinSet<Done>,
}

struct Done {
    endpoint: EndpointId,
    took: Duration,
    attempted: Result<Attempted, Error>,
}

impl Courier {
    /// A courier with the default limits.
    pub fn new(sms: Sms) -> Self {
        Self::with_limits(sms, SlotLimits::default())
    }

    /// A courier with limits of its own.
    pub fn with_limits(sms: Sms, limits: SlotLimits) -> Self {
        Self { sms, slots: Slots::new(limits), under_way: JoinSet::new() }
    }

    /// Claims deliveries that are due, as many as there are slots for, and begins to send them.
    /// Returns how many.
    ///
    /// # Errors
    ///
    /// When the store cannot serve; nothing was claimed then.
    pub async fn fill(&mut self) -> Result<usize, Error> {
        if self.slots.free() == 0 {
            return Ok(0);
        }
        let room = Room {
            total: self.slots.free(),
            failing: self.slots.failing_free(),
            each: self.slots.available_to_unknown(),
            endpoints: self.slots.known().map(|(id, available)| (*id, available)).collect(),
        };
        let claimed = self.sms.deliveries_claim(room).await?;
        let count = claimed.len();
        for claimed in claimed {
            let endpoint = claimed.endpoint;
            // The claim was bounded by the slots; where it disagrees about who fails, it is
            // sent without one rather than left to its lease.
            let _ = self.slots.take(&endpoint);
            let sms = self.sms.clone();
            self.under_way.spawn(async move {
                let started = Instant::now();
                let attempted = sms.delivery_attempt(claimed).await;
                Done { endpoint, took: started.elapsed(), attempted }
            });
        }
        Ok(count)
    }

    /// How many attempts are under way.
    pub fn under_way(&self) -> usize {
        self.under_way.len()
    }

    /// Waits for an attempt to end and be recorded; for ever while none is under way.
    ///
    /// Dropping the future loses nothing.
    ///
    /// # Errors
    ///
    /// When the store could not record it; it is made again when its lease has run out.
    pub async fn next_done(&mut self) -> Result<Attempted, Error> {
        let Some(ended) = self.under_way.join_next().await else {
            return std::future::pending().await;
        };
        // Nothing of ours panics; what a sender of somebody else's did must not end the worker.
        let Ok(Done { endpoint, took, attempted }) = ended else {
            return Ok(Attempted::LeaseLost);
        };
        match &attempted {
            Ok(Attempted::Delivered) if took > SLOW => {
                self.slots.finished(&endpoint, Outcome::Slow);
            }
            Ok(Attempted::Delivered) => self.slots.finished(&endpoint, Outcome::Delivered),
            Ok(Attempted::Failed) => self.slots.finished(&endpoint, Outcome::Failed),
            Ok(Attempted::LeaseLost) | Err(_) => self.slots.give_back(&endpoint),
        }
        attempted
    }
}

impl std::fmt::Debug for Courier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Courier").field("under_way", &self.under_way.len()).finish_non_exhaustive()
    }
}
