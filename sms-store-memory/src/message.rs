//! Single messages: reading, listing, cancelling.

use async_trait::async_trait;
use sms_core::change::cancel::{CancelPlan, CancelRefused};
use sms_core::change::store::{MessageStore, ReadsMessages};
use sms_core::commit::Changes;
use sms_core::ids::{AccountId, MessageId};
use sms_core::message::{Message, MessageFilter, TimelineEntry};
use sms_core::page::{Cursor, Page, PageRequest};
use sms_core::store::{CommitError, StoreError};

use crate::MemoryStore;
use crate::search::{portion, search};

#[async_trait]
impl ReadsMessages for MemoryStore {
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
        let found = search(
            page,
            |message: &Message| message.id,
            |before, most| {
                let state = self.state();
                let rest = PageRequest { after: before.map(Cursor::after), ..page };
                let room = state.accounts.get(&account);
                let ids = room.into_iter().flat_map(|room| {
                    room.index.newest_first(filter, filter.ids(rest)).map(|id| (id, id))
                });
                portion(ids, most, |id| {
                    let message = &state.messages.get(&id)?.message;
                    filter.accepts(message).then(|| message.clone())
                })
            },
        );
        Ok(found.await)
    }
}

#[async_trait]
impl MessageStore for MemoryStore {
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
}
