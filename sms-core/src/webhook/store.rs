//! What a store does with endpoints and deliveries. Deliveries of events are written by the
//! commits that cause them, through [`deliveries`](super::delivery::deliveries).

use async_trait::async_trait;

use super::attempt::{
    AttemptPlan, AttemptVerdict, ClaimedDelivery, DeliveryClaimPlan, RetryPlan, RetryVerdict,
};
use super::delivery::Delivery;
use super::endpoint::{Endpoint, EndpointChange, EndpointRefused};
use crate::ids::{AccountId, DeliveryId, EndpointId};
use crate::page::{Page, PageRequest};
use crate::store::{CommitError, StoreError};
use crate::time::Timestamp;

/// Keeps endpoints and deliveries.
#[async_trait]
pub trait WebhookStore: Send + Sync {
    /// Writes a new endpoint, if [`settle_creation`](super::endpoint::settle_creation) allows it
    /// for the number of endpoints the account has; no other may be made in between.
    async fn endpoint_create(&self, endpoint: Endpoint)
    -> Result<(), CommitError<EndpointRefused>>;

    /// One endpoint.
    async fn endpoint_get(
        &self,
        account: AccountId,
        id: EndpointId,
    ) -> Result<Option<Endpoint>, StoreError>;

    /// All of an account's endpoints, newest first.
    async fn endpoint_list(&self, account: AccountId) -> Result<Vec<Endpoint>, StoreError>;

    /// Applies [`EndpointChange::apply`] to the endpoint as it is, with no other change of it in
    /// between. If that switches it off, what [waits](Delivery::is_waiting) for it is
    /// [given up](Delivery::given_up) in the same commit.
    async fn endpoint_update(
        &self,
        account: AccountId,
        id: EndpointId,
        change: EndpointChange,
        at: Timestamp,
    ) -> Result<Option<Endpoint>, StoreError>;

    /// Removes an endpoint and its deliveries; false when there is none of this id. From then on no
    /// reading and no claim finds them, even where they are cleared away later.
    async fn endpoint_delete(&self, account: AccountId, id: EndpointId)
    -> Result<bool, StoreError>;

    /// Takes deliveries that are due, each by [`settle_claim`](super::attempt::settle_claim), as
    /// many of each endpoint as [`Room::of`](super::attempt::Room::of) allows, the longest due
    /// endpoint first, and of an endpoint what has been due the longest. Two claims at once never
    /// take the same delivery.
    async fn deliveries_claim(
        &self,
        plan: DeliveryClaimPlan,
    ) -> Result<Vec<ClaimedDelivery>, StoreError>;

    /// Records attempts, each by [`AttemptPlan::settle`] against delivery and endpoint as the ones
    /// before left them. They may share a commit; one that cannot be recorded takes nothing from
    /// the others. Answers in the order given.
    async fn deliveries_record(
        &self,
        plans: Vec<AttemptPlan>,
    ) -> Vec<Result<AttemptVerdict, StoreError>>;

    /// Takes one delivery to be sent again by hand, as [`RetryPlan::settle`] says; `None` when the
    /// endpoint has no such delivery.
    async fn delivery_retry(&self, plan: RetryPlan) -> Result<Option<RetryVerdict>, StoreError>;

    /// Keeps a delivery that was made outside the queue: a test of the endpoint.
    async fn delivery_log(&self, delivery: Delivery) -> Result<(), StoreError>;

    /// One delivery.
    async fn delivery_get(
        &self,
        account: AccountId,
        endpoint: EndpointId,
        id: DeliveryId,
    ) -> Result<Option<Delivery>, StoreError>;

    /// A page of an endpoint's deliveries, newest first.
    async fn delivery_list(
        &self,
        account: AccountId,
        endpoint: EndpointId,
        page: PageRequest,
    ) -> Result<Page<Delivery>, StoreError>;

    /// Removes up to `limit` deliveries made before `before`, and clears away what a store has left
    /// of endpoints that were removed or switched off. Returns how many deliveries it dealt with: 0
    /// when there is no more to do.
    async fn deliveries_tidy(&self, before: Timestamp, limit: usize) -> Result<usize, StoreError>;

    /// The earliest moment at which a delivery can be claimed.
    async fn deliveries_next(&self) -> Result<Option<Timestamp>, StoreError>;
}
