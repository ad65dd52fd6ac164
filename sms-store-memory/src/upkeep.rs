//! Chores, and when work falls due.

use async_trait::async_trait;
use sms_core::store::StoreError;
use sms_core::time::Timestamp;
use sms_core::upkeep::store::Upkeep;
use sms_core::upkeep::{Chore, Due};

use crate::MemoryStore;

#[async_trait]
impl Upkeep for MemoryStore {
    async fn tidy(&self, chore: Chore, limit: usize) -> Result<usize, StoreError> {
        Ok(match chore {
            // Commits add to counts and totals at once, and searches need no preparation.
            Chore::CampaignCounts | Chore::Statistics | Chore::Search { .. } => 0,
            Chore::Deliveries { before } => self.deliveries_tidy(before, limit),
            Chore::Events { before } => self.events_tidy(before, limit),
            Chore::IdempotencyKeys { before } => self.idempotency_tidy(before, limit),
            Chore::LastContacts { before } => self.last_contacted_tidy(before, limit),
            Chore::Reports { before } => self.reports_tidy(before, limit),
            Chore::Sessions { before } => self.sessions_tidy(before, limit),
            Chore::TestSends { before } => self.test_sends_tidy(before, limit),
            Chore::UnmatchedReports { route, before, keep } => {
                self.reports_trim(&route, before, keep, limit)
            }
        })
    }

    async fn next(&self, work: Due) -> Result<Option<Timestamp>, StoreError> {
        Ok(match work {
            Due::Messages => self.dispatch_next(),
            Due::FollowUps => self.follow_ups_next(),
            Due::Deliveries => self.deliveries_next(),
            Due::Replays => self.replays_next(),
            Due::Rents => self.rents_next(),
        })
    }
}
