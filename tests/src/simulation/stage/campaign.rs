//! Campaigns on the stage: plain calls in turn, but for those that change texts, which are compared
//! with the model.

use sms_core::campaign::cancel::{CancelPlan, CancelRefused, SweepPlan, Swept};
use sms_core::campaign::launch::{LaunchPlan, LaunchRefused};
use sms_core::campaign::store::CampaignStore;
use sms_core::campaign::{Campaign, CampaignChange, EditRefused};
use sms_core::ids::{AccountId, CampaignId};
use sms_core::page::{Page, PageRequest};
use sms_core::store::{CommitError, StoreError};
use sms_core::time::Timestamp;

use super::Stage;
use crate::simulation::forward::forward;
use crate::simulation::model::LaunchSeen;

forward! {
    impl CampaignStore for Stage {
        campaign_create(draft: Campaign) -> Result<(), StoreError>;
        campaign_get(account: AccountId, id: CampaignId) -> Result<Option<Campaign>, StoreError>;
        campaign_list(account: AccountId, page: PageRequest)
            -> Result<Page<Campaign>, StoreError>;
        campaign_update(account: AccountId, id: CampaignId, change: CampaignChange, at: Timestamp)
            -> Result<Campaign, CommitError<EditRefused>>;
        campaign_delete(account: AccountId, id: CampaignId)
            -> Result<(), CommitError<EditRefused>>;
        campaigns_unswept(before: Timestamp, limit: usize)
            -> Result<Vec<(AccountId, CampaignId)>, StoreError>;
        campaign_counts_tidy(limit: usize) -> Result<usize, StoreError>;
    }
    own {
        async fn campaign_launch(
            &self,
            plan: LaunchPlan,
        ) -> Result<Campaign, CommitError<LaunchRefused>> {
            self.before("campaign_launch").await;
            let seen = LaunchSeen::of(&plan);
            let answer = self.inner.campaign_launch(plan).await;
            self.after(|model, moment| model.saw_launch(moment, seen, &answer)).await;
            answer
        }

        async fn campaign_cancel(
            &self,
            plan: CancelPlan,
        ) -> Result<Campaign, CommitError<CancelRefused>> {
            self.before("campaign_cancel").await;
            let answer = self.inner.campaign_cancel(plan).await;
            let verdict = match &answer {
                Ok(_) => Ok(()),
                Err(CommitError::Refused(reason)) => Err(*reason),
                Err(CommitError::Stale | CommitError::Store(_)) => return answer,
            };
            self.after(|model, _| model.saw_campaign_cancel(plan, verdict)).await;
            answer
        }

        async fn campaign_sweep(&self, plan: SweepPlan) -> Result<Swept, StoreError> {
            self.before("campaign_sweep").await;
            let seen = plan.clone();
            let swept = self.inner.campaign_sweep(plan).await?;
            self.after(|model, moment| model.saw_sweep(moment, &seen, swept)).await;
            Ok(swept)
        }
    }
}
