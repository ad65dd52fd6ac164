//! Receipts and networks' reports.

use async_trait::async_trait;
use sms_core::receipt::report::{ReportPlan, Reported};
use sms_core::receipt::store::ReceiptStore;
use sms_core::receipt::{ReceiptPlan, Recorded};
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

    async fn reports_tidy(&self, before: Timestamp, limit: usize) -> Result<usize, StoreError> {
        let tidied = sent_segment::tidy(&self.pool, before, limit).await;
        tidied.context("tidying network ids")
    }
}
