//! What a store does with keywords; what a match sets off is part of taking in a text.

use async_trait::async_trait;

use super::Keyword;
use super::save::{KeywordRefused, SavePlan};
use crate::ids::{AccountId, KeywordId};
use crate::page::{Page, PageRequest};
use crate::store::{CommitError, StoreError};

/// Keeps keywords. A list that is removed is cleared from the keywords that name it, in the same
/// commit.
#[async_trait]
pub trait KeywordStore: Send + Sync {
    /// Makes or changes a keyword as [`SavePlan::settle`] says, with no change of the account's
    /// lists and keywords in between, and returns it as it is then.
    async fn keyword_save(&self, plan: SavePlan) -> Result<Keyword, CommitError<KeywordRefused>>;

    /// One keyword of the account.
    async fn keyword_get(
        &self,
        account: AccountId,
        id: KeywordId,
    ) -> Result<Option<Keyword>, StoreError>;

    /// A page of the account's keywords, newest first.
    async fn keyword_list(
        &self,
        account: AccountId,
        page: PageRequest,
    ) -> Result<Page<Keyword>, StoreError>;

    /// Removes a keyword; false when the account has none of this id.
    async fn keyword_delete(&self, account: AccountId, id: KeywordId) -> Result<bool, StoreError>;
}
