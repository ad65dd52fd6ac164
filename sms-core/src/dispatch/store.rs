//! What a store does with the queue of messages that wait to be submitted.

use async_trait::async_trait;

use super::outcome::{FollowUp, OutcomePlan, OutcomeRecorded};
use super::queue::LeaseToken;
use super::{ClaimPlan, Claimed};
use crate::store_error::StoreError;
use crate::time::Timestamp;

/// Keeps the queue of messages to submit, the leases on them, and the simulated follow-ups.
#[async_trait]
pub trait DispatchStore: Send + Sync {
    /// Claims up to `plan.limit` messages whose `claimable_at` is not after `plan.at`, and settles
    /// each by [`Claim::settle`](crate::commit::Claim::settle) in one commit, in the order in which
    /// they are to leave. [`ClaimPlan::wanted`] says which of them. Two concurrent claims never
    /// claim the same message.
    ///
    /// Each lane of each route is read by itself:
    ///
    /// - A lane in which no account takes [turns](ClaimPlan::turns) is read in the order of
    ///   `claimable_at`, then of the message.
    /// - Otherwise the claim visits accounts that have messages in the lane, due or not: those with
    ///   an id above [`Turns::after`](super::Turns::after) in order, then the others in order;
    ///   `plan.limit` of them at most. From each it reads up to
    ///   [`Turns::most`](super::Turns::most) due messages, in the order of `claimable_at`, then of
    ///   the message, where `all` adds up the shares of the visited accounts that have some. They
    ///   are ordered by [`Turns::round`](super::Turns::round), then as visited.
    ///
    /// The lanes are merged by [`LaneOrder::place`](crate::lane::LaneOrder::place), which counts
    /// each lane of each route from 0, then by `claimable_at`, then by the message. For
    /// [`Wanted::ExpiredOf`](super::Wanted::ExpiredOf), no account takes turns.
    ///
    /// A message that another worker holds locked may be passed over, and counts for nothing.
    async fn dispatch_claim(&self, plan: ClaimPlan) -> Result<Claimed, StoreError>;

    /// Records the outcomes of hand-overs. [`Outcomes`](crate::commit::Outcomes) settles each by
    /// [`OutcomePlan::settle`] against the message and its place in the queue as the earlier
    /// outcomes left them, and against the early reports on its segments. The change of each
    /// message is written whole: status, timeline, refund, events, queue and segments together.
    /// Answers in the order given. If it fails, some outcomes may be recorded all the same. When
    /// these are recorded again, the answer is [`OutcomeRecorded::LeaseLost`], and nothing changes.
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

    /// Simulated follow-ups due at `at`, earliest first. Each stays until the receipt or inbound
    /// message that fulfils it is recorded.
    async fn follow_ups_due(
        &self,
        at: Timestamp,
        limit: usize,
    ) -> Result<Vec<FollowUp>, StoreError>;
}
