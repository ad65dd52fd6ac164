//! Claims due deliveries and attempts them: [`Courier`].
//!
//! It keeps as many attempts in flight as [`Slots`] allow, claims no more deliveries than it has
//! slots for, and records each attempt as soon as it ends. So a slow or dead endpoint never delays
//! the deliveries of another.

use std::time::Duration;

use sms_core::ids::EndpointId;
use sms_core::service::webhook::Attempted;
use sms_core::webhook::attempt::Room;
use sms_core::{Error, Sms};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::{Outcome, SlotLimits, Slots};

/// A successful attempt that takes longer than this counts as slow.
const SLOW: Duration = Duration::from_secs(4);

/// Makes the deliveries of a service. The host calls [`fill`](Courier::fill) when there is work,
/// and [`next_done`](Courier::next_done) while attempts are in flight.
///
/// Each attempt is a separate task, so it continues while the host does other work. Dropping the
/// courier ends all attempts; their deliveries are claimed again when their leases expire.
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

    /// A courier with these limits.
    pub fn with_limits(sms: Sms, limits: SlotLimits) -> Self {
        Self { sms, slots: Slots::new(limits), under_way: JoinSet::new() }
    }

    /// Claims as many due deliveries as there are free slots, and starts to send them. Returns
    /// their number.
    ///
    /// # Errors
    ///
    /// When the store fails. Nothing was claimed then.
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
            // The slots bound the claim. If the store's view of which endpoints fail differs, the
            // delivery is sent without a slot, rather than left until its lease expires.
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

    /// How many attempts are in flight.
    pub fn under_way(&self) -> usize {
        self.under_way.len()
    }

    /// Waits until an attempt has ended and is recorded. Does not return while none is in flight.
    ///
    /// Dropping the future loses nothing.
    ///
    /// # Errors
    ///
    /// When the store could not record the attempt. It is repeated when its lease expires.
    pub async fn next_done(&mut self) -> Result<Attempted, Error> {
        let Some(ended) = self.under_way.join_next().await else {
            return std::future::pending().await;
        };
        // Our code does not panic. A panic in a custom sender must not end the worker.
        let Ok(Done { endpoint, took, attempted }) = ended else {
            return Ok(Attempted::LeaseLost);
        };
        match attempted.as_ref().ok().and_then(|&attempted| outcome(attempted, took)) {
            Some(outcome) => self.slots.finished(&endpoint, outcome),
            None => self.slots.give_back(&endpoint),
        }
        attempted
    }
}

/// What an attempt means for the slots of its endpoint; `None` if it says nothing about it.
fn outcome(attempted: Attempted, took: Duration) -> Option<Outcome> {
    match attempted {
        Attempted::Delivered if took > SLOW => Some(Outcome::Slow),
        Attempted::Delivered => Some(Outcome::Delivered),
        Attempted::Failed => Some(Outcome::Failed),
        Attempted::LeaseLost => None,
    }
}

impl std::fmt::Debug for Courier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Courier").field("under_way", &self.under_way.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_success_is_slow() {
        let after = |attempted, seconds| outcome(attempted, Duration::from_secs(seconds));
        assert_eq!(after(Attempted::Delivered, 4), Some(Outcome::Delivered));
        assert_eq!(after(Attempted::Delivered, 5), Some(Outcome::Slow));
        assert_eq!(after(Attempted::Failed, 1), Some(Outcome::Failed));
        assert_eq!(after(Attempted::LeaseLost, 1), None);
    }
}
