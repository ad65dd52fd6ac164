//! The messages and the balance of one account. The other nouns of an account have separate files,
//! such as [`super::webhook`]; sends and quotes are in [`super::sending`].

use super::reading::{Read, ReadTurn};
use super::sms::Sms;
use crate::account::Account;
use crate::change::cancel::CancelPlan;
use crate::error::Error;
use crate::ids::{AccountId, MessageId};
use crate::message::filter::MessageFilter;
use crate::message::record::{Message, TimelineEntry};
use crate::mode::Mode;
use crate::page::{Page, PageRequest};
use crate::store_error::StoreError;

/// How many turns a search has for one page, while the page is not full.
const TURNS_FOR_A_PAGE: usize = 20;

/// A message and its timeline.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MessageWithTimeline {
    /// The message as it is now.
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
    /// The account on which every call of this handle acts.
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
        let store = self.sms.store();
        let list = |page| store.message_list(self.id, filter, page);
        self.read_page(Read::that(filter.looks_through()), page, list).await
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

impl AccountHandle {
    /// Waits until this account may read.
    pub(super) async fn read_turn(&self, read: Read) -> ReadTurn {
        self.sms.inner.reads.take(self.id, read).await
    }

    /// Reads a page. A search whose page is not full continues in another turn, so that a page ends
    /// early only after many rows.
    pub(super) async fn read_page<T, F>(
        &self,
        read: Read,
        mut page: PageRequest,
        list: impl Fn(PageRequest) -> F,
    ) -> Result<Page<T>, Error>
    where
        F: Future<Output = Result<Page<T>, StoreError>>,
    {
        let (mut items, mut turns) = (Vec::new(), 1);
        loop {
            let turn = self.read_turn(read).await;
            let found = list(page).await?;
            drop(turn);
            let left = page.limit.less(found.items.len());
            items.extend(found.items);
            let (Some(left), Some(end)) = (left, found.next) else {
                return Ok(Page { items, next: found.next });
            };
            if turns == TURNS_FOR_A_PAGE {
                return Ok(Page { items, next: found.next });
            }
            page = PageRequest { limit: left, after: Some(end) };
            turns += 1;
        }
    }
}
