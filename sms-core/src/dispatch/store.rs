//! What a store does with the queue of messages that wait to be submitted.

use async_trait::async_trait;

use super::{ClaimPlan, Claimed, FollowUp, LeaseToken, OutcomePlan, OutcomeRecorded};
use crate::store::StoreError;
use crate::time::Timestamp;

/// Keeps the queue.
#[async_trait]
pub trait DispatchStore: Send + Sync {
    /// Claims messages whose `claimable_at` is not after `plan.at`, the longest due first, and
    /// settles each by [`Claim::settle`](crate::commit::Claim::settle) in one commit.
    /// [`ClaimPlan::wanted`] says which of them. Two concurrent claims never claim the same
    /// message.
    async fn dispatch_claim(&self, plan: ClaimPlan) -> Result<Claimed, StoreError>;

    /// Records the outcomes of hand-overs. [`Outcomes`](crate::commit::Outcomes) settles each by
    /// [`OutcomePlan::settle`] against the message and its place in the queue as the earlier
    /// outcomes left them, and against the early reports on its segments. The change of each
    /// message is written whole: status, timeline, refund, events, queue and segments together.
    /// Answers in the order given.
    async fn dispatch_record(
        &self,
        plans: Vec<OutcomePlan>,
    ) -> Result<Vec<OutcomeRecorded>, StoreError>;

    /// Extends the lease of every message that still carries this token to `until`. Returns how
    /// many there are.
    async fn dispatch_renew(
        &self,
        token: LeaseToken,
        until: Timestamp,
    ) -> Result<usize, StoreError>;

    /// The earliest time at which a message can be claimed; `None` if the queue is empty.
    async fn dispatch_next(&self) -> Result<Option<Timestamp>, StoreError>;

    /// Simulated follow-ups due at `at`, earliest first. Each stays until the receipt or inbound
    /// message that fulfils it is recorded.
    async fn follow_ups_due(
        &self,
        at: Timestamp,
        limit: usize,
    ) -> Result<Vec<FollowUp>, StoreError>;

    /// The earliest time at which a simulated follow-up is due; `None` if there is none.
    async fn follow_ups_next(&self) -> Result<Option<Timestamp>, StoreError>;
}
