//! An account's conversations.

use super::account::AccountHandle;
use super::reading::Read;
use crate::contact::filter::ContactSearch;
use crate::contact::store::ContactsWanted;
use crate::conversation::{Conversation, ConversationFilter, ReadState, Thread};
use crate::error::Error;
use crate::message::filter::{MessageFilter, Search};
use crate::message::record::Message;
use crate::originator::Originator;
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

/// The first of all.
const FIRST: PageRequest = PageRequest { limit: Limit::ONE, after: None };

impl AccountHandle {
    /// A page of the conversations with numbers that have sent the account a message. `q` is a
    /// number or a part of one, or words of a contact's name. If that finds nothing, it is a short
    /// code or a name exactly as it came.
    pub async fn conversation_list(
        &self,
        state: Option<ReadState>,
        q: Option<&str>,
        page: PageRequest,
    ) -> Result<Inbox, Error> {
        let mut filter = ConversationFilter { state, search: q.and_then(ContactSearch::parse) };
        if let Some(q) = q
            && let Some(name) = self.known_name(q).await?
            && is_nothing(&self.conversations(&filter, FIRST).await?)
        {
            filter.search = Some(ContactSearch::Number(name));
        }
        let conversations = self.conversations(&filter, page).await?;
        Ok(Inbox { conversations, unread: self.unread_total().await? })
    }

    async fn conversations(
        &self,
        filter: &ConversationFilter,
        page: PageRequest,
    ) -> Result<Page<Conversation>, Error> {
        let store = self.sms.store();
        let list = |page| store.conversation_list(self.id, filter, page);
        self.read_page(Read::that(filter.looks_through()), page, list).await
    }

    /// The number of unread messages of the whole account.
    pub async fn unread_total(&self) -> Result<u64, Error> {
        Ok(self.sms.store().unread_total(self.id).await?)
    }

    /// What `q` searches for among the messages that this filter accepts: a number in any form, or
    /// words of the body. If these words find nothing, it is a short code or a name exactly as it
    /// came. `None` if it is blank.
    pub async fn message_search(
        &self,
        q: &str,
        among: &MessageFilter,
    ) -> Result<Option<Search>, Error> {
        let search = Search::parse(q);
        if let Some(name) = self.known_name(q).await? {
            let words = MessageFilter { search: search.clone(), ..among.clone() };
            if is_nothing(&self.message_list(&words, FIRST).await?) {
                return Ok(Some(Search::Number(name)));
            }
        }
        Ok(search)
    }

    /// The conversation with a number: its newest 200 messages. Every number that the account has a
    /// message from or to has one. A short code or a name has one under its
    /// [number](Originator::number).
    pub async fn conversation_get(&self, number: E164) -> Result<Thread, Error> {
        let messages = self.newest_messages(number, Limit::THREAD).await?;
        if messages.is_empty() {
            return Err(Error::NotFound("conversation"));
        }
        let store = self.sms.store();
        let contact = store.contacts_among(self.id, ContactsWanted::Phones(&[number])).await?.pop();
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

    /// The number of the short code or the name that `q` is, if it has sent the account a message.
    async fn known_name(&self, q: &str) -> Result<Option<E164>, Error> {
        let Ok(Originator::Name(name)) = Originator::parse(q) else { return Ok(None) };
        let number = Originator::Name(name).number();
        let search = Some(ContactSearch::Number(number));
        let filter = ConversationFilter { search, ..ConversationFilter::default() };
        let _turn = self.read_turn(Read::that(filter.looks_through())).await;
        let known = self.sms.store().conversation_list(self.id, &filter, FIRST).await?;
        Ok((!known.items.is_empty()).then_some(number))
    }

    /// The newest messages from or to a number, newest first.
    async fn newest_messages(&self, number: E164, limit: Limit) -> Result<Vec<Message>, Error> {
        let filter =
            MessageFilter { search: Some(Search::Number(number)), ..MessageFilter::default() };
        let page = PageRequest { limit, after: None };
        let _turn = self.read_turn(Read::Page).await;
        Ok(self.sms.store().message_list(self.id, &filter, page).await?.items)
    }
}

/// Whether there is nothing on this page, and nothing after it.
fn is_nothing<T>(page: &Page<T>) -> bool {
    page.items.is_empty() && page.next.is_none()
}
