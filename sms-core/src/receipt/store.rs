//! What a store does with receipts.

use async_trait::async_trait;

use super::report::{ReportPlan, Reported};
use super::{ReceiptPlan, Recorded};
use crate::store::StoreError;
use crate::time::Timestamp;

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

    /// Records reports of parts in the order given, as
    /// [`receipts_record`](Self::receipts_record) does receipts, each by
    /// [`ReportPlan::settle`] against its text and the parts of it that are kept. A report of an id
    /// that no part has is kept, the latest in place of one before that
    /// [gives way](super::report::EarlyReport::gives_way); the commit that records the part finds
    /// it (see
    /// [`dispatch_record`](crate::dispatch::store::DispatchStore::dispatch_record)), however close
    /// together the two come.
    async fn reports_record(&self, plans: Vec<ReportPlan>) -> Vec<Result<Reported, StoreError>>;

    /// Forgets up to `limit` parts and early reports from before `before`. Returns how many.
    async fn reports_tidy(&self, before: Timestamp, limit: usize) -> Result<usize, StoreError>;
}
