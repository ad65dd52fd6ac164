//! What a store does with keywords. What a match triggers is part of accepting an inbound message.

use async_trait::async_trait;

use super::Keyword;
use super::save::{KeywordRefused, SavePlan};
use crate::idempotency::{Claim, Once};
use crate::ids::{AccountId, KeywordId};
use crate::page::{Page, PageRequest};
use crate::store_error::{CommitError, StoreError};
use crate::version::{Changed, IfVersion};

/// Reads the keywords that inbound messages are compared with.
#[async_trait]
pub trait ReadsKeywords: Send + Sync {
    /// The keyword with this id; `None` if the account has none.
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
}

/// Keeps keywords. Removing a list also clears it from the keywords that name it, in the same
/// commit.
#[async_trait]
pub trait KeywordStore: ReadsKeywords {
    /// Creates or changes a keyword as [`SavePlan::settle`] says, with no change of the account's
    /// lists and keywords in between, and returns the keyword after the change.
    /// A creation with a claim takes effect [once](crate::idempotency::store::IdempotencyStore).
    async fn keyword_save(
        &self,
        plan: SavePlan,
        claim: Option<&Claim>,
    ) -> Result<Once<Keyword>, CommitError<KeywordRefused>>;

    /// Removes a keyword; false if the account has no keyword with this id. A removal of some
    /// versions only [checks](IfVersion::check) the current keyword, with no change of it in
    /// between.
    async fn keyword_delete(
        &self,
        account: AccountId,
        id: KeywordId,
        if_version: IfVersion,
    ) -> Result<bool, CommitError<Changed>>;
}
