//! Single messages: reading, listing, cancelling.

use async_trait::async_trait;
use sms_core::commit::Changes;
use sms_core::ids::{AccountId, MessageId};
use sms_core::message::cancel::{CancelPlan, CancelRefused};
use sms_core::message::store::MessageStore;
use sms_core::message::{Message, MessageFilter, TimelineEntry};
use sms_core::page::{Page, PageRequest};
use sms_core::store::{CommitError, StoreError};
use sms_core::time::Timestamp;

use crate::MemoryStore;

#[async_trait]
impl MessageStore for MemoryStore {
    async fn message_get(
        &self,
        account: AccountId,
        id: MessageId,
    ) -> Result<Option<(Message, Vec<TimelineEntry>)>, StoreError> {
        let state = self.state();
        let stored = state.message_of(account, id);
        Ok(stored.map(|stored| (stored.message.clone(), stored.timeline.clone())))
    }

    async fn message_list(
        &self,
        account: AccountId,
        filter: &MessageFilter,
        page: PageRequest,
    ) -> Result<Page<Message>, StoreError> {
        let state = self.state();
        let Some(room) = state.accounts.get(&account) else {
            return Ok(Page { items: Vec::new(), next: None });
        };
        let rows = room
            .index
            .newest_first(filter, filter.ids(page))
            .filter_map(|id| state.messages.get(&id))
            .map(|stored| &stored.message)
            .filter(|message| filter.accepts(message))
            .take(page.limit.get() + 1)
            .cloned()
            .collect();
        Ok(Page::of(rows, page.limit, |message: &Message| message.id))
    }

    async fn message_cancel(
        &self,
        mut plan: CancelPlan,
    ) -> Result<Message, CommitError<CancelRefused>> {
        let mut state = self.state();
        let found = state.message_of(plan.account, plan.message).map(|stored| &stored.message);
        let changed = plan.settle(found).map_err(CommitError::Refused)?;
        let message = changed.message().clone();
        let mut changes = Changes::default();
        changes.add([changed], &plan.ids);
        state.write_changes(changes.finish());
        Ok(message)
    }

    async fn search_prepare(&self, _: Timestamp, _: usize) -> Result<usize, StoreError> {
        // Bodies are in memory, so searches need no preparation.
        Ok(0)
    }
}
