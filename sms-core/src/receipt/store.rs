//! What a store does with receipts.

use async_trait::async_trait;

use super::{ReceiptPlan, Recorded};
use crate::store::StoreError;

/// Records receipts.
#[async_trait]
pub trait ReceiptStore: Send + Sync {
    /// Records receipts in the order given, each by [`ReceiptPlan::settle`] against the text as the
    /// ones before left it, in one commit or several; each text's change is whole, and one that
    /// cannot be recorded takes nothing from the others. A text that is
    /// no longer claimable leaves the queue in the same commit. A plan's follow-up is removed with
    /// it; one that is gone means that nothing is written for that plan.
    ///
    /// Answers in the order given.
    async fn receipts_record(&self, plans: Vec<ReceiptPlan>) -> Vec<Result<Recorded, StoreError>>;
}
