//! What a store does with the queue of texts that wait to leave.

use async_trait::async_trait;

use super::{ClaimPlan, Claimed, FollowUp, LeaseToken, OutcomePlan, OutcomeRecorded};
use crate::store::StoreError;
use crate::time::Timestamp;

/// Keeps the queue.
#[async_trait]
pub trait DispatchStore: Send + Sync {
    /// Takes texts whose `claimable_at` is not after `plan.at`, the longest due first, and settles
    /// each by [`Claim::settle`](crate::commit::Claim::settle) in one commit. Two claims at once
    /// never take the same text. Which of them [`ClaimPlan::wanted`] says.
    async fn dispatch_claim(&self, plan: ClaimPlan) -> Result<Claimed, StoreError>;

    /// Records what became of texts, each by [`OutcomePlan::settle`], which
    /// [`Outcomes`](crate::commit::Outcomes) calls, against the text and its place
    /// in the queue as the ones before left them, and against what was reported of its parts
    /// before; each text's change is whole: status, timeline, refund, events, queue and parts
    /// together. Answers in the order given.
    async fn dispatch_record(
        &self,
        plans: Vec<OutcomePlan>,
    ) -> Result<Vec<OutcomeRecorded>, StoreError>;

    /// Holds every text that still carries this token until `until`. Returns how many there are.
    async fn dispatch_renew(
        &self,
        token: LeaseToken,
        until: Timestamp,
    ) -> Result<usize, StoreError>;

    /// The earliest moment at which a text can be claimed.
    async fn dispatch_next(&self) -> Result<Option<Timestamp>, StoreError>;

    /// Simulated comebacks due at `at`, earliest first. They stay until what fulfils them is
    /// recorded.
    async fn follow_ups_due(
        &self,
        at: Timestamp,
        limit: usize,
    ) -> Result<Vec<FollowUp>, StoreError>;

    /// The earliest moment at which a simulated comeback is due.
    async fn follow_ups_next(&self) -> Result<Option<Timestamp>, StoreError>;
}
