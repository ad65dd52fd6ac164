//! Conversations: which there are, in which order, and what is unread.

use sms_core::contact::filter::ContactSearch;
use sms_core::conversation::{Conversation, ConversationFilter, KnownAs};
use sms_core::ids::AccountId;
use sms_core::page::PageRequest;
use sms_core::phone::E164;
use sms_core::time::Timestamp;

use super::{AccountModel, Check, Model, Moment, read};

impl Model {
    /// The conversation with a number as the API must show it; `None` if there is none.
    fn conversation(&self, own: &AccountModel, number: E164) -> Option<Conversation> {
        let thread = own.inbox.threads.get(&number)?;
        let newest = own.inbox.newest.get(&number)?;
        Some(Conversation {
            number,
            contact: own.book.of_number(number).map(KnownAs::from),
            unread: thread.unread.len() as u64,
            last_message: self.messages.get(newest)?.last.clone(),
        })
    }

    /// Checks that the store's conversation with a number equals the model's.
    pub(super) fn conversation_kept(
        &self,
        moment: &Moment<'_>,
        account: AccountId,
        number: E164,
    ) -> Check {
        let own = self.accounts.get(&account).ok_or_else(|| format!("no account {account}"))?;
        let search = Some(ContactSearch::Number(number));
        let filter = ConversationFilter { state: None, search };
        let page = moment.books.conversation_list(account, &filter, PageRequest::default());
        let kept = read(page)?.items;
        let must = self.conversation(own, number);
        ensure!(kept.iter().eq(must.iter()), "{kept:?} is kept and must be {must:?}");
        let (told, must) = (read(moment.books.unread_total(account))?, own.inbox.unread());
        ensure!(told == must, "{account} has {told} unread messages and must have {must}");
        Ok(())
    }

    /// A conversation was marked as read.
    pub fn saw_conversation_read(
        &mut self,
        moment: &Moment<'_>,
        account: AccountId,
        number: E164,
        at: Timestamp,
        answer: Option<u64>,
    ) -> Check {
        let own = self.accounts.get_mut(&account);
        let thread = own.and_then(|own| own.inbox.threads.get_mut(&number));
        let marked = thread.map(|thread| std::mem::take(&mut thread.unread));
        let count = marked.as_ref().map(|marked| marked.len() as u64);
        ensure!(answer == count, "reading marks {answer:?} messages where {count:?} were unread");
        for id in marked.into_iter().flatten() {
            let text = self.messages.get_mut(&id).ok_or("an unread text vanished")?;
            text.last.times.read_at = Some(at);
            self.message_stayed(moment, id)?;
        }
        self.conversation_kept(moment, account, number)
    }

    /// Compares all conversations of an account.
    pub(super) fn audit_conversations(
        &self,
        moment: &Moment<'_>,
        id: AccountId,
        own: &AccountModel,
    ) -> Check {
        let filter = ConversationFilter::default();
        let kept = super::audit::all(|page| moment.books.conversation_list(id, &filter, page))?;
        let numbers = own.inbox.threads.keys();
        let mut must: Vec<Conversation> =
            numbers.filter_map(|number| self.conversation(own, *number)).collect();
        must.sort_by_key(|one| std::cmp::Reverse(one.last_message.id));
        ensure!(kept == must, "{id}: the conversations are {kept:?} and must be {must:?}");
        let (told, must) = (read(moment.books.unread_total(id))?, own.inbox.unread());
        ensure!(told == must, "{id} has {told} unread messages and must have {must}");
        Ok(())
    }
}
