//! What a store does with statistics. What is counted is written by the commits of other nouns:
//! each adds the [`Tally`](super::Tally) of what it changes.

use async_trait::async_trait;

use super::{Counts, Period};
use crate::ids::AccountId;
use crate::store::StoreError;

/// Keeps totals.
#[async_trait]
pub trait StatisticsStore: Send + Sync {
    /// What was counted of the account within each of these periods, all as of one moment; in the
    /// order given. Exact at once: a commit that was answered is in it, and no commit is in it by
    /// half. Costs what the [pieces](Period::pieces) hold, not what there are texts.
    async fn statistics_within(
        &self,
        account: AccountId,
        periods: &[Period],
    ) -> Result<Vec<Counts>, StoreError>;

    /// Adds up to `limit` of the differences that commits left to the totals. Changes no answer,
    /// only how fast it comes. Returns how many; 0 when there are none for now. A store that keeps
    /// totals at once returns 0.
    async fn statistics_fold(&self, limit: usize) -> Result<usize, StoreError>;
}
