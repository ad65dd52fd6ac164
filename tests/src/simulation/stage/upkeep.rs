//! Chores on the stage.

use super::Stage;
use crate::layer::prelude::*;
use crate::layer::{Layer, UpkeepLayer, call};

impl UpkeepLayer for Stage {
    async fn tidy(&self, chore: Chore, limit: usize) -> Result<usize, StoreError> {
        self.before(call::of_chore(&chore)).await;
        let seen = chore.clone();
        let answer = self.inner.tidy(chore, limit).await?;
        match seen {
            Chore::Deliveries { before } => {
                self.after(|model, moment| {
                    model.saw_deliveries_tidied(moment, before, limit, answer)
                })
                .await;
            }
            Chore::Events { before } => {
                self.after(|model, moment| model.saw_events_tidied(moment, before, limit, answer))
                    .await;
            }
            Chore::IdempotencyKeys { before } => {
                self.after(|model, _| {
                    model.saw_keys_tidied(before);
                    Ok(())
                })
                .await;
            }
            Chore::LastContacts { before } => {
                self.after(|model, _| model.saw_last_contacted_tidied(before, limit, answer)).await;
            }
            Chore::CampaignCounts
            | Chore::Reports { .. }
            | Chore::Search { .. }
            | Chore::Sessions { .. }
            | Chore::Statistics
            | Chore::TestSends { .. }
            | Chore::UnmatchedReports { .. } => {}
        }
        Ok(answer)
    }
}
