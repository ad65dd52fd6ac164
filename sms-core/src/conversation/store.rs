//! What a store does with conversations.

use async_trait::async_trait;

use super::{Conversation, ConversationFilter};
use crate::ids::AccountId;
use crate::page::{Page, PageRequest};
use crate::phone::E164;
use crate::store::StoreError;
use crate::time::Timestamp;

/// Keeps conversations.
///
/// They are kept by the commits that write texts: one that takes in a text begins the conversation
/// of its number or moves it, and counts the text as unread; one that accepts a send moves the
/// conversations of its numbers that there are. Place and counts are exact, whatever happens at
/// once.
#[async_trait]
pub trait ConversationStore: Send + Sync {
    /// A page of the account's conversations that [`ConversationFilter::accepts`], the one with the
    /// newest text first. The cursor is the id of the newest text of the page's last conversation:
    /// one that moves meanwhile moves to the front, ahead of every cursor, and all others keep
    /// their order.
    async fn conversation_list(
        &self,
        account: AccountId,
        filter: &ConversationFilter,
        page: PageRequest,
    ) -> Result<Page<Conversation>, StoreError>;

    /// How many texts came in to the account and are not read, without counting them.
    async fn unread_total(&self, account: AccountId) -> Result<u64, StoreError>;

    /// Marks the texts that came in from a number as read at `at`, those that are not yet; how
    /// many. `None` when the number has not texted the account. Each text is marked once, and
    /// counts follow in the same commit.
    async fn conversation_read(
        &self,
        account: AccountId,
        number: E164,
        at: Timestamp,
    ) -> Result<Option<u64>, StoreError>;
}
