//! What a store does with sender names.

use async_trait::async_trait;

use super::review::{ReviewPlan, ReviewRefused};
use super::status::ReviewStatus;
use super::{SenderName, SenderNameExists};
use crate::idempotency::{Claim, Once};
use crate::ids::AccountId;
use crate::page::{Page, PageRequest};
use crate::store_error::{CommitError, StoreError};

/// Which of an account's names are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamesWanted {
    /// All, newest first, including rejected ones.
    All,
    /// The approved ones in any order, for planning its sends. Changes that another program made
    /// within the last 5 s may be missing; changes made through this store value never are.
    Approved,
}

/// Reads the names that accounts have requested, with what was decided on them.
#[async_trait]
pub trait ReadsSenderNames: Send + Sync {
    /// The names of an account that are wanted.
    async fn sender_name_list(
        &self,
        account: AccountId,
        wanted: NamesWanted,
    ) -> Result<Vec<SenderName>, StoreError>;

    /// A page of the names of all accounts, newest first: all of them, or those with one status.
    async fn sender_names_for_review(
        &self,
        status: Option<ReviewStatus>,
        page: PageRequest,
    ) -> Result<Page<SenderName>, StoreError>;
}

/// Keeps the names that accounts have requested, and the operator's decisions on them.
#[async_trait]
pub trait SenderNameStore: ReadsSenderNames {
    /// Writes a request for a name if [`settle_request`](super::settle_request) allows it, given
    /// the account's names with the same [folded](super::SenderValue::folded) value. None of these
    /// may be created or decided on in between. The account must exist.
    /// A creation with a claim takes effect [once](crate::idempotency::store::IdempotencyStore).
    async fn sender_name_create(
        &self,
        name: SenderName,
        claim: Option<&Claim>,
    ) -> Result<Once<SenderName>, CommitError<SenderNameExists>>;

    /// Records a decision as [`ReviewPlan::settle`] says, and returns the name after it.
    async fn sender_name_review(
        &self,
        plan: ReviewPlan,
    ) -> Result<SenderName, CommitError<ReviewRefused>>;
}
