//! What a store does with endpoints and deliveries. The deliveries of an event are written by the
//! commit that raises it, through [`deliveries`](super::delivery::deliveries).

use async_trait::async_trait;

use super::attempt::{
    AttemptPlan, AttemptVerdict, ClaimedDelivery, DeliveryClaimPlan, RetryPlan, RetryVerdict,
};
use super::delivery::Delivery;
use super::endpoint::{Endpoint, EndpointChange, EndpointRefused};
use super::replay::ReplayBegun;
use super::reseal::ResealPlan;
use super::sealing::SecretPlace;
use crate::idempotency::{Claim, Once};
use crate::ids::{AccountId, DeliveryId, EndpointId};
use crate::page::{Page, PageRequest};
use crate::store_error::{CommitError, StoreError};
use crate::time::Timestamp;
use crate::version::{Changed, IfVersion};
use crate::webhook::replay::plan::{PortionPlan, ReplayPlan, ReplayRefused};

/// Which endpoints are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndpointsWanted {
    /// All of an account, newest first.
    Of(AccountId),
    /// Those of all accounts, by account and then by id.
    All {
        /// Only those that come after it; from the start if `None`.
        after: Option<SecretPlace>,
        /// The most that are wanted.
        limit: usize,
    },
    /// Those whose replays can go on, [in turn](super::replay::plan::in_turn): the next portion is
    /// due, the endpoint is on and not paused, and none of its deliveries can be claimed by the
    /// time that [`waits_for`](super::replay::plan::waits_for) says. So new events never wait for
    /// more than one portion. None of an account of which a replay [has just gone
    /// on](super::replay::plan::has_just_gone_on).
    ReplaysDue {
        /// The time by which the portions are due.
        at: Timestamp,
        /// The most that are wanted.
        limit: usize,
    },
}

/// Reads endpoints, and the deliveries to them with their attempts.
#[async_trait]
pub trait ReadsWebhooks: Send + Sync {
    /// One endpoint; `None` if the account has no such endpoint.
    async fn endpoint_get(
        &self,
        account: AccountId,
        id: EndpointId,
    ) -> Result<Option<Endpoint>, StoreError>;

    /// The endpoints that are wanted.
    async fn endpoint_list(&self, wanted: EndpointsWanted) -> Result<Vec<Endpoint>, StoreError>;

    /// One delivery; `None` if the endpoint has no such delivery.
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
}

/// Keeps endpoints and deliveries.
#[async_trait]
pub trait WebhookStore: ReadsWebhooks {
    /// Writes a new endpoint, if [`settle_creation`](super::endpoint::settle_creation) allows it
    /// for the number of the account's endpoints. No other endpoint of the account may be created
    /// in between.
    ///
    /// A creation with a claim takes effect [once](crate::idempotency::store::IdempotencyStore);
    /// what is remembered does not hold the secret.
    async fn endpoint_create(
        &self,
        endpoint: Endpoint,
        claim: Option<&Claim>,
    ) -> Result<Once<Endpoint>, CommitError<EndpointRefused>>;

    /// Replaces the secrets of endpoints, each as [`ResealPlan::settle`] decides, and nothing else
    /// of them. Returns how many it replaced. No plan may run over another change.
    async fn endpoints_reseal(&self, plans: Vec<ResealPlan>) -> Result<usize, StoreError>;

    /// Applies [`EndpointChange::apply`] to the stored endpoint. No other change of it may run in
    /// between. If the change disables it, its [waiting](Delivery::is_waiting) deliveries are
    /// [given up](Delivery::given_up) in the same commit.
    async fn endpoint_update(
        &self,
        account: AccountId,
        id: EndpointId,
        change: EndpointChange,
        at: Timestamp,
    ) -> Result<Option<Endpoint>, CommitError<Changed>>;

    /// Deletes an endpoint and its deliveries. Returns false if it does not exist. From then on no
    /// read and no claim finds the deliveries, even if their rows are removed later.
    /// A removal of some versions only [checks](IfVersion::check) the current endpoint, with no
    /// change of it in between.
    async fn endpoint_delete(
        &self,
        account: AccountId,
        id: EndpointId,
        if_version: IfVersion,
    ) -> Result<bool, CommitError<Changed>>;

    /// Claims due deliveries, each by [`settle_claim`](super::attempt::settle_claim), at most as
    /// many of each endpoint as [`Room::of`](super::attempt::Room::of) allows, so none of a paused
    /// one. The endpoint with the longest due delivery comes first, and of an endpoint its longest
    /// due deliveries. Two concurrent claims never claim the same delivery.
    async fn deliveries_claim(
        &self,
        plan: DeliveryClaimPlan,
    ) -> Result<Vec<ClaimedDelivery>, StoreError>;

    /// Records attempts, each by [`AttemptPlan::settle`] against the delivery and endpoint as the
    /// earlier attempts left them. Attempts may share a commit. One that cannot be recorded does
    /// not affect the others. Answers in the order given.
    async fn deliveries_record(
        &self,
        plans: Vec<AttemptPlan>,
    ) -> Vec<Result<AttemptVerdict, StoreError>>;

    /// Claims one delivery to send it again on request, as [`RetryPlan::settle`] decides; `None` if
    /// the endpoint has no such delivery.
    async fn delivery_retry(&self, plan: RetryPlan) -> Result<Option<RetryVerdict>, StoreError>;

    /// Stores a delivery that did not go through the queue: a test of the endpoint.
    async fn delivery_log(&self, delivery: Delivery) -> Result<(), StoreError>;

    /// Begins a replay, as [`ReplayPlan::settle`] decides for the endpoint. No other change of the
    /// endpoint may run in between.
    ///
    /// A replay with a claim begins [once](crate::idempotency::store::IdempotencyStore).
    async fn replay_begin(
        &self,
        plan: ReplayPlan,
        claim: Option<&Claim>,
    ) -> Result<Once<ReplayBegun>, CommitError<ReplayRefused>>;

    /// Writes a portion of a replay, as [`PortionPlan::settle`] decides for the endpoint and for
    /// those events of the portion that wait: there is a pending delivery of them to this endpoint.
    /// Returns how many deliveries it wrote.
    async fn replay_portion(&self, plan: PortionPlan) -> Result<usize, StoreError>;
}
