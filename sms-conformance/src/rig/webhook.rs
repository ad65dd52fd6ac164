//! Endpoints, deliveries, and attempts to make them.

use std::time::Duration;

use serde_json::Value;
use sms_core::account::Account;
use sms_core::dispatch::{Lease, LeaseToken};
use sms_core::event::{EventBody, EventType};
use sms_core::ids::DeliveryId;
use sms_core::phone::E164;
use sms_core::webhook::attempt::{
    ATTEMPT_LEASE, AttemptPlan, AttemptVerdict, ClaimedDelivery, DeliveryClaimPlan, RetryPlan,
    RetryVerdict, Room,
};
use sms_core::webhook::delivery::{Delivery, DeliveryError};
use sms_core::webhook::endpoint::{Endpoint, EndpointChange, EndpointInput, Power};
use sms_core::webhook::retry::{Jitter, RetrySchedule};
use sms_core::webhook::sealing::StoredSecret;
use sms_core::webhook::secret::Secret;

use super::{Rig, all_recorded, read_all};

/// A secret for an endpoint.
pub fn secret(rig: &Rig) -> StoredSecret {
    Secret::generate(rig.random()).into()
}

/// The JSON that a delivery carries.
pub fn event_of(body: &EventBody) -> Value {
    serde_json::from_str(body.as_str()).expect("an event is JSON")
}

impl Rig {
    /// An endpoint that no store knows yet.
    pub fn new_endpoint(&self, account: &Account, events: &[EventType]) -> Endpoint {
        let input = EndpointInput::new("https://example.com/hook", events.iter().copied());
        let input = input.description("Bookings");
        input.into_endpoint(self.id(), account.id, secret(self), self.now())
    }

    /// Makes an endpoint that wants these events.
    pub async fn endpoint(&self, account: &Account, events: &[EventType]) -> Endpoint {
        let endpoint = self.new_endpoint(account, events);
        crate::rig::done(self.store().endpoint_create(endpoint.clone(), None).await)
            .expect("the endpoint is written");
        endpoint
    }

    /// The endpoint as it is now.
    pub async fn endpoint_now(&self, endpoint: &Endpoint) -> Endpoint {
        let found = self.store().endpoint_get(endpoint.account, endpoint.id).await;
        found.expect("the endpoint is read").expect("the endpoint is there")
    }

    /// Changes an endpoint that exists, and returns it as it is then.
    pub async fn update_endpoint(&self, endpoint: &Endpoint, change: EndpointChange) -> Endpoint {
        let (account, id) = (endpoint.account, endpoint.id);
        let updated = self.store().endpoint_update(account, id, change, self.now()).await;
        updated.expect("the endpoint is updated").expect("the endpoint is there")
    }

    /// Switches an endpoint on or off.
    pub async fn switch(&self, endpoint: &Endpoint, power: Power) -> Endpoint {
        let change = EndpointChange { power: Some(power), ..EndpointChange::default() };
        self.update_endpoint(endpoint, change).await
    }

    /// Makes an account whose only endpoint wants inbound messages, and a dedicated number to raise
    /// them with.
    pub async fn listener(&self, number: E164) -> (Account, Endpoint) {
        let account = self.account(0).await;
        self.dedicated_number(number, &account).await;
        let endpoint = self.endpoint(&account, &[EventType::MessageReceived]).await;
        (account, endpoint)
    }

    /// Raises `message.received` this many times, by messages to an account's own number.
    pub async fn raise(&self, number: E164, count: usize) {
        for _ in 0..count {
            self.inbound_routed(1, number, "Hello").await;
        }
    }

    /// All of an endpoint's deliveries, newest first.
    pub async fn deliveries(&self, endpoint: &Endpoint) -> Vec<Delivery> {
        let (account, id) = (endpoint.account, endpoint.id);
        read_all(100, async |page| {
            let page = self.store().delivery_list(account, id, page).await;
            page.expect("deliveries are read")
        })
        .await
    }

    /// The kinds of event in an endpoint's deliveries, oldest first.
    pub async fn kinds(&self, endpoint: &Endpoint) -> Vec<EventType> {
        let deliveries = self.deliveries(endpoint).await;
        deliveries.iter().rev().map(|delivery| delivery.event_type).collect()
    }

    /// One delivery as it is now.
    pub async fn delivery(&self, endpoint: &Endpoint, id: DeliveryId) -> Delivery {
        let found = self.store().delivery_get(endpoint.account, endpoint.id, id).await;
        found.expect("the delivery is read").expect("the delivery is there")
    }

    /// A lease for an attempt, from now on.
    pub fn attempt_lease(&self) -> Lease {
        Lease { token: self.token(), until: self.now().plus(ATTEMPT_LEASE) }
    }

    /// A worker's wish for deliveries.
    pub fn delivery_claim(&self, room: Room) -> DeliveryClaimPlan {
        DeliveryClaimPlan { at: self.now(), lease: self.attempt_lease(), room }
    }

    /// Claims deliveries that are due.
    pub async fn claim_deliveries(&self, room: Room) -> Vec<ClaimedDelivery> {
        let total = room.total;
        let claimed = self.store().deliveries_claim(self.delivery_claim(room)).await;
        let claimed = claimed.expect("deliveries are claimed");
        assert!(claimed.len() <= total, "a claim takes more than there is room for");
        claimed
    }

    /// Claims up to `total` deliveries that are due, whosever they are.
    pub async fn claim_any(&self, total: usize) -> Vec<ClaimedDelivery> {
        self.claim_deliveries(Room::any(total)).await
    }

    /// How an attempt ended: with a 2xx answer, or with this error.
    pub fn attempt(
        &self,
        claimed: &ClaimedDelivery,
        result: Result<(), DeliveryError>,
    ) -> AttemptPlan {
        let status_code = match result {
            Ok(()) => Some(204),
            Err(DeliveryError::HttpStatus) => Some(500),
            Err(_) => None,
        };
        AttemptPlan {
            account: claimed.account,
            delivery: claimed.request.delivery,
            token: claimed.token,
            result,
            status_code,
            retry_after: None,
            began: self.now(),
            at: self.now(),
            schedule: RetrySchedule::default(),
            jitter: Jitter(0),
        }
    }

    /// Records how attempts ended, all in one call.
    pub async fn record_attempts(&self, plans: Vec<AttemptPlan>) -> Vec<AttemptVerdict> {
        let wanted = plans.len();
        let verdicts = all_recorded(self.store().deliveries_record(plans).await);
        assert_eq!(verdicts.len(), wanted, "every attempt has its answer");
        verdicts
    }

    /// Records that all these attempts succeeded.
    pub async fn succeed(&self, claimed: &[ClaimedDelivery]) -> Vec<AttemptVerdict> {
        let plan = |claimed| self.attempt(claimed, Ok(()));
        self.record_attempts(claimed.iter().map(plan).collect()).await
    }

    /// Records that all these attempts got an answer other than 2xx.
    pub async fn fail(&self, claimed: &[ClaimedDelivery]) -> Vec<AttemptVerdict> {
        let plan = |claimed| self.attempt(claimed, Err(DeliveryError::HttpStatus));
        self.record_attempts(claimed.iter().map(plan).collect()).await
    }

    /// Records that all these attempts, begun now, got a 429 that asks for so much time.
    pub async fn ask_for_pause(
        &self,
        claimed: &[ClaimedDelivery],
        retry_after: Duration,
    ) -> Vec<AttemptVerdict> {
        let plan = |claimed| AttemptPlan {
            status_code: Some(429),
            retry_after: Some(retry_after),
            ..self.attempt(claimed, Err(DeliveryError::HttpStatus))
        };
        self.record_attempts(claimed.iter().map(plan).collect()).await
    }

    /// A wish to have a delivery sent again by hand.
    pub fn retry_plan(&self, endpoint: &Endpoint, delivery: DeliveryId) -> RetryPlan {
        RetryPlan {
            account: endpoint.account,
            endpoint: endpoint.id,
            delivery,
            at: self.now(),
            lease: self.attempt_lease(),
        }
    }

    /// Takes a delivery to be sent again by hand.
    pub async fn retry(&self, endpoint: &Endpoint, delivery: DeliveryId) -> ClaimedDelivery {
        let plan = self.retry_plan(endpoint, delivery);
        let token: LeaseToken = plan.lease.token;
        match self.store().delivery_retry(plan).await.expect("the delivery is taken") {
            Some(RetryVerdict::Send(held, claimed)) => {
                assert_eq!((held.id, held.lease), (delivery, Some(token)));
                *claimed
            }
            other => panic!("expected to send it again, not {other:?}"),
        }
    }
}
