//! What a store does with sender names.

use async_trait::async_trait;

use super::review::{ReviewPlan, ReviewRefused, ReviewStatus};
use super::{SenderName, SenderNameExists};
use crate::ids::AccountId;
use crate::page::{Page, PageRequest};
use crate::store::{CommitError, StoreError};

/// Keeps sender names.
#[async_trait]
pub trait SenderNameStore: Send + Sync {
    /// Writes a request for a name, if [`settle_request`](super::settle_request) allows it beside
    /// the account's names of the same [folded](super::SenderValue::folded) value; no other of
    /// them may be made or decided about in between. Its account has to exist.
    async fn sender_name_create(
        &self,
        name: SenderName,
    ) -> Result<(), CommitError<SenderNameExists>>;

    /// All of an account's names, newest first, rejected ones included.
    async fn sender_name_list(&self, account: AccountId) -> Result<Vec<SenderName>, StoreError>;

    /// The account's approved names, for planning its sends, in any order. What another program
    /// wrote within the last 5 s may be missing; what was written through this value never is.
    async fn sender_names_approved(
        &self,
        account: AccountId,
    ) -> Result<Vec<SenderName>, StoreError>;

    /// A page of the names of all accounts, newest first: all, or those of one status.
    async fn sender_names_for_review(
        &self,
        status: Option<ReviewStatus>,
        page: PageRequest,
    ) -> Result<Page<SenderName>, StoreError>;

    /// Takes a decision as [`ReviewPlan::settle`] says, and returns the name as it is then.
    async fn sender_name_review(
        &self,
        plan: ReviewPlan,
    ) -> Result<SenderName, CommitError<ReviewRefused>>;
}
