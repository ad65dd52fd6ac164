//! Sender names on the stage.

use super::{Stage, first};
use crate::layer::prelude::*;
use crate::layer::{Layer, SenderNameLayer, call};

impl SenderNameLayer for Stage {
    async fn sender_name_create(
        &self,
        name: SenderName,
        claim: Option<&Claim>,
    ) -> Result<Once<SenderName>, CommitError<SenderNameExists>> {
        self.before("sender_name_create").await;
        let asked = name.clone();
        let answer = self.inner.sender_name_create(name, claim).await;
        let answer = match first(answer) {
            Ok(answer) => answer,
            Err(earlier) => return Ok(Once::Earlier(earlier)),
        };
        let made = answer.is_ok();
        self.after(|model, _| model.saw_sender_name(asked, made)).await;
        answer.map(Once::Done)
    }

    async fn sender_name_list(
        &self,
        account: AccountId,
        wanted: NamesWanted,
    ) -> Result<Vec<SenderName>, StoreError> {
        self.before(call::of_names(wanted)).await;
        let answer = self.inner.sender_name_list(account, wanted).await?;
        if wanted == NamesWanted::Approved {
            self.world.judge(|model, moment| model.saw_approved(moment, account, &answer));
        }
        Ok(answer)
    }

    async fn sender_name_review(
        &self,
        plan: ReviewPlan,
    ) -> Result<SenderName, CommitError<ReviewRefused>> {
        self.before("sender_name_review").await;
        let seen = plan.clone();
        let answer = self.inner.sender_name_review(plan).await;
        self.after(|model, _| model.saw_review(&seen, &answer)).await;
        answer
    }
}
