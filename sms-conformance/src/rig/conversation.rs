//! Conversations and keywords.

use std::collections::BTreeMap;

use sms_core::account::Account;
use sms_core::contact::filter::ContactSearch;
use sms_core::contact::store::ContactsWanted;
use sms_core::conversation::{Conversation, ConversationFilter, KnownAs, ReadState};
use sms_core::ids::{AccountId, KeywordId, ListId};
use sms_core::keyword::Keyword;
use sms_core::keyword::save::{KeywordPatch, KeywordRefused, Save, SavePlan, Values};
use sms_core::message::{Direction, Message, MessageFilter};
use sms_core::phone::E164;
use sms_core::store::CommitError;
use sms_core::version::IfVersion::Any;

use super::{Rig, person, read_all};

impl Rig {
    /// The conversations that a filter wants, a page at a time.
    pub async fn conversations_by(
        &self,
        account: AccountId,
        filter: &ConversationFilter,
        limit: u32,
    ) -> Vec<Conversation> {
        read_all(limit, async |page| {
            let page = self.store().conversation_list(account, filter, page).await;
            page.expect("the conversations are read")
        })
        .await
    }

    /// All conversations of an account.
    pub async fn conversations(&self, account: AccountId) -> Vec<Conversation> {
        self.conversations_by(account, &ConversationFilter::default(), 100).await
    }

    /// The people whose conversations are wanted, in order.
    pub async fn talkers(&self, account: &Account, state: Option<ReadState>, q: &str) -> Vec<E164> {
        let filter = ConversationFilter { state, search: ContactSearch::parse(q) };
        let all = self.conversations_by(account.id, &filter, 100).await;
        for limit in [1, 2] {
            assert_eq!(self.conversations_by(account.id, &filter, limit).await, all, "by {limit}");
        }
        all.iter().map(|one| one.number).collect()
    }

    /// How many messages an account has not read.
    pub async fn unread_total(&self, account: &Account) -> u64 {
        self.store().unread_total(account.id).await.expect("the count is read")
    }

    /// Marks what a person sent as read. Returns how many messages.
    pub async fn read(&self, account: &Account, n: u16) -> Option<u64> {
        let read = self.store().conversation_read(account.id, person(n), self.now()).await;
        read.expect("the messages are marked")
    }

    /// A plan to make a keyword with a reply and a list.
    pub fn keyword_plan(
        &self,
        account: &Account,
        word: &str,
        reply: Option<&str>,
        list: Option<ListId>,
    ) -> SavePlan {
        let values = Values::of(KeywordPatch::default().reply(reply), Some(list));
        let save = Save::Make(word.parse().expect("a keyword's word"));
        let (account, if_version) = (account.id, Any);
        SavePlan { account, id: self.id(), save, values, if_version, at: self.now() }
    }

    /// Makes a keyword with a reply and a list.
    pub async fn keyword(
        &self,
        account: &Account,
        word: &str,
        reply: Option<&str>,
        list: Option<ListId>,
    ) -> Keyword {
        let plan = self.keyword_plan(account, word, reply, list);
        crate::rig::done(self.store().keyword_save(plan, None).await).expect("the keyword is made")
    }

    /// Commits a change of a keyword, and returns the store's answer.
    pub async fn change_keyword(
        &self,
        keyword: &Keyword,
        patch: KeywordPatch,
        list: Option<Option<ListId>>,
    ) -> Result<Keyword, CommitError<KeywordRefused>> {
        let Keyword { account, id, .. } = *keyword;
        let values = Values::of(patch, list);
        let (save, if_version) = (Save::Change, Any);
        let plan = SavePlan { account, id, save, values, if_version, at: self.now() };
        crate::rig::done(self.store().keyword_save(plan, None).await)
    }

    /// The keyword as it is now.
    pub async fn keyword_now(&self, account: AccountId, id: KeywordId) -> Option<Keyword> {
        self.store().keyword_get(account, id).await.expect("the keyword is read")
    }

    /// There is one conversation for each number that has sent the account a message, in the order
    /// of their newest messages, and what is unread is counted exactly.
    pub(crate) async fn audit_conversations(&self, account: AccountId, messages: &[Message]) {
        let mut newest: BTreeMap<E164, &Message> = BTreeMap::new();
        let mut unread: BTreeMap<E164, u64> = BTreeMap::new();
        for text in messages {
            let number = text.contact_number();
            // Messages come newest first.
            newest.entry(number).or_insert(text);
            if text.direction == Direction::Inbound {
                *unread.entry(number).or_default() += u64::from(text.times.read_at.is_none());
            }
        }
        let mut expected: Vec<_> =
            unread.iter().map(|(number, unread)| (newest[number].clone(), *unread)).collect();
        expected.sort_by_key(|(text, _)| std::cmp::Reverse(text.id));
        let shown = self.conversations(account).await;
        let places: Vec<_> =
            shown.iter().map(|one| (one.last_message.clone(), one.unread)).collect();
        assert_eq!(places, expected, "conversations are in the order of their newest messages");
        let total = self.store().unread_total(account).await.expect("the count is read");
        assert_eq!(total, unread.values().sum::<u64>(), "the total of what is unread is exact");
        for one in shown {
            let known =
                self.store().contacts_among(account, ContactsWanted::Phones(&[one.number])).await;
            let known = known.expect("contacts are read").first().map(KnownAs::from);
            assert_eq!(one.contact, known, "a conversation knows its contact");
            let search = Some(ContactSearch::Number(one.number));
            let filter = ConversationFilter { search, ..ConversationFilter::default() };
            let found = self.conversations_by(account, &filter, 5).await;
            assert_eq!(found, [one], "a conversation is found by its number");
        }
    }

    /// The newest message of an account.
    pub async fn newest_message(&self, account: &Account) -> Message {
        self.messages(account.id, &MessageFilter::default()).await.remove(0)
    }
}
