//! The event log on the stage.

use super::Stage;
use crate::layer::prelude::*;
use crate::layer::{EventLayer, Layer};
use crate::simulation::trace::Detail;

impl EventLayer for Stage {
    async fn event_list(
        &self,
        account: AccountId,
        request: EventRequest,
    ) -> Result<EventPage, StoreError> {
        self.before("event_list").await;
        let page = self.inner.event_list(account, request).await?;
        self.world.note("reads events", Detail::Count(page.items.len()));
        self.world.judge(|model, _| model.saw_event_page(account, request, &page));
        Ok(page)
    }

    async fn event_get(
        &self,
        account: AccountId,
        id: EventId,
    ) -> Result<Option<LoggedEvent>, StoreError> {
        self.before("event_get").await;
        let answer = self.inner.event_get(account, id).await?;
        self.world.judge(|model, _| model.saw_event(account, id, answer.as_ref()));
        Ok(answer)
    }
}
