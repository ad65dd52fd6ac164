//! What a store does with texts that come in.

use async_trait::async_trait;

use super::part::{GaveUp, GiveUpPlan, PartPlan, PartTaken};
use super::{InboundPlan, TakenIn, Unrouted};
use crate::page::{Page, PageRequest};
use crate::store::StoreError;
use crate::time::Timestamp;

/// Takes in texts.
#[async_trait]
pub trait InboundStore: Send + Sync {
    /// Takes in one text with all its effects in one commit: finds its owner by
    /// [`InboundPlan::owner`], then writes what [`InboundPlan::settle`] says, or keeps it as
    /// unrouted. The follow-up of an [`Origin::Answer`](super::Origin::Answer) is removed with it;
    /// if it is gone, nothing is written.
    ///
    /// While it is settled, no other commit of the account may run, and where a keyword matches no
    /// change of its address book either. The answer of a keyword is settled by
    /// [`SendPlan::settle`](crate::sending::plan::SendPlan::settle) once all else is written, and
    /// is part of the same commit; one that is refused changes nothing. The conversation follows
    /// (see [`ConversationStore`](crate::conversation::store::ConversationStore)).
    async fn inbound_take(&self, plan: InboundPlan) -> Result<TakenIn, StoreError>;

    /// Keeps a part of a long text as [`PartPlan::settle`] says, with no other part of that text in
    /// between. The last one that was missing takes the whole text in, as
    /// [`inbound_take`](Self::inbound_take) does, in the same commit.
    async fn inbound_part_take(&self, plan: PartPlan) -> Result<PartTaken, StoreError>;

    /// Gives up one text, the oldest, of which the first part came before
    /// [`GiveUpPlan::before`], as [`GiveUpPlan::settle`] says. What did come of it is taken in, in
    /// the same commit.
    async fn inbound_part_give_up(&self, plan: GiveUpPlan) -> Result<GaveUp, StoreError>;

    /// Forgets up to `limit` of who texted whom last, from before `before`. Returns how many.
    async fn last_texted_tidy(&self, before: Timestamp, limit: usize) -> Result<usize, StoreError>;

    /// A page of the texts that belong to no account, newest first.
    async fn unrouted_list(&self, page: PageRequest) -> Result<Page<Unrouted>, StoreError>;
}
