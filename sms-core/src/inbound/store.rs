//! What a store does with texts that come in.

use async_trait::async_trait;

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
    async fn inbound_take(&self, plan: InboundPlan) -> Result<TakenIn, StoreError>;

    /// Forgets up to `limit` of who texted whom last, from before `before`. Returns how many.
    async fn last_texted_tidy(&self, before: Timestamp, limit: usize) -> Result<usize, StoreError>;

    /// A page of the texts that belong to no account, newest first.
    async fn unrouted_list(&self, page: PageRequest) -> Result<Page<Unrouted>, StoreError>;
}
