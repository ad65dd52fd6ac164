//! What a store does with statistics. The commits of other nouns write what is counted: each adds
//! the [`Tally`](super::Tally) of its changes.

use async_trait::async_trait;

use super::{Counts, Period};
use crate::ids::AccountId;
use crate::store_error::StoreError;

/// Reads totals, which the commits of other nouns write.
#[async_trait]
pub trait ReadsStatistics: Send + Sync {
    /// The counts of the account within each of these periods, in the order given and all as of one
    /// moment. Exact immediately: an acknowledged commit is included, and no commit is included in
    /// part. The cost depends on the [pieces](Period::pieces), not on the number of messages.
    async fn statistics_within(
        &self,
        account: AccountId,
        periods: &[Period],
    ) -> Result<Vec<Counts>, StoreError>;
}
