//! What a store does with statistics. The commits of other nouns write what is counted: each adds
//! the [`Tally`](super::Tally) of its changes.

use async_trait::async_trait;

use super::{Counts, Period};
use crate::ids::AccountId;
use crate::store::StoreError;

/// Keeps totals.
#[async_trait]
pub trait StatisticsStore: Send + Sync {
    /// The counts of the account within each of these periods, in the order given and all as of one
    /// moment. Exact immediately: an acknowledged commit is included, and no commit is included in
    /// part. The cost depends on the [pieces](Period::pieces), not on the number of messages.
    async fn statistics_within(
        &self,
        account: AccountId,
        periods: &[Period],
    ) -> Result<Vec<Counts>, StoreError>;

    /// Adds up to `limit` of the differences that commits have left to the totals. This changes no
    /// answer, only how fast it comes. Returns how many were added; 0 if there are none at present.
    /// A store that updates its totals in each commit returns 0.
    async fn statistics_fold(&self, limit: usize) -> Result<usize, StoreError>;
}
