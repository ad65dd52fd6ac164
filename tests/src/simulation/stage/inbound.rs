//! Inbound messages on the stage.

use super::Stage;
use crate::layer::prelude::*;
use crate::layer::{InboundLayer, Layer};

impl InboundLayer for Stage {
    async fn inbound_take(
        &self,
        plan: InboundPlan,
        claim: Option<&Claim>,
    ) -> Result<Once<TakenIn>, StoreError> {
        self.before("inbound_take").await;
        let seen = plan.clone();
        let answer = self.inner.inbound_take(plan, claim).await?;
        if let Once::Done(taken) = &answer {
            self.after(|model, moment| model.saw_inbound(moment, &seen, taken)).await;
        }
        Ok(answer)
    }

    async fn inbound_segment_take(&self, plan: SegmentPlan) -> Result<SegmentTaken, StoreError> {
        self.before("inbound_segment_take").await;
        let seen = plan.clone();
        let answer = self.inner.inbound_segment_take(plan).await?;
        self.after(|model, moment| model.saw_part(moment, &seen, &answer)).await;
        Ok(answer)
    }

    async fn inbound_segment_give_up(&self, plan: GiveUpPlan) -> Result<GaveUp, StoreError> {
        self.before("inbound_segment_give_up").await;
        let seen = plan.clone();
        let answer = self.inner.inbound_segment_give_up(plan).await?;
        self.after(|model, moment| model.saw_parts_given_up(moment, &seen, &answer)).await;
        Ok(answer)
    }
}
