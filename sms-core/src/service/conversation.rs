//! An account's conversations.

use super::AccountHandle;
use crate::contact::filter::ContactSearch;
use crate::conversation::{Conversation, ConversationFilter, ReadState, Thread};
use crate::error::Error;
use crate::message::filter::Search;
use crate::message::{Message, MessageFilter};
use crate::page::{Limit, Page, PageRequest};
use crate::phone::E164;

/// A page of an account's conversations.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Inbox {
    /// The page, the conversation with the newest message first.
    pub conversations: Page<Conversation>,
    /// The number of unread messages of the whole account.
    pub unread: u64,
}

impl AccountHandle {
    /// A page of the conversations with numbers that have sent the account a message. `q` is a
    /// number or a part of one, or words of a contact's name.
    pub async fn conversation_list(
        &self,
        state: Option<ReadState>,
        q: Option<&str>,
        page: PageRequest,
    ) -> Result<Inbox, Error> {
        let filter = ConversationFilter { state, search: q.and_then(ContactSearch::parse) };
        let store = self.sms.store();
        let conversations = store.conversation_list(self.id, &filter, page).await?;
        Ok(Inbox { conversations, unread: store.unread_total(self.id).await? })
    }

    /// The number of unread messages of the whole account.
    pub async fn unread_total(&self) -> Result<u64, Error> {
        Ok(self.sms.store().unread_total(self.id).await?)
    }

    /// The conversation with a number: its newest 200 messages. Every number that the account has a
    /// message from or to has one.
    pub async fn conversation_get(&self, number: E164) -> Result<Thread, Error> {
        let messages = self.newest_messages(number, Limit::THREAD).await?;
        if messages.is_empty() {
            return Err(Error::NotFound("conversation"));
        }
        let store = self.sms.store();
        let contact = store.contacts_by_phone(self.id, &[number]).await?.pop();
        let opted_out = store.opt_outs_among(self.id, &[number]).await?.contains(&number);
        let messages = messages.into_iter().rev().collect();
        Ok(Thread { number, contact, opted_out, messages })
    }

    /// Marks the unread messages from a number as read. Returns how many there were.
    pub async fn conversation_read(&self, number: E164) -> Result<u64, Error> {
        let marked = self.sms.store().conversation_read(self.id, number, self.sms.now()).await?;
        if let Some(marked) = marked {
            return Ok(marked);
        }
        let one = self.newest_messages(number, Limit::ONE).await?;
        if one.is_empty() { Err(Error::NotFound("conversation")) } else { Ok(0) }
    }

    /// The newest messages from or to a number, newest first.
    async fn newest_messages(&self, number: E164, limit: Limit) -> Result<Vec<Message>, Error> {
        let filter =
            MessageFilter { search: Some(Search::Number(number)), ..MessageFilter::default() };
        let page = PageRequest { limit, after: None };
        Ok(self.sms.store().message_list(self.id, &filter, page).await?.items)
    }
}
