//! What a store does with credits by themselves; sends, refunds and rents book theirs in the
//! commits of their own nouns.

use async_trait::async_trait;

use super::adjust::{AdjustPlan, AdjustRefused, Adjusted};
use super::ledger::Entry;
use crate::ids::AccountId;
use crate::page::{Page, PageRequest};
use crate::store::{CommitError, StoreError};

/// Keeps balances and the ledger.
#[async_trait]
pub trait CreditStore: Send + Sync {
    /// Books one change.
    ///
    /// Between reading the balance and writing entry and balance no other commit of this account
    /// may run; what does not fit writes nothing.
    async fn credits_adjust(
        &self,
        plan: AdjustPlan,
    ) -> Result<Adjusted, CommitError<AdjustRefused>>;

    /// A page of the account's ledger, newest first: in the order in which entries were booked, so
    /// that each entry's balance follows from the one before it.
    async fn ledger_list(
        &self,
        account: AccountId,
        page: PageRequest,
    ) -> Result<Page<Entry>, StoreError>;
}
