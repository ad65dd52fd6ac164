//! Keywords.

use std::collections::BTreeMap;

use async_trait::async_trait;
use sms_core::ids::{AccountId, KeywordId, ListId};
use sms_core::keyword::save::{KeywordRefused, SaveFacts, SavePlan};
use sms_core::keyword::store::KeywordStore;
use sms_core::keyword::{Keyword, Listening, Word};
use sms_core::page::{Cursor, Page, PageRequest};
use sms_core::store::{CommitError, StoreError};

use crate::MemoryStore;
use crate::address_book::no_account;

/// The keywords of one account.
#[derive(Default)]
pub(crate) struct Keywords {
    by_id: BTreeMap<KeywordId, Keyword>,
    by_word: BTreeMap<Word, KeywordId>,
}

impl Keywords {
    /// The keyword that matches a word.
    pub(crate) fn listening(&self, word: &Word) -> Option<&Keyword> {
        let keyword = self.by_id.get(self.by_word.get(word)?)?;
        (keyword.listening == Listening::On).then_some(keyword)
    }

    pub(crate) fn put(&mut self, keyword: Keyword) {
        if let Some(before) = self.by_id.get(&keyword.id) {
            self.by_word.remove(&before.word);
        }
        self.by_word.insert(keyword.word.clone(), keyword.id);
        self.by_id.insert(keyword.id, keyword);
    }

    pub(crate) fn clear_list(&mut self, list: ListId) {
        for keyword in self.by_id.values_mut().filter(|one| one.add_to_list_id == Some(list)) {
            keyword.add_to_list_id = None;
        }
    }
}

#[async_trait]
impl KeywordStore for MemoryStore {
    async fn keyword_save(&self, plan: SavePlan) -> Result<Keyword, CommitError<KeywordRefused>> {
        let mut state = self.state();
        let room = state.accounts.get_mut(&plan.account).ok_or_else(no_account)?;
        let keywords = &mut room.keywords;
        let facts = SaveFacts {
            current: keywords.by_id.get(&plan.id).cloned(),
            holder: plan.word().and_then(|word| keywords.by_word.get(word)).copied(),
            list: plan.list().filter(|list| room.book.lists.contains_key(list)),
        };
        let keyword = plan.settle(facts).map_err(CommitError::Refused)?;
        keywords.put(keyword.clone());
        Ok(keyword)
    }

    async fn keyword_get(
        &self,
        account: AccountId,
        id: KeywordId,
    ) -> Result<Option<Keyword>, StoreError> {
        let state = self.state();
        Ok(state.accounts.get(&account).and_then(|room| room.keywords.by_id.get(&id)).cloned())
    }

    async fn keyword_list(
        &self,
        account: AccountId,
        page: PageRequest,
    ) -> Result<Page<Keyword>, StoreError> {
        let state = self.state();
        let end = page.after.map_or(KeywordId::from_u128(u128::MAX), Cursor::id);
        let keywords = state.accounts.get(&account).map(|room| room.keywords.by_id.range(..end));
        let rows = keywords.into_iter().flat_map(Iterator::rev).map(|(_, keyword)| keyword.clone());
        let rows = rows.take(page.limit.get() + 1).collect();
        Ok(Page::of(rows, page.limit, |keyword: &Keyword| keyword.id))
    }

    async fn keyword_delete(&self, account: AccountId, id: KeywordId) -> Result<bool, StoreError> {
        let mut state = self.state();
        let Some(room) = state.accounts.get_mut(&account) else { return Ok(false) };
        let removed = room.keywords.by_id.remove(&id);
        if let Some(keyword) = &removed {
            room.keywords.by_word.remove(&keyword.word);
        }
        Ok(removed.is_some())
    }
}
