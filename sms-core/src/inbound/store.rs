//! What a store does with inbound messages.

use async_trait::async_trait;

use super::segment::{GaveUp, GiveUpPlan, SegmentPlan, SegmentTaken};
use super::{InboundPlan, TakenIn, Unrouted};
use crate::idempotency::{Claim, Once};
use crate::page::{Page, PageRequest};
use crate::store_error::StoreError;

/// Reads inbound messages that belong to no account.
#[async_trait]
pub trait ReadsInbound: Send + Sync {
    /// A page of the messages that belong to no account, newest first.
    async fn unrouted_list(&self, page: PageRequest) -> Result<Page<Unrouted>, StoreError>;
}

/// Records inbound messages, keeps the segments of long ones until all have arrived, and keeps for
/// the operator what belongs to no account.
#[async_trait]
pub trait InboundStore: ReadsInbound {
    /// Records one message with all its effects in one commit: finds its owner by
    /// [`InboundPlan::owner`], then writes the result of [`InboundPlan::settle`], or keeps the
    /// message as unrouted. The follow-up of an [`Origin::Answer`](super::Origin::Answer) is
    /// removed in the same commit; if it no longer exists, nothing is written.
    ///
    /// While it is settled, no other commit of the account may run; if a keyword matches, no change
    /// of the account's address book either. A keyword's answer is settled by
    /// [`SendPlan::settle`](crate::sending::plan::SendPlan::settle) after everything else is
    /// written, in the same commit. A refused answer changes nothing. The conversation is updated
    /// too (see [`ConversationStore`](crate::conversation::store::ConversationStore)).
    ///
    /// A message with a claim is recorded [once](crate::idempotency::store::IdempotencyStore).
    async fn inbound_take(
        &self,
        plan: InboundPlan,
        claim: Option<&Claim>,
    ) -> Result<Once<TakenIn>, StoreError>;

    /// Stores a segment of a long message as [`SegmentPlan::settle`] decides. No other segment of
    /// that message may be processed in between. The last missing segment records the joined
    /// message in the same commit, as [`inbound_take`](Self::inbound_take) does.
    async fn inbound_segment_take(&self, plan: SegmentPlan) -> Result<SegmentTaken, StoreError>;

    /// Gives up on the oldest message whose first segment arrived before [`GiveUpPlan::before`], as
    /// [`GiveUpPlan::settle`] decides. The segments that arrived are recorded in the same commit.
    async fn inbound_segment_give_up(&self, plan: GiveUpPlan) -> Result<GaveUp, StoreError>;
}
