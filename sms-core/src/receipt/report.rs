//! What a network reports of the parts of a text.
//!
//! A network gives every part that it takes an id of its own, and later reports under that id. The
//! ids are kept with the hand-over ([`SentPart`]), by whichever program made it; a report finds its
//! text through whichever program it comes to. One that comes before the hand-over is recorded is
//! kept, and counts when it is.
//!
//! A text is delivered when all of its parts are, and undelivered when one of them is not.

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

/// How long ids are kept, and reports that nothing is known of: longer than a network tries.
pub const KEPT_FOR: Duration = Duration::from_hours(7 * 24);

/// After this time a report of an id that is not known is taken for one of another part than the
/// report before: a network that counts its ids anew gives one again.
pub const EARLY_FOR: Duration = Duration::from_hours(1);

/// By how much the clocks of two programs may differ: the one that a report comes to, and the one
/// that handed over.
pub const CLOCKS_DIFFER: Duration = Duration::from_secs(10);

/// What a network calls a part that it took.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NetworkId {
    /// The route that handed it over.
    pub route: RouteName,
    /// The network's own id, in the one spelling of it that the route uses.
    pub id: Arc<str>,
}

impl NetworkId {
    /// The part that the network of `route` calls `id`.
    pub fn new(route: RouteName, id: impl Into<Arc<str>>) -> Self {
        Self { route, id: id.into() }
    }
}

impl fmt::Debug for NetworkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.route, self.id)
    }
}

/// A report as a route brings it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkReport {
    /// The part that it is about.
    pub id: NetworkId,
    /// What it says.
    pub status: ReceiptStatus,
}

/// A part that a network took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentPart {
    /// What the network calls it.
    pub id: NetworkId,
    /// The text it is a part of.
    pub message: MessageId,
    /// Of how many; each has an id of its own.
    pub total: usize,
    /// What was reported of it.
    pub report: Option<ReceiptStatus>,
    /// When it was handed over.
    pub at: Timestamp,
}

/// A report of a part that was not recorded yet when it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EarlyReport {
    /// What it says.
    pub status: ReceiptStatus,
    /// When it came.
    pub at: Timestamp,
}

impl EarlyReport {
    /// Whether a report of the same id that comes at `at` takes this one's place: not if this one
    /// says delivered, unless it is [old](EARLY_FOR).
    pub fn gives_way(&self, at: Timestamp) -> bool {
        self.status != ReceiptStatus::Delivered || at.since(self.at) >= EARLY_FOR
    }
}

/// Reports of parts that were not recorded yet when these came.
pub type EarlyReports = BTreeMap<NetworkId, EarlyReport>;

/// What the reports of parts say of the whole text; `None` while some are missing.
pub fn of_whole(
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
    /// What the route brought.
    pub report: NetworkReport,
    /// When it came.
    pub at: Timestamp,
    /// Ids for what recording makes.
    pub ids: Ids,
}

/// What a store does with a report of a part that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a verdict has to be written by the store"]
pub enum ReportVerdict {
    /// Nothing: it is late or repeated news.
    Repeat,
    /// Keeps the report with its part.
    Keep(ReceiptStatus),
    /// Keeps it, and changes the text.
    Change(ReceiptStatus, Box<Changed>),
}

impl ReportPlan {
    /// The verdict on a report, beside the text and all parts of it that are kept, as the store
    /// finds them under its lock.
    pub fn settle(&mut self, message: &Message, parts: &[SentPart]) -> ReportVerdict {
        let news = self.report.status;
        let Some(part) = parts.iter().find(|part| part.id == self.report.id) else {
            return ReportVerdict::Repeat;
        };
        // As with whole texts: delivered is delivered, whatever else was said or will be.
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

/// What the reports of its parts change about a text.
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

/// What became of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "nearly every report changes its text")]
pub enum Reported {
    /// The text changed; here it is as it is now.
    Changed(Message),
    /// It was kept with its part; the text did not change.
    Kept,
    /// It was late or repeated news.
    Repeat,
    /// Nothing has this id yet: it was kept for when something does.
    Early,
}

#[cfg(test)]
mod tests;
