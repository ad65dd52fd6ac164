//! Conversations.

use async_trait::async_trait;
use sms_core::conversation::store::{ConversationStore, ReadsConversations};
use sms_core::conversation::{Conversation, ConversationFilter, KnownAs};
use sms_core::ids::{AccountId, MessageId};
use sms_core::message::Direction;
use sms_core::page::{Page, PageRequest};
use sms_core::phone::E164;
use sms_core::store::StoreError;
use sms_core::time::Timestamp;

use crate::MemoryStore;
use crate::search::{portion, search};
use crate::state::{AccountState, State};

#[async_trait]
impl ReadsConversations for MemoryStore {
    async fn conversation_list(
        &self,
        account: AccountId,
        filter: &ConversationFilter,
        page: PageRequest,
    ) -> Result<Page<Conversation>, StoreError> {
        let found = search(
            page,
            |one: &Conversation| one.last_message.id,
            |before, most| {
                let state = self.state();
                let room = state.accounts.get(&account).into_iter();
                let rows = room.flat_map(|room| {
                    let places = room.inbox.newest_first(filter, before);
                    places.map(move |(last, number)| (last, (room, last, number)))
                });
                portion(rows, most, |(room, last, number)| {
                    state.conversation(room, filter, last, number)
                })
            },
        );
        Ok(found.await)
    }

    async fn unread_total(&self, account: AccountId) -> Result<u64, StoreError> {
        Ok(self.state().accounts.get(&account).map_or(0, |room| room.inbox.unread))
    }
}

#[async_trait]
impl ConversationStore for MemoryStore {
    async fn conversation_read(
        &self,
        account: AccountId,
        number: E164,
        at: Timestamp,
    ) -> Result<Option<u64>, StoreError> {
        let mut state = self.state();
        let state = &mut *state;
        let Some(room) = state.accounts.get_mut(&account) else { return Ok(None) };
        let Some(place) = room.inbox.by_number.get_mut(&number) else { return Ok(None) };
        let unread = std::mem::take(&mut place.unread);
        room.inbox.unread -= unread;
        let mut left = unread;
        for id in room.index.of_number(number).rev() {
            if left == 0 {
                break;
            }
            let Some(stored) = state.messages.get_mut(&id) else { continue };
            let message = &mut stored.message;
            if message.direction == Direction::Inbound && message.times.read_at.is_none() {
                message.times.read_at = Some(at);
                left -= 1;
            }
        }
        Ok(Some(unread))
    }
}

impl State {
    /// The conversation at this position, if it passes the filter.
    fn conversation(
        &self,
        room: &AccountState,
        filter: &ConversationFilter,
        last: MessageId,
        number: E164,
    ) -> Option<Conversation> {
        let unread = room.inbox.by_number.get(&number)?.unread;
        let contact = room.book.of_number(number);
        let last_message = self.messages.get(&last)?.message.clone();
        filter.accepts(number, contact, unread).then(|| Conversation {
            number,
            contact: contact.map(KnownAs::from),
            unread,
            last_message,
        })
    }
}
