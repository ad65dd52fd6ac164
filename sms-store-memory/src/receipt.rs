//! Delivery receipts, and networks' reports on segments.

use std::convert::Infallible;

use async_trait::async_trait;
use sms_core::commit::Changes;
use sms_core::receipt::report::{Known, NetworkId, NetworkReport, Place, ReportPlan, Reported};
use sms_core::receipt::store::ReceiptStore;
use sms_core::receipt::unmatched::Unmatched;
use sms_core::receipt::{ReceiptPlan, Recorded};
use sms_core::route::RouteName;
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

    async fn reports_unmatched(
        &self,
        route: &RouteName,
        before: Timestamp,
        limit: usize,
    ) -> Result<Unmatched, StoreError> {
        Ok(self.state().sent_segments.unmatched(route, before, limit))
    }

    async fn segments_sent(&self, reports: Vec<NetworkReport>) -> Result<Vec<bool>, StoreError> {
        let state = self.state();
        let is_sent = |report: NetworkReport| match state.known(&report.id) {
            Some(Known::Segment { to }) => report.may_concern(to),
            _ => false,
        };
        Ok(reports.into_iter().map(is_sent).collect())
    }
}

impl MemoryStore {
    pub(crate) fn reports_trim(
        &self,
        route: &RouteName,
        before: Timestamp,
        keep: usize,
        limit: usize,
    ) -> usize {
        self.state().sent_segments.trim(route, before, keep, limit)
    }

    pub(crate) fn reports_tidy(&self, before: Timestamp, limit: usize) -> usize {
        self.state().sent_segments.tidy(before, limit)
    }
}

impl State {
    fn record_report(&mut self, mut plan: ReportPlan) -> Reported {
        let place = plan.report.place(|id| Ok::<_, Infallible>(self.known(id)));
        let of = match place {
            Ok(Place::Segment(of)) => of,
            Ok(Place::Early(under)) => {
                self.sent_segments.keep_early(under, plan.report.early(plan.at));
                return Reported::Early;
            }
        };
        let found = self.sent_segments.of(&of);
        let Some((message, parts)) = found else { return Reported::Repeat };
        let Some(stored) = self.messages.get(&message) else { return Reported::Repeat };
        let status = plan.report.status;
        let mut changes = Changes::default();
        let reported = changes.report(&mut plan, &of, &stored.message, &parts);
        if reported.is_stored() {
            self.sent_segments.report(&of, status);
        }
        self.write_changes(changes.finish());
        reported
    }

    fn known(&self, id: &NetworkId) -> Option<Known> {
        if let Some(holder) = self.sent_segments.holder(id) {
            return Some(Known::Segment { to: self.messages.get(&holder)?.message.to });
        }
        self.sent_segments.early_report(id).cloned().map(Known::Early)
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
