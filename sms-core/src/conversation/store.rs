//! What a store does with conversations.

use async_trait::async_trait;

use super::{Conversation, ConversationFilter};
use crate::ids::AccountId;
use crate::page::{Page, PageRequest};
use crate::phone::E164;
use crate::store_error::StoreError;
use crate::time::Timestamp;

/// Reads conversations, and how many messages in them are unread.
#[async_trait]
pub trait ReadsConversations: Send + Sync {
    /// A page of the account's conversations that [`ConversationFilter::accepts`], the one with the
    /// newest message first. The cursor is the id of the newest message of the page's last
    /// conversation. A conversation that moves in the meantime moves to the front, before every
    /// cursor; all others keep their order.
    async fn conversation_list(
        &self,
        account: AccountId,
        filter: &ConversationFilter,
        page: PageRequest,
    ) -> Result<Page<Conversation>, StoreError>;

    /// The number of unread inbound messages of the account, read without counting them.
    async fn unread_total(&self, account: AccountId) -> Result<u64, StoreError>;
}

/// Keeps conversations.
///
/// The commits that write messages keep the conversations. A commit that records an inbound message
/// starts or moves the conversation with its number and counts the message as unread. A commit that
/// accepts a send moves the existing conversations with its recipients. Order and counts are exact
/// under any concurrency.
#[async_trait]
pub trait ConversationStore: ReadsConversations {
    /// Marks the unread messages from a number as read at `at`, and returns how many there were;
    /// `None` if the number has not sent the account a message. Each message is marked once, and
    /// the counts are updated in the same commit.
    async fn conversation_read(
        &self,
        account: AccountId,
        number: E164,
        at: Timestamp,
    ) -> Result<Option<u64>, StoreError>;
}
