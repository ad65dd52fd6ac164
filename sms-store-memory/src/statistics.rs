//! Statistics: totals that every commit adds to at once.

use async_trait::async_trait;
use sms_core::ids::AccountId;
use sms_core::statistics::store::ReadsStatistics;
use sms_core::statistics::{Counts, Period};
use sms_core::store::StoreError;

use crate::MemoryStore;

#[async_trait]
impl ReadsStatistics for MemoryStore {
    async fn statistics_within(
        &self,
        account: AccountId,
        periods: &[Period],
    ) -> Result<Vec<Counts>, StoreError> {
        let state = self.state();
        let room = state.accounts.get(&account);
        let within = |period: &Period| room.map(|room| room.statistics.within(*period));
        Ok(periods.iter().map(|period| within(period).unwrap_or_default()).collect())
    }
}
