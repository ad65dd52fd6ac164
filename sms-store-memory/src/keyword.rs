//! Keywords.

use async_trait::async_trait;
use sms_core::idempotency::{Claim, Once};
use sms_core::ids::{AccountId, KeywordId};
use sms_core::keyword::Keyword;
use sms_core::keyword::save::{KeywordRefused, SaveFacts, SavePlan};
use sms_core::keyword::store::{KeywordStore, ReadsKeywords};
use sms_core::page::{Cursor, Page, PageRequest};
use sms_core::store::{CommitError, StoreError};
use sms_core::version::{Changed, IfVersion};

use crate::MemoryStore;
use crate::address_book::no_account;

#[async_trait]
impl ReadsKeywords for MemoryStore {
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
}

#[async_trait]
impl KeywordStore for MemoryStore {
    async fn keyword_save(
        &self,
        plan: SavePlan,
        claim: Option<&Claim>,
    ) -> Result<Once<Keyword>, CommitError<KeywordRefused>> {
        let mut state = self.state();
        if let Some(earlier) = state.earlier(claim) {
            return Ok(Once::Earlier(earlier));
        }
        let room = state.accounts.get_mut(&plan.account).ok_or_else(no_account)?;
        let keywords = &mut room.keywords;
        let facts = SaveFacts {
            current: keywords.by_id.get(&plan.id).cloned(),
            holder: plan.word().and_then(|word| keywords.by_word.get(word)).copied(),
            list: plan.list().filter(|list| room.book.lists.contains_key(list)),
        };
        let keyword = plan.settle(facts).map_err(CommitError::Refused)?;
        keywords.put(keyword.clone());
        state.remember(claim, &keyword);
        Ok(Once::Done(keyword))
    }

    async fn keyword_delete(
        &self,
        account: AccountId,
        id: KeywordId,
        if_version: IfVersion,
    ) -> Result<bool, CommitError<Changed>> {
        let mut state = self.state();
        let Some(room) = state.accounts.get_mut(&account) else { return Ok(false) };
        let Some(keyword) = room.keywords.by_id.get(&id) else { return Ok(false) };
        if_version.check(keyword).map_err(CommitError::Refused)?;
        Ok(room.keywords.remove(id))
    }
}
