//! Claiming deliveries that are due, and recording how an attempt ended.
//!
//! One slow or dead endpoint must not delay another's deliveries: a claim takes no more of an
//! endpoint than it has slots for, and endpoints that fail share a part of all slots.

use std::collections::BTreeMap;
use std::time::Duration;

use super::delivery::{Delivery, DeliveryError, DeliveryStatus};
use super::endpoint::{DisabledReason, Endpoint, FAILURES_TO_SWITCH_OFF, Power};
use super::retry::{Jitter, RetrySchedule};
use super::sender::WebhookRequest;
use crate::dispatch::{Lease, LeaseToken};
use crate::event::EventType;
use crate::ids::{AccountId, DeliveryId, EndpointId};
use crate::time::Timestamp;

/// How long a claimed delivery is held: more than an attempt can take.
pub const ATTEMPT_LEASE: Duration = Duration::from_secs(30);

/// A worker's wish for deliveries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryClaimPlan {
    /// When.
    pub at: Timestamp,
    /// The hold it takes.
    pub lease: Lease,
    /// How much it can take.
    pub room: Room,
}

/// How many deliveries a worker can take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Room {
    /// In all.
    pub total: usize,
    /// Of all endpoints together whose last attempt failed.
    pub failing: usize,
    /// Of one endpoint that is not named in `endpoints`.
    pub each: usize,
    /// Of the endpoints that have deliveries under way or a record of success or failure.
    pub endpoints: BTreeMap<EndpointId, usize>,
}

impl Room {
    /// Room for so many, with no regard to whose they are.
    pub fn any(total: usize) -> Self {
        Self { total, failing: total, each: total, endpoints: BTreeMap::new() }
    }

    /// How many of this endpoint's deliveries there is room for now.
    pub fn of(&self, endpoint: &Endpoint) -> usize {
        let own = self.endpoints.get(&endpoint.id).copied().unwrap_or(self.each);
        let shared = if endpoint.consecutive_failures > 0 { self.failing } else { self.total };
        own.min(shared).min(self.total)
    }

    /// Takes `count` of this endpoint's deliveries from the room.
    pub fn take(&mut self, endpoint: &Endpoint, count: usize) {
        self.total = self.total.saturating_sub(count);
        if endpoint.consecutive_failures > 0 {
            self.failing = self.failing.saturating_sub(count);
        }
        let own = self.endpoints.entry(endpoint.id).or_insert(self.each);
        *own = own.saturating_sub(count);
    }
}

/// A delivery in the hands of a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedDelivery {
    /// Whose it is.
    pub account: AccountId,
    /// Where it goes.
    pub endpoint: EndpointId,
    /// The hold under which the attempt is made.
    pub token: LeaseToken,
    /// What to send.
    pub request: WebhookRequest,
}

/// The verdict on a delivery that is due.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a verdict has to be written by the store"]
pub enum DeliveryClaim {
    /// The worker has it: the delivery as held, and what the worker needs.
    Take(Box<Delivery>, Box<ClaimedDelivery>),
    /// Its endpoint is off, so nothing more is sent to it by itself.
    GiveUp(Box<Delivery>),
}

/// The verdict on a delivery that is due, and on its endpoint, as a store finds them under its
/// lock.
pub fn settle_claim(delivery: Delivery, endpoint: &Endpoint, lease: Lease) -> DeliveryClaim {
    if endpoint.power.is_on() {
        let (held, claimed) = claim(delivery, endpoint, lease);
        DeliveryClaim::Take(Box::new(held), Box::new(claimed))
    } else {
        DeliveryClaim::GiveUp(Box::new(delivery.given_up()))
    }
}

/// Takes `delivery` under a lease: the delivery as held, and what its worker needs.
fn claim(delivery: Delivery, endpoint: &Endpoint, lease: Lease) -> (Delivery, ClaimedDelivery) {
    let claimed = ClaimedDelivery {
        account: delivery.account,
        endpoint: delivery.endpoint,
        token: lease.token,
        request: WebhookRequest {
            url: endpoint.url.clone(),
            secret: endpoint.secret.clone(),
            delivery: delivery.id,
            event_type: delivery.event_type,
            body: delivery.body.clone(),
        },
    };
    let held = Delivery { lease: Some(lease.token), leased_until: Some(lease.until), ..delivery };
    (held, claimed)
}

/// How an attempt ended, to be recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptPlan {
    /// Whose delivery.
    pub account: AccountId,
    /// Which delivery.
    pub delivery: DeliveryId,
    /// The hold under which it was made.
    pub token: LeaseToken,
    /// Taken, or why not.
    pub result: Result<(), DeliveryError>,
    /// The status code, if there was an answer.
    pub status_code: Option<u16>,
    /// When it ended.
    pub at: Timestamp,
    /// When failures are tried again.
    pub schedule: RetrySchedule,
    /// How much a retry is put off.
    pub jitter: Jitter,
}

/// The verdict on an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a verdict has to be written by the store"]
pub enum AttemptVerdict {
    /// The delivery and its endpoint as they are now. If the endpoint went off with this attempt,
    /// what else [waits](Delivery::is_waiting) for it is [given up](Delivery::given_up) in the same
    /// commit.
    Record {
        /// The delivery.
        delivery: Box<Delivery>,
        /// The endpoint.
        endpoint: Box<Endpoint>,
        /// Whether this attempt switched the endpoint off.
        switched_off: bool,
    },
    /// The worker no longer has the delivery: nothing changes.
    LeaseLost,
}

impl AttemptPlan {
    /// The verdict on delivery and endpoint as the store finds them under its lock.
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
            // Neither its success nor its failure says anything of the account's events.
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
            switched_off = count_failure(&mut endpoint);
            self.schedule_retry(&mut delivery, &endpoint);
        }
        AttemptVerdict::Record {
            delivery: Box::new(delivery),
            endpoint: Box::new(endpoint),
            switched_off,
        }
    }

    fn schedule_retry(&self, delivery: &mut Delivery, endpoint: &Endpoint) {
        let delay = self.schedule.delay_after(delivery.attempts, self.jitter);
        match delay.filter(|_| endpoint.power.is_on()) {
            // Sent again by hand and failed now: the endpoint did take it once.
            _ if delivery.delivered_at.is_some() => delivery.status = DeliveryStatus::Delivered,
            Some(delay) => {
                delivery.status = DeliveryStatus::Pending;
                delivery.next_attempt_at = Some(self.at.plus(delay));
            }
            None => delivery.status = DeliveryStatus::GivenUp,
        }
    }
}

/// Counts a failed attempt; says whether it was the one that switches the endpoint off.
fn count_failure(endpoint: &mut Endpoint) -> bool {
    if !endpoint.power.is_on() {
        return false;
    }
    endpoint.consecutive_failures = endpoint.consecutive_failures.saturating_add(1);
    if endpoint.consecutive_failures < FAILURES_TO_SWITCH_OFF {
        return false;
    }
    endpoint.power = Power::Off(DisabledReason::Failures);
    true
}

/// A user's wish to have a delivery sent again now, whatever became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryPlan {
    /// Whose delivery.
    pub account: AccountId,
    /// Through which endpoint it was reached.
    pub endpoint: EndpointId,
    /// Which delivery.
    pub delivery: DeliveryId,
    /// When.
    pub at: Timestamp,
    /// The hold that sending it takes.
    pub lease: Lease,
}

/// What became of the wish.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RetryVerdict {
    /// It is ours to send.
    Send(Box<Delivery>, Box<ClaimedDelivery>),
    /// A worker is at it this moment.
    UnderWay(Box<Delivery>),
}

impl RetryPlan {
    /// The verdict on the delivery as the store finds it under its lock.
    pub fn settle(&self, delivery: &Delivery, endpoint: &Endpoint) -> RetryVerdict {
        if delivery.leased_until.is_some_and(|until| until > self.at) {
            return RetryVerdict::UnderWay(Box::new(delivery.clone()));
        }
        let again = Delivery {
            status: DeliveryStatus::Pending,
            next_attempt_at: Some(self.at),
            ..delivery.clone()
        };
        let (held, claimed) = claim(again, endpoint, self.lease);
        RetryVerdict::Send(Box::new(held), Box::new(claimed))
    }
}

#[cfg(test)]
mod tests;
