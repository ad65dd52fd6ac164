//! The operator's numbers that networks name in reports.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::phone::E164;
use crate::receipt::report::NetworkReport;

/// Those of the operator's numbers that reports have named. A number that is released stays: its
/// reports may still be under way, and it decides no more than an order.
#[derive(Debug, Default)]
pub(in crate::service) struct OwnNumbers(Mutex<BTreeSet<E164>>);

impl OwnNumbers {
    /// The numbers about which the store has to be asked: those of each report that names several,
    /// none of which is known.
    pub(super) fn to_ask(&self, reports: &[NetworkReport]) -> BTreeSet<E164> {
        let known = self.known();
        let is_unclear = |report: &&NetworkReport| {
            report.numbers.len() > 1 && !report.numbers.iter().any(|it| known.contains(it))
        };
        reports.iter().filter(is_unclear).flat_map(|report| report.numbers.clone()).collect()
    }

    pub(super) fn learn(&self, ours: BTreeSet<E164>) {
        self.known().extend(ours);
    }

    /// The reports, which name the operator's numbers last.
    pub(super) fn named_last(&self, reports: Vec<NetworkReport>) -> Vec<NetworkReport> {
        let known = self.known();
        reports.into_iter().map(|report| report.naming_last(&known)).collect()
    }

    fn known(&self) -> MutexGuard<'_, BTreeSet<E164>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
