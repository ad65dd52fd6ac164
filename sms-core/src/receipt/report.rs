//! Reports of a network on the segments of a message.
//!
//! A network gives each segment that it accepts an id, and later reports under that id. The ids are
//! stored with the hand-over ([`SentSegment`]), so that a report finds its message whichever
//! program receives it. A report that arrives before the hand-over is recorded is kept, and counts
//! once the hand-over is recorded.
//!
//! A message is delivered when all of its segments are, and undelivered when one of them is not.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::{Receipt, ReceiptPlan, ReceiptStatus};
use crate::ids::{Ids, MessageId};
use crate::message::Message;
use crate::message::change::Changed;
use crate::route::RouteName;
use crate::time::Timestamp;

/// How long ids and early reports are kept: 7 days, which is longer than a network tries to
/// deliver.
pub const KEPT_FOR: Duration = Duration::from_hours(7 * 24);

/// The age at which an early report no longer concerns the same segment as a new report with its
/// id: 1 hour. A network that restarts its counter of ids reuses them.
pub const EARLY_FOR: Duration = Duration::from_hours(1);

/// By how much the clocks of two programs may differ: of the one that hands over a message, and the
/// one that receives a report on it.
pub const CLOCKS_DIFFER: Duration = Duration::from_secs(10);

/// The id that a network gave to a segment.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NetworkId {
    /// The route that submitted the segment.
    pub route: RouteName,
    /// The network's id, in the one spelling that the route uses.
    pub id: Arc<str>,
}

impl NetworkId {
    /// The segment that the network of `route` calls `id`.
    pub fn new(route: RouteName, id: impl Into<Arc<str>>) -> Self {
        Self { route, id: id.into() }
    }
}

impl fmt::Debug for NetworkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.route, self.id)
    }
}

/// A report as a route receives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkReport {
    /// The segment that it is about.
    pub id: NetworkId,
    /// What it reports.
    pub status: ReceiptStatus,
}

/// A segment that a network accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentSegment {
    /// The network's id for it.
    pub id: NetworkId,
    /// The message that it belongs to.
    pub message: MessageId,
    /// The number of segments of the message, each with an id.
    pub total: usize,
    /// The latest report on it; `None` before the first.
    pub report: Option<ReceiptStatus>,
    /// When it was handed over.
    pub at: Timestamp,
}

/// A report on a segment that was not recorded yet when the report arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EarlyReport {
    /// What it reports.
    pub status: ReceiptStatus,
    /// When it arrived.
    pub at: Timestamp,
}

impl EarlyReport {
    /// Whether a report with the same id that arrives at `at` replaces this one. It does not if
    /// this one says delivered, unless this one is [old](EARLY_FOR).
    pub fn gives_way(&self, at: Timestamp) -> bool {
        self.status != ReceiptStatus::Delivered || at.since(self.at) >= EARLY_FOR
    }
}

/// Reports on segments that were not recorded yet when the reports arrived.
pub type EarlyReports = BTreeMap<NetworkId, EarlyReport>;

/// The status of the message, given the reports on its segments; `None` while some are missing.
pub(crate) fn of_whole(
    total: usize,
    reports: impl IntoIterator<Item = Option<ReceiptStatus>>,
) -> Option<ReceiptStatus> {
    let mut delivered = 0;
    for report in reports.into_iter().flatten() {
        match report {
            ReceiptStatus::Delivered => delivered += 1,
            ReceiptStatus::Undelivered(_) => return Some(report),
        }
    }
    (delivered >= total).then_some(ReceiptStatus::Delivered)
}

/// A report to be recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportPlan {
    /// The report as the route received it.
    pub report: NetworkReport,
    /// When it arrived.
    pub at: Timestamp,
    /// Ids for the refund and the events.
    pub ids: Ids,
}

/// What a store does with a report on a known segment.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a verdict has to be written by the store"]
pub enum ReportVerdict {
    /// Nothing, because the report is late or repeated.
    Repeat,
    /// Stores the report with its segment.
    Keep(ReceiptStatus),
    /// Stores the report and changes the message.
    Change(ReceiptStatus, Box<Changed>),
}

impl ReportPlan {
    /// The verdict on a report, given the message and all of its recorded segments, which the store
    /// found under its lock.
    pub fn settle(&mut self, message: &Message, parts: &[SentSegment]) -> ReportVerdict {
        let news = self.report.status;
        let Some(part) = parts.iter().find(|part| part.id == self.report.id) else {
            return ReportVerdict::Repeat;
        };
        // As for whole messages, a delivery stands, whatever other reports say.
        if part.report == Some(ReceiptStatus::Delivered) || part.report == Some(news) {
            return ReportVerdict::Repeat;
        }
        let reports =
            parts.iter().map(|one| if one.id == part.id { Some(news) } else { one.report });
        let Some(status) = of_whole(part.total, reports) else { return ReportVerdict::Keep(news) };
        match whole_changed(message, status, self.at, &mut self.ids) {
            Some(changed) => ReportVerdict::Change(news, Box::new(changed)),
            None => ReportVerdict::Keep(news),
        }
    }
}

/// What the reports on its segments change about a message.
pub(crate) fn whole_changed(
    message: &Message,
    status: ReceiptStatus,
    at: Timestamp,
    ids: &mut Ids,
) -> Option<Changed> {
    let receipt = Receipt { message: message.id, status };
    let mut plan = ReceiptPlan { receipt, at, ids: ids.clone(), follow_up: None };
    let changed = plan.settle(message);
    *ids = plan.ids;
    changed
}

/// The result of recording a report.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "nearly every report changes its message")]
pub enum Reported {
    /// The message changed. Carries the message after the change.
    Changed(Message),
    /// The report was stored with its segment; the message did not change.
    Kept,
    /// The report was late or repeated.
    Repeat,
    /// No segment has this id yet; the report is kept until one does.
    Early,
}

#[cfg(test)]
mod tests;
