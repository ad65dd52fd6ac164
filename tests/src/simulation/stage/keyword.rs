//! Keywords on the stage.

use super::{Stage, first};
use crate::layer::prelude::*;
use crate::layer::{KeywordLayer, Layer};

impl KeywordLayer for Stage {
    async fn keyword_save(
        &self,
        plan: SavePlan,
        claim: Option<&Claim>,
    ) -> Result<Once<Keyword>, CommitError<KeywordRefused>> {
        self.before("keyword_save").await;
        let seen = plan.clone();
        let answer = self.inner.keyword_save(plan, claim).await;
        let answer = match first(answer) {
            Ok(answer) => answer,
            Err(earlier) => return Ok(Once::Earlier(earlier)),
        };
        self.after(|model, moment| model.saw_keyword(moment, &seen, &answer)).await;
        answer.map(Once::Done)
    }

    async fn keyword_delete(
        &self,
        account: AccountId,
        id: KeywordId,
        if_version: IfVersion,
    ) -> Result<bool, CommitError<Changed>> {
        self.before("keyword_delete").await;
        let answer = self.inner.keyword_delete(account, id, if_version).await?;
        self.after(|model, _| model.saw_keyword_gone(account, id, answer)).await;
        Ok(answer)
    }
}
