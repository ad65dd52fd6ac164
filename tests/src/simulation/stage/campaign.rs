//! Campaigns on the stage. Calls that change messages are compared with the model; other calls only
//! wait for their turn.

use sms_core::campaign::cancel::{CancelPlan, CancelRefused};

use super::{Stage, first};
use crate::layer::prelude::*;
use crate::layer::{CampaignLayer, Layer};
use crate::simulation::model::LaunchSeen;

impl CampaignLayer for Stage {
    async fn campaign_launch(
        &self,
        plan: LaunchPlan,
        claim: Option<&Claim>,
    ) -> Result<Once<Campaign>, CommitError<LaunchRefused>> {
        self.before("campaign_launch").await;
        let seen = LaunchSeen::of(&plan);
        let answer = match first(self.inner.campaign_launch(plan, claim).await) {
            Ok(answer) => answer,
            Err(earlier) => return Ok(Once::Earlier(earlier)),
        };
        self.after(|model, moment| model.saw_launch(moment, &seen, &answer)).await;
        answer.map(Once::Done)
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
