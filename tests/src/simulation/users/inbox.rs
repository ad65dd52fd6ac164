//! Deeds with keywords, conversations and hits on links.

use sms_core::account::Mode;
use sms_core::ids::{AccountId, KeywordId, ListId};
use sms_core::keyword::Listening;
use sms_core::keyword::save::{KeywordInput, KeywordPatch};
use sms_core::link::LinkCode;
use sms_core::page::PageRequest;
use sms_core::phone::E164;

use super::caller::Caller;
use crate::simulation::dice::Dice;
use crate::simulation::model::AccountModel;
use crate::simulation::talk::{KEYWORDS, draw_reply};
use crate::simulation::wish::URL;

/// Something done with keywords.
#[derive(Debug, Clone)]
pub enum KeywordDeed {
    /// Makes one.
    Create(KeywordInput),
    /// Changes one.
    Update(KeywordId, KeywordPatch),
    /// Removes one.
    Delete(KeywordId),
}

impl KeywordDeed {
    /// A deed with one of the account's keywords, or the making of one.
    pub fn draw(dice: &mut Dice, own: &AccountModel) -> Self {
        let keywords: Vec<KeywordId> = own.keywords.keys().copied().collect();
        let lists: Vec<ListId> = own.book.lists.keys().copied().collect();
        let list = dice.pick(&lists).filter(|_| dice.percent(50)).map(|list| list.to_string());
        let word = KEYWORDS[dice.below(KEYWORDS.len())].to_owned();
        let reply = dice.percent(85).then(|| draw_reply(dice));
        let listening = if dice.percent(85) { Listening::On } else { Listening::Off };
        let keyword = dice.pick(&keywords).filter(|_| dice.percent(55));
        let Some(id) = keyword else {
            let mut input = KeywordInput::new(word).listening(listening);
            (input.reply, input.add_to_list_id) = (reply, list);
            return Self::Create(input);
        };
        if dice.percent(25) {
            return Self::Delete(id);
        }
        let mut patch = KeywordPatch::default();
        patch.keyword = dice.percent(40).then_some(word);
        patch.reply = dice.percent(50).then_some(reply);
        patch.add_to_list_id = dice.percent(50).then_some(list);
        patch.listening = dice.percent(50).then_some(listening);
        Self::Update(id, patch)
    }

    /// What it is called in a trace.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Create(_) => "make a keyword",
            Self::Update(..) => "change a keyword",
            Self::Delete(_) => "remove a keyword",
        }
    }
}

impl Caller {
    pub(super) async fn keyword(&self, account: AccountId, deed: KeywordDeed) {
        let handle = self.sms.account(account, Mode::Live);
        let codes = ["keyword_exists", "not_found", "reserved_keyword"];
        match deed {
            KeywordDeed::Create(input) => {
                let reserved = input.keyword == "stop";
                let answer = handle.keyword_create(input).await;
                self.must(!reserved || answer.is_err(), || "STOP became a keyword".to_owned());
                self.expect("making a keyword", answer, &codes);
            }
            KeywordDeed::Update(id, patch) => {
                self.expect("changing a keyword", handle.keyword_update(id, patch).await, &codes);
            }
            KeywordDeed::Delete(id) => {
                self.expect("removing a keyword", handle.keyword_delete(id).await, &["not_found"]);
            }
        }
    }

    /// Reads the list of conversations and one of them, and marks that as read.
    pub(super) async fn converse(&self, account: AccountId, number: E164) {
        let handle = self.sms.account(account, Mode::Live);
        let list = handle.conversation_list(None, None, PageRequest::default()).await;
        if let Some(inbox) = self.expect("listing conversations", list, &[]) {
            let page = inbox.conversations;
            let own = page.items.iter().all(|one| one.last_message.account == account);
            let places = page.items.windows(2);
            let ordered =
                places.into_iter().all(|pair| pair[0].last_message.id > pair[1].last_message.id);
            self.must(own && ordered, || format!("{account} lists {page:?}"));
        }
        let thread = handle.conversation_get(number).await;
        if let Some(thread) = self.expect("opening a conversation", thread, &["not_found"]) {
            let own = |text: &sms_core::message::Message| {
                text.account == account && text.contact_number() == number
            };
            let right = thread.messages.iter().all(own)
                && thread.messages.windows(2).all(|pair| pair[0].id < pair[1].id)
                && thread.contact.as_ref().is_none_or(|contact| contact.phone == number);
            self.must(right, || format!("{account} opens {thread:?}"));
        }
        let answer = handle.conversation_read(number).await;
        self.expect("reading a conversation", answer, &["not_found"]);
    }

    /// A person follows a short URL.
    pub(super) async fn follow(&self, code: LinkCode) {
        let known = self.world.with(|state| state.model.codes.contains_key(&code));
        let answer = self.sms.link_click(code).await;
        if let Some(link) = self.expect("following a link", answer, &[]) {
            let leads = link.as_ref().is_some_and(|link| link.url == URL && link.code == code);
            self.must(leads == known && link.is_some() == known, || {
                format!("a hit answers {link:?}, and the link is known: {known}")
            });
        }
    }
}
