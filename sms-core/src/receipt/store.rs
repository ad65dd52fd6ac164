//! What a store does with receipts.

use async_trait::async_trait;

use super::report::{NetworkReport, ReportPlan, Reported};
use super::unmatched::Unmatched;
use super::{ReceiptPlan, Recorded};
use crate::route_name::RouteName;
use crate::store_error::StoreError;
use crate::time::Timestamp;

/// Records receipts by message and reports by network id, and keeps reports that match no message.
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

    /// The newest `limit` early reports of a route from before `before`, newest first, and how many
    /// there are, counted up to [`UNMATCHED_MOST`](super::unmatched::UNMATCHED_MOST). Those beside
    /// ids are among them. Of several from one moment, those with the greater ids come first.
    async fn reports_unmatched(
        &self,
        route: &RouteName,
        before: Timestamp,
        limit: usize,
    ) -> Result<Unmatched, StoreError>;

    /// Whether each of these reports would be about a segment that is recorded: one with its id,
    /// of a message to a recipient that it [may concern](NetworkReport::may_concern).
    async fn segments_sent(&self, reports: Vec<NetworkReport>) -> Result<Vec<bool>, StoreError>;
}
