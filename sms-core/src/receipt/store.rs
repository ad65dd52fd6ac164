//! What a store does with receipts.

use async_trait::async_trait;

use super::report::{ReportPlan, Reported};
use super::{ReceiptPlan, Recorded};
use crate::store::StoreError;
use crate::time::Timestamp;

/// Records receipts.
#[async_trait]
pub trait ReceiptStore: Send + Sync {
    /// Records receipts in the order given, each by [`ReceiptPlan::settle`] against the message as
    /// the earlier receipts left it, in one commit or several. The change of each message is
    /// written whole. A receipt that cannot be recorded does not affect the others. A message that
    /// is no longer claimable leaves the queue in the same commit. A plan's follow-up is removed in
    /// the same commit; if it no longer exists, nothing is written for that plan.
    ///
    /// Answers in the order given.
    async fn receipts_record(&self, plans: Vec<ReceiptPlan>) -> Vec<Result<Recorded, StoreError>>;

    /// Records reports on segments in the order given, as
    /// [`receipts_record`](Self::receipts_record) records receipts, each by [`ReportPlan::settle`]
    /// against its message and the recorded segments of it. A report on an unknown id is kept. It
    /// replaces an earlier one that [gives way](super::report::EarlyReport::gives_way). The commit
    /// that records the segment finds the report (see
    /// [`dispatch_record`](crate::dispatch::store::DispatchStore::dispatch_record)), however close
    /// in time the two arrive.
    async fn reports_record(&self, plans: Vec<ReportPlan>) -> Vec<Result<Reported, StoreError>>;

    /// Removes up to `limit` segments and early reports from before `before`. Returns how many.
    async fn reports_tidy(&self, before: Timestamp, limit: usize) -> Result<usize, StoreError>;
}
