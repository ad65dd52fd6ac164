//! Tracked links on the stage.

use super::{Stage, done};
use crate::layer::prelude::*;
use crate::layer::{Layer, LinkLayer};

impl LinkLayer for Stage {
    async fn links_click(&self, plans: Vec<ClickPlan>) -> Vec<Result<Option<Link>, StoreError>> {
        self.before("links_click").await;
        let seen = plans.clone();
        let answers = self.inner.links_click(plans).await;
        let (seen, counted) = done(seen, &answers);
        self.after(|model, moment| model.saw_hits(moment, seen, &counted)).await;
        answers
    }
}
