//! The messages and the balance of one account. The other nouns of an account have files of their
//! own, such as [`super::webhook`]; sends and quotes are in [`super::sending`].

use super::Sms;
use crate::account::{Account, Mode};
use crate::error::Error;
use crate::ids::{AccountId, MessageId};
use crate::message::cancel::CancelPlan;
use crate::message::{Message, MessageFilter, TimelineEntry};
use crate::page::{Page, PageRequest};

/// A message and its timeline.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MessageWithTimeline {
    /// The message.
    pub message: Message,
    /// Its timeline, oldest entry first.
    pub timeline: Vec<TimelineEntry>,
}

/// The handle on one account, with a live or a test key.
#[derive(Debug, Clone)]
pub struct AccountHandle {
    pub(super) sms: Sms,
    pub(super) id: AccountId,
    pub(super) mode: Mode,
}

impl Sms {
    /// The handle on one account, with a live or a test key.
    pub fn account(&self, id: AccountId, mode: Mode) -> AccountHandle {
        AccountHandle { sms: self.clone(), id, mode }
    }
}

impl AccountHandle {
    /// The account's id.
    pub fn id(&self) -> AccountId {
        self.id
    }

    /// One message, with its timeline.
    pub async fn message_get(&self, id: MessageId) -> Result<MessageWithTimeline, Error> {
        let found = self.sms.store().message_get(self.id, id).await?;
        let (message, timeline) = found.ok_or(Error::NotFound("message"))?;
        Ok(MessageWithTimeline { message, timeline })
    }

    /// A page of the account's messages, newest first.
    pub async fn message_list(
        &self,
        filter: &MessageFilter,
        page: PageRequest,
    ) -> Result<Page<Message>, Error> {
        Ok(self.sms.store().message_list(self.id, filter, page).await?)
    }

    /// Cancels a scheduled or queued message and refunds it.
    ///
    /// # Errors
    ///
    /// [`Error::MessageNotCancellable`] if it is being handed over or is in a later state.
    pub async fn message_cancel(&self, id: MessageId) -> Result<Message, Error> {
        let at = self.sms.now();
        let ids = self.sms.ids(at);
        let plan = CancelPlan { account: self.id, message: id, at, ids };
        Ok(self.sms.store().message_cancel(plan).await?)
    }

    /// The account, with its balance and status.
    pub async fn get(&self) -> Result<Account, Error> {
        let found = self.sms.store().account_get(self.id).await?;
        found.ok_or(Error::NotFound("account"))
    }
}
