//! What a store does with single messages. Accepting and dispatching have separate traits.
//!
//! The trait is here because its cancel is a change.

use async_trait::async_trait;

use super::cancel::{CancelPlan, CancelRefused};
use crate::ids::{AccountId, MessageId};
use crate::message::filter::MessageFilter;
use crate::message::record::{Message, TimelineEntry};
use crate::page::{Page, PageRequest};
use crate::store_error::{CommitError, StoreError};

/// Reads messages and their timelines.
#[async_trait]
pub trait ReadsMessages: Send + Sync {
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
}

/// Keeps messages and their timelines.
#[async_trait]
pub trait MessageStore: ReadsMessages {
    /// Cancels one message as [`CancelPlan::settle`] decides: status, timeline and refund in one
    /// commit, during which no worker may claim the message. Returns the message after the change.
    async fn message_cancel(&self, plan: CancelPlan)
    -> Result<Message, CommitError<CancelRefused>>;
}
