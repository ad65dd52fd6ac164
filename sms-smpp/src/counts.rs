//! The metrics of one route. Finding a metric takes the recorder longer than counting with it, so
//! each one is found once.

use std::sync::{OnceLock, PoisonError, RwLock};
use std::time::Duration;

use metrics::{Counter, Histogram};
use sms_core::route::RouteName;

/// What a route counts.
#[derive(Debug)]
pub(crate) struct Counts {
    route: RouteName,
    answers: OnceLock<Histogram>,
    submits: Counters,
    arrivals: Counters,
}

/// Counters that differ in one label.
#[derive(Debug, Default)]
struct Counters {
    found: RwLock<Vec<(&'static str, Counter)>>,
}

impl Counts {
    pub(crate) fn new(route: RouteName) -> Self {
        let (answers, submits, arrivals) = Default::default();
        Self { route, answers, submits, arrivals }
    }

    /// The name of the route.
    pub(crate) fn route(&self) -> &RouteName {
        &self.route
    }

    /// The SMSC took this long to respond.
    pub(crate) fn answered(&self, took: Duration) {
        let find = || metrics::histogram!("sms_smpp_answer_seconds", "route" => self.label());
        self.answers.get_or_init(find).record(took);
    }

    /// A `submit_sm` had this outcome.
    pub(crate) fn submitted(&self, outcome: &'static str) {
        self.submits.count(outcome, || {
            let route = self.label();
            metrics::counter!("sms_smpp_submits_total", "route" => route, "outcome" => outcome)
        });
    }

    /// Counts one PDU from the SMSC by what it is: the label `what` of the metric.
    pub(crate) fn arrived(&self, what: &'static str) {
        self.arrivals.count(what, || {
            let route = self.label();
            metrics::counter!("sms_smpp_arrivals_total", "route" => route, "what" => what)
        });
    }

    fn label(&self) -> String {
        self.route.as_str().to_owned()
    }
}

/// Counts what arrived and has to be sent again, because it could not be stored.
pub(crate) fn not_kept(route: &str) -> Counter {
    let route = route.to_owned();
    metrics::counter!("sms_smpp_arrivals_total", "route" => route, "what" => "not_kept")
}

impl Counters {
    fn count(&self, label: &'static str, find: impl FnOnce() -> Counter) {
        // Every change is complete before the lock is released, so a poisoned lock does no harm.
        let found = self.found.read().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, counter)) = found.iter().find(|(own, _)| *own == label) {
            counter.increment(1);
            return;
        }
        drop(found);
        let counter = find();
        counter.increment(1);
        // Another call may have found it meanwhile; then the first one is used from now on.
        self.found.write().unwrap_or_else(PoisonError::into_inner).push((label, counter));
    }
}
