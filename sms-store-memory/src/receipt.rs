//! Delivery receipts, and networks' reports on segments.

use async_trait::async_trait;
use sms_core::commit::Changes;
use sms_core::receipt::report::{NetworkReport, ReportPlan, Reported};
use sms_core::receipt::store::ReceiptStore;
use sms_core::receipt::{ReceiptPlan, Recorded};
use sms_core::store::StoreError;
use sms_core::time::Timestamp;

use crate::MemoryStore;
use crate::state::State;

#[async_trait]
impl ReceiptStore for MemoryStore {
    async fn receipts_record(&self, plans: Vec<ReceiptPlan>) -> Vec<Result<Recorded, StoreError>> {
        let mut state = self.state();
        plans.into_iter().map(|plan| Ok(state.record_receipt(plan))).collect()
    }

    async fn reports_record(&self, plans: Vec<ReportPlan>) -> Vec<Result<Reported, StoreError>> {
        let mut state = self.state();
        plans.into_iter().map(|plan| Ok(state.record_report(plan))).collect()
    }

    async fn reports_tidy(&self, before: Timestamp, limit: usize) -> Result<usize, StoreError> {
        Ok(self.state().sent_segments.tidy(before, limit))
    }
}

impl State {
    fn record_report(&mut self, mut plan: ReportPlan) -> Reported {
        let NetworkReport { id, status } = plan.report.clone();
        let Some((message, parts)) = self.sent_segments.of(&id) else {
            self.sent_segments.keep_early(id, status, plan.at);
            return Reported::Early;
        };
        let Some(stored) = self.messages.get(&message) else { return Reported::Repeat };
        let mut changes = Changes::default();
        let reported = changes.report(&mut plan, &stored.message, &parts);
        if reported != Reported::Repeat {
            self.sent_segments.report(&id, status);
        }
        self.write_changes(changes.finish());
        reported
    }

    fn record_receipt(&mut self, mut plan: ReceiptPlan) -> Recorded {
        if plan.follow_up.is_some_and(|id| !self.follow_ups.remove(id)) {
            return Recorded::AlreadyDone;
        }
        let stored = self.messages.get(&plan.receipt.message).map(|stored| &stored.message);
        let mut changes = Changes::default();
        let recorded = changes.receipt(&mut plan, stored);
        self.write_changes(changes.finish());
        recorded
    }
}
