//! What a store does with single texts; accepting and dispatching are nouns of their own.

use async_trait::async_trait;

use super::cancel::{CancelPlan, CancelRefused};
use super::filter::MessageFilter;
use super::{Message, TimelineEntry};
use crate::ids::{AccountId, MessageId};
use crate::page::{Page, PageRequest};
use crate::store::{CommitError, StoreError};
use crate::time::Timestamp;

/// Keeps texts and their timelines.
#[async_trait]
pub trait MessageStore: Send + Sync {
    /// One text with its timeline, oldest line first.
    async fn message_get(
        &self,
        account: AccountId,
        id: MessageId,
    ) -> Result<Option<(Message, Vec<TimelineEntry>)>, StoreError>;

    /// A page of the account's texts that the filter accepts, newest first. A page deep in the
    /// list costs what the first one costs.
    async fn message_list(
        &self,
        account: AccountId,
        filter: &MessageFilter,
        page: PageRequest,
    ) -> Result<Page<Message>, StoreError>;

    /// Cancels one text as [`CancelPlan::settle`] says: status, timeline and refund in one commit,
    /// during which no worker may take the text. Returns the text as it is then.
    async fn message_cancel(&self, plan: CancelPlan)
    -> Result<Message, CommitError<CancelRefused>>;

    /// Prepares searches for words: goes on with a round through the accounts, and takes in about
    /// `limit` of their texts made before a moment at which all of them are
    /// [settled](super::filter::SETTLED_AFTER). Changes no answer, only how fast it comes. Returns
    /// how many accounts and texts it went through; 0 when the round has ended, or when somebody
    /// else goes on with it. A store that needs no such thing returns 0.
    async fn search_prepare(&self, before: Timestamp, limit: usize) -> Result<usize, StoreError>;
}
