//! Networks' reports on segments.

use crate::error::Error;
use crate::phone::E164;
use crate::receipt::report::{NetworkReport, ReportPlan, Reported};
use crate::service::sms::Sms;
use crate::service::wake::Work;

impl Sms {
    /// Records the networks' reports on segments, in the order given. A report on an unknown
    /// segment is kept until the segment is recorded.
    pub async fn record_reports(
        &self,
        reports: Vec<NetworkReport>,
    ) -> Vec<Result<Reported, Error>> {
        let at = self.now();
        self.learn_own_numbers(&reports).await;
        let reports = self.inner.own_numbers.named_last(reports).into_iter();
        let plans = reports.map(|report| ReportPlan { report, at, ids: self.ids(at) });
        let recorded = self.store().reports_record(plans.collect()).await;
        self.wake(Work::Webhooks);
        recorded.into_iter().map(|one| one.map_err(Error::from)).collect()
    }

    /// Without an answer of the store, the reports keep the network's order.
    async fn learn_own_numbers(&self, reports: &[NetworkReport]) {
        let asked: Vec<E164> = self.inner.own_numbers.to_ask(reports).into_iter().collect();
        if !asked.is_empty()
            && let Ok(ours) = self.store().numbers_among(&asked).await
        {
            self.inner.own_numbers.learn(ours);
        }
    }
}
