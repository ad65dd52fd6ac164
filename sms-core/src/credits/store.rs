//! What a store does with credits alone. Sends, refunds and rents book their entries in the commits
//! of their own nouns.

use async_trait::async_trait;

use super::adjust::{AdjustPlan, AdjustRefused, Adjusted};
use super::ledger::Entry;
use crate::idempotency::{Claim, Once};
use crate::ids::AccountId;
use crate::page::{Page, PageRequest};
use crate::store_error::{CommitError, StoreError};

/// Reads the entries of ledgers.
#[async_trait]
pub trait ReadsCredits: Send + Sync {
    /// A page of the account's ledger, newest first in booking order, so that each entry's balance
    /// follows from the entry before it.
    async fn ledger_list(
        &self,
        account: AccountId,
        page: PageRequest,
    ) -> Result<Page<Entry>, StoreError>;
}

/// Keeps balances and the ledger.
#[async_trait]
pub trait CreditStore: ReadsCredits {
    /// Books one change.
    ///
    /// No other commit of this account may run between reading the balance and writing the entry
    /// and the balance. A change that does not fit writes nothing. A change with a claim is booked
    /// [once](crate::idempotency::store::IdempotencyStore).
    async fn credits_adjust(
        &self,
        plan: AdjustPlan,
        claim: Option<&Claim>,
    ) -> Result<Once<Adjusted>, CommitError<AdjustRefused>>;
}
