//! Chores, and when work falls due.

use async_trait::async_trait;
use sms_core::store::StoreError;
use sms_core::time::Timestamp;
use sms_core::upkeep::store::Upkeep;
use sms_core::upkeep::{Chore, Due};

use crate::SqliteStore;

#[async_trait]
impl Upkeep for SqliteStore {
    async fn tidy(&self, chore: Chore, limit: usize) -> Result<usize, StoreError> {
        match chore {
            // Commits add to the counts and to the totals at once.
            Chore::CampaignCounts | Chore::Statistics => Ok(0),
            Chore::Deliveries { before } => self.deliveries_tidy(before, limit).await,
            Chore::Events { before } => self.events_tidy(before, limit).await,
            Chore::IdempotencyKeys { before } => self.idempotency_tidy(before, limit).await,
            Chore::LastContacts { before } => self.last_contacted_tidy(before, limit).await,
            Chore::Reports { before } => self.reports_tidy(before, limit).await,
            Chore::Search { before } => self.search_prepare(before, limit).await,
            Chore::Sessions { before } => self.sessions_tidy(before, limit).await,
            Chore::TestSends { before } => self.test_sends_tidy(before, limit).await,
            Chore::UnmatchedReports { route, before, keep } => {
                self.reports_trim(&route, before, keep, limit).await
            }
        }
    }

    async fn next(&self, work: Due) -> Result<Option<Timestamp>, StoreError> {
        match work {
            Due::Messages => self.dispatch_next().await,
            Due::FollowUps => self.follow_ups_next().await,
            Due::Deliveries => self.deliveries_next().await,
            Due::Replays => self.replays_next().await,
            Due::Rents => self.rents_next().await,
        }
    }
}
