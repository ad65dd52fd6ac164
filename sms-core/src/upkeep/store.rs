//! What a store does to stay in order.

use async_trait::async_trait;

use super::{Chore, Due};
use crate::store_error::StoreError;
use crate::time::Timestamp;

/// Does the chores of a store, and says when work falls due, for workers that wait for it.
#[async_trait]
pub trait Upkeep: Send + Sync {
    /// Does up to `limit` pieces of a chore. Returns how many; 0 if there is no more to do for now.
    async fn tidy(&self, chore: Chore, limit: usize) -> Result<usize, StoreError>;

    /// The earliest time at which work of this kind falls due; `None` if none is waiting.
    async fn next(&self, work: Due) -> Result<Option<Timestamp>, StoreError>;
}
