//! Receipts and networks' reports.

use async_trait::async_trait;
use sms_core::receipt::report::{NetworkReport, ReportPlan, Reported};
use sms_core::receipt::store::ReceiptStore;
use sms_core::receipt::unmatched::Unmatched;
use sms_core::receipt::{ReceiptPlan, Recorded};
use sms_core::route::RouteName;
use sms_core::store::StoreError;
use sms_core::time::Timestamp;

use crate::error::Context;
use crate::{PgStore, sent_segment};

mod plain;
mod record;
mod report;

pub(crate) use record::{Receipts, take_follow_up};
pub(crate) use report::Reports;

#[async_trait]
impl ReceiptStore for PgStore {
    async fn receipts_record(&self, plans: Vec<ReceiptPlan>) -> Vec<Result<Recorded, StoreError>> {
        self.receipts.settle(plans).await
    }

    async fn reports_record(&self, plans: Vec<ReportPlan>) -> Vec<Result<Reported, StoreError>> {
        self.reports.settle(plans).await
    }

    async fn reports_unmatched(
        &self,
        route: &RouteName,
        before: Timestamp,
        limit: usize,
    ) -> Result<Unmatched, StoreError> {
        let found = sent_segment::unmatched(&self.pool, route, before, limit).await;
        found.context("listing unmatched receipts")
    }

    async fn segments_sent(&self, reports: Vec<NetworkReport>) -> Result<Vec<bool>, StoreError> {
        let sent = sent_segment::are_sent(&self.pool, &reports).await;
        sent.context("looking up segments")
    }
}

impl PgStore {
    pub(crate) async fn reports_trim(
        &self,
        route: &RouteName,
        before: Timestamp,
        keep: usize,
        limit: usize,
    ) -> Result<usize, StoreError> {
        let trimmed = sent_segment::trim(&self.pool, route, before, (keep, limit)).await;
        trimmed.context("trimming unmatched receipts")
    }

    pub(crate) async fn reports_tidy(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> Result<usize, StoreError> {
        let tidied = sent_segment::tidy(&self.pool, before, limit).await;
        tidied.context("tidying network ids")
    }
}
