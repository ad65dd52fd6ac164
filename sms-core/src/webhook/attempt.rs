//! Claiming due deliveries, and recording the result of each attempt.
//!
//! A slow or dead endpoint must not delay the deliveries of others. A claim takes at most as many
//! deliveries of an endpoint as there are slots for it, and failing endpoints share a part of all
//! slots.

use std::collections::BTreeMap;
use std::time::Duration;

use super::delivery::{Delivery, DeliveryError, DeliveryStatus};
use super::endpoint::{DisabledReason, Endpoint, FAILURES_TO_SWITCH_OFF, Power};
use super::pause::{Asked, Paused, length_asked};
use super::retry::{Jitter, RetrySchedule};
use super::sealing::StoredSecret;
use super::sender::WebhookRequest;
use crate::dispatch::queue::{Lease, LeaseToken};
use crate::event::EventType;
use crate::ids::{AccountId, DeliveryId, EndpointId};
use crate::time::Timestamp;

/// How long a claim on a delivery holds: 30 s, longer than an attempt can take.
pub const ATTEMPT_LEASE: Duration = Duration::from_secs(30);

/// A request to claim due deliveries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryClaimPlan {
    /// The time of the claim.
    pub at: Timestamp,
    /// The lease that the claim takes.
    pub lease: Lease,
    /// How many deliveries it may claim.
    pub room: Room,
}

/// How many deliveries a worker has room for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Room {
    /// For all endpoints together.
    pub total: usize,
    /// For all endpoints together whose last attempt failed.
    pub failing: usize,
    /// For each endpoint that `endpoints` does not list.
    pub each: usize,
    /// For each endpoint with attempts in progress or a record of success or failure.
    pub endpoints: BTreeMap<EndpointId, usize>,
}

impl Room {
    /// Room for `total` deliveries of any endpoints.
    pub fn any(total: usize) -> Self {
        Self { total, failing: total, each: total, endpoints: BTreeMap::new() }
    }

    /// How many deliveries of this endpoint there is room for at `at`; none while it is paused.
    pub fn of(&self, endpoint: &Endpoint, at: Timestamp) -> usize {
        if endpoint.is_paused(at) {
            return 0;
        }
        let own = self.endpoints.get(&endpoint.id).copied().unwrap_or(self.each);
        let shared = if endpoint.consecutive_failures > 0 { self.failing } else { self.total };
        own.min(shared).min(self.total)
    }

    /// Subtracts `count` deliveries of this endpoint from the room.
    pub fn take(&mut self, endpoint: &Endpoint, count: usize) {
        self.total = self.total.saturating_sub(count);
        if endpoint.consecutive_failures > 0 {
            self.failing = self.failing.saturating_sub(count);
        }
        let own = self.endpoints.entry(endpoint.id).or_insert(self.each);
        *own = own.saturating_sub(count);
    }
}

/// A delivery that a worker has claimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedDelivery {
    /// The account of the endpoint.
    pub account: AccountId,
    /// The endpoint that receives it.
    pub endpoint: EndpointId,
    /// The lease under which the attempt is made.
    pub token: LeaseToken,
    /// The request to send, once its secrets are opened.
    pub request: WebhookRequest<StoredSecret>,
}

/// The verdict on a due delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a verdict has to be written by the store"]
pub enum DeliveryClaim {
    /// The worker claims it. Carries the delivery with its lease, and what the worker needs.
    Take(Box<Delivery>, Box<ClaimedDelivery>),
    /// Its endpoint is disabled, so it is given up.
    GiveUp(Box<Delivery>),
}

/// The verdict at `at` on a due delivery and its endpoint, which a store found under its lock.
pub fn settle_claim(
    delivery: Delivery,
    endpoint: &Endpoint,
    lease: Lease,
    at: Timestamp,
) -> DeliveryClaim {
    if endpoint.power.is_on() {
        let (held, claimed) = claim(delivery, endpoint, lease, at);
        DeliveryClaim::Take(Box::new(held), Box::new(claimed))
    } else {
        DeliveryClaim::GiveUp(Box::new(delivery.given_up()))
    }
}

/// Claims `delivery` under a lease. Returns the delivery with its lease, and what its worker needs.
fn claim(
    delivery: Delivery,
    endpoint: &Endpoint,
    lease: Lease,
    at: Timestamp,
) -> (Delivery, ClaimedDelivery) {
    let claimed = ClaimedDelivery {
        account: delivery.account,
        endpoint: delivery.endpoint,
        token: lease.token,
        request: WebhookRequest {
            account: delivery.account,
            url: endpoint.url.clone(),
            secrets: endpoint.signing_secrets(at),
            delivery: delivery.id,
            event_type: delivery.event_type,
            body: delivery.body.clone(),
        },
    };
    let held = Delivery { lease: Some(lease.token), leased_until: Some(lease.until), ..delivery };
    (held, claimed)
}

/// The result of an attempt, to be recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptPlan {
    /// The account of the delivery.
    pub account: AccountId,
    /// The delivery that was attempted.
    pub delivery: DeliveryId,
    /// The lease under which the attempt was made.
    pub token: LeaseToken,
    /// Success, or the cause of the failure.
    pub result: Result<(), DeliveryError>,
    /// The status code of the answer; `None` without an answer.
    pub status_code: Option<u16>,
    /// How long the endpoint asked to wait (`Retry-After`); `None` if it did not say.
    pub retry_after: Option<Duration>,
    /// When the attempt began.
    pub began: Timestamp,
    /// When the attempt ended.
    pub at: Timestamp,
    /// When to retry after failures.
    pub schedule: RetrySchedule,
    /// How much a retry is delayed in addition.
    pub jitter: Jitter,
}

/// The verdict on an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a verdict has to be written by the store"]
pub enum AttemptVerdict {
    /// The delivery and its endpoint after the attempt. If this attempt disabled the endpoint, its
    /// other [waiting](Delivery::is_waiting) deliveries are [given up](Delivery::given_up) in the
    /// same commit.
    Record {
        /// The delivery after the attempt.
        delivery: Box<Delivery>,
        /// The endpoint after the attempt.
        endpoint: Box<Endpoint>,
        /// Whether this attempt disabled the endpoint.
        switched_off: bool,
    },
    /// The worker no longer holds the delivery: nothing changes.
    LeaseLost,
}

impl AttemptPlan {
    /// The verdict on the delivery and endpoint that the store found under its lock.
    pub fn settle(&self, found: Option<(&Delivery, &Endpoint)>) -> AttemptVerdict {
        let Some((delivery, endpoint)) = found else { return AttemptVerdict::LeaseLost };
        if delivery.lease != Some(self.token) {
            return AttemptVerdict::LeaseLost;
        }
        let mut delivery = delivery.clone();
        let mut endpoint = endpoint.clone();
        delivery.lease = None;
        delivery.leased_until = None;
        delivery.attempts = delivery.attempts.saturating_add(1);
        delivery.last_attempt_at = Some(self.at);
        delivery.last_status_code = self.status_code;
        delivery.last_error = self.result.err();
        delivery.next_attempt_at = None;
        let mut switched_off = false;
        if delivery.event_type == EventType::WebhookTest {
            // The result of a test says nothing about the delivery of the account's events.
            if self.result.is_ok() {
                delivery.delivered_at = Some(self.at);
            }
            let taken = delivery.delivered_at.is_some();
            delivery.status =
                if taken { DeliveryStatus::Delivered } else { DeliveryStatus::GivenUp };
        } else if self.result.is_ok() {
            delivery.status = DeliveryStatus::Delivered;
            delivery.delivered_at = Some(self.at);
            if endpoint.power.is_on() {
                endpoint.consecutive_failures = 0;
            }
            endpoint.last_delivered_at = Some(self.at);
        } else {
            switched_off = self.count(&mut endpoint);
            self.schedule_retry(&mut delivery, &endpoint);
        }
        AttemptVerdict::Record {
            delivery: Box::new(delivery),
            endpoint: Box::new(endpoint),
            switched_off,
        }
    }

    /// Counts a failed attempt, and pauses an endpoint that asks for that. Returns whether the
    /// endpoint is disabled now.
    fn count(&self, endpoint: &mut Endpoint) -> bool {
        if !endpoint.power.is_on() {
            return false;
        }
        let Some(length) = length_asked(self.status_code, self.retry_after) else {
            return count_failure(endpoint);
        };
        let asked = Asked { began: self.began, at: self.at, length };
        let (pause, switched_off) = match asked.after(endpoint.pause) {
            Paused::Anew(pause) => (pause, count_failure(endpoint)),
            Paused::Still(pause) => (pause, false),
        };
        endpoint.pause = Some(pause);
        switched_off
    }

    /// A retry is due after its delay, and not before a pause of its endpoint ends.
    fn schedule_retry(&self, delivery: &mut Delivery, endpoint: &Endpoint) {
        let delay = self.schedule.delay_after(delivery.attempts, self.jitter);
        match delay.filter(|_| endpoint.power.is_on()) {
            // A delivery that the endpoint once received stays delivered if sending it again fails.
            _ if delivery.delivered_at.is_some() => delivery.status = DeliveryStatus::Delivered,
            Some(delay) => {
                delivery.status = DeliveryStatus::Pending;
                let paused_until = endpoint.pause.map(|pause| pause.until);
                delivery.next_attempt_at = paused_until.max(Some(self.at.plus(delay)));
            }
            None => delivery.status = DeliveryStatus::GivenUp,
        }
    }
}

/// Counts a failed attempt at an enabled endpoint. Returns whether it disabled the endpoint.
fn count_failure(endpoint: &mut Endpoint) -> bool {
    endpoint.consecutive_failures = endpoint.consecutive_failures.saturating_add(1);
    if endpoint.consecutive_failures < FAILURES_TO_SWITCH_OFF {
        return false;
    }
    endpoint.power = Power::Off(DisabledReason::Failures);
    endpoint.replay = None;
    true
}

/// A request to send a delivery again now, in whatever state it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryPlan {
    /// The account of the delivery.
    pub account: AccountId,
    /// The endpoint that the request names.
    pub endpoint: EndpointId,
    /// The delivery to send again.
    pub delivery: DeliveryId,
    /// The time of the request.
    pub at: Timestamp,
    /// The lease for the attempt.
    pub lease: Lease,
}

/// The verdict on such a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RetryVerdict {
    /// The delivery is claimed for this request, which has to send it.
    Send(Box<Delivery>, Box<ClaimedDelivery>),
    /// A worker is sending it now.
    UnderWay(Box<Delivery>),
}

impl RetryPlan {
    /// The verdict on the delivery that the store found under its lock.
    pub fn settle(&self, delivery: &Delivery, endpoint: &Endpoint) -> RetryVerdict {
        if delivery.leased_until.is_some_and(|until| until > self.at) {
            return RetryVerdict::UnderWay(Box::new(delivery.clone()));
        }
        let again = Delivery {
            status: DeliveryStatus::Pending,
            next_attempt_at: Some(self.at),
            ..delivery.clone()
        };
        let (held, claimed) = claim(again, endpoint, self.lease, self.at);
        RetryVerdict::Send(Box::new(held), Box::new(claimed))
    }
}

#[cfg(test)]
mod tests;
