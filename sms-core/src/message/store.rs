//! What a store does with single messages. Accepting and dispatching have traits of their own.

use async_trait::async_trait;

use super::cancel::{CancelPlan, CancelRefused};
use super::filter::MessageFilter;
use super::{Message, TimelineEntry};
use crate::ids::{AccountId, MessageId};
use crate::page::{Page, PageRequest};
use crate::store::{CommitError, StoreError};
use crate::time::Timestamp;

/// Keeps messages and their timelines.
#[async_trait]
pub trait MessageStore: Send + Sync {
    /// One message with its timeline, oldest line first; `None` if the account has no such message.
    async fn message_get(
        &self,
        account: AccountId,
        id: MessageId,
    ) -> Result<Option<(Message, Vec<TimelineEntry>)>, StoreError>;

    /// A page of the account's messages that the filter accepts, newest first. A page deep in the
    /// list costs as much as the first. Where the messages are few among many others, a page may
    /// end early, even without a message: it then says where the next one begins.
    async fn message_list(
        &self,
        account: AccountId,
        filter: &MessageFilter,
        page: PageRequest,
    ) -> Result<Page<Message>, StoreError>;

    /// Cancels one message as [`CancelPlan::settle`] decides: status, timeline and refund in one
    /// commit, during which no worker may claim the message. Returns the message after the change.
    async fn message_cancel(&self, plan: CancelPlan)
    -> Result<Message, CommitError<CancelRefused>>;

    /// Prepares searches for words. Each call continues a round through the accounts and prepares
    /// about `limit` of their messages that were created before `before`, a time at which all of
    /// them are [settled](super::filter::SETTLED_AFTER). This changes no result of a search, only
    /// its speed. Returns the number of accounts and messages processed; 0 if the round has ended
    /// or if another caller continues it. A store that needs no preparation returns 0.
    async fn search_prepare(&self, before: Timestamp, limit: usize) -> Result<usize, StoreError>;
}
