//! Reports of a network on the segments of a message.
//!
//! A network gives each segment that it accepts an id, and later reports under that id. The ids are
//! stored with the hand-over ([`SentSegment`]), so that a report finds its message whichever
//! program receives it. A report that arrives before the hand-over is recorded is kept, and counts
//! once the hand-over is recorded.
//!
//! A message is delivered when all of its segments are, and undelivered when one of them is not.
//!
//! A network may use an id again while receipts for its former message are under way. What is known
//! of the former message is then kept [beside](NetworkId::beside) the id, by its recipient.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::{Receipt, ReceiptPlan, ReceiptStatus};
use crate::change::Changed;
use crate::ids::{Ids, MessageId};
use crate::message::record::Message;
use crate::phone::E164;
use crate::route_name::RouteName;
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

    /// The name under which a store keeps what it knows of this id for one recipient, once it keeps
    /// something about another recipient under the id itself.
    #[must_use]
    pub fn beside(&self, recipient: E164) -> Self {
        let id = format!("{}{BESIDE}{}", self.as_told(), recipient.digits());
        Self::new(self.route.clone(), id)
    }

    /// Whether it is a name [beside](Self::beside) an id.
    pub fn is_beside(&self) -> bool {
        self.id.contains(BESIDE)
    }

    /// The id as the network wrote it.
    pub fn as_told(&self) -> &str {
        self.id.split(BESIDE).next().unwrap_or_default()
    }
}

/// What stands between an id and a recipient in a name beside the id. Ids have no control
/// characters.
const BESIDE: char = '\u{1f}';

impl fmt::Debug for NetworkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.route, self.id.replace(BESIDE, " to "))
    }
}

/// A report as a route receives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkReport {
    /// The segment that it is about.
    pub id: NetworkId,
    /// That the segment was delivered, or why it was not.
    pub status: ReceiptStatus,
    /// The numbers that it names, one of which is the recipient, most likely the first; empty if it
    /// does not name the recipient as a number. A network may use an id again while receipts for
    /// its former message are still under way.
    pub numbers: Vec<E164>,
}

impl NetworkReport {
    /// A report that names no recipient.
    pub fn new(id: NetworkId, status: ReceiptStatus) -> Self {
        Self { id, status, numbers: Vec::new() }
    }

    /// The same report, which names these numbers.
    #[must_use]
    pub fn between(self, numbers: impl IntoIterator<Item = E164>) -> Self {
        Self { numbers: numbers.into_iter().collect(), ..self }
    }

    /// The same report, which names the operator's numbers last: a network may name the sender of
    /// the message before its recipient.
    #[must_use]
    pub fn naming_last(mut self, ours: &BTreeSet<E164>) -> Self {
        self.numbers.sort_by_key(|number| ours.contains(number));
        self
    }

    /// Whether it may be about a message to this recipient.
    pub fn may_concern(&self, recipient: E164) -> bool {
        may_concern(&self.numbers, recipient)
    }

    /// The names beside its id that it may be about.
    pub fn beside(&self) -> impl Iterator<Item = NetworkId> {
        self.numbers.iter().map(|number| self.id.beside(*number))
    }

    /// Where it belongs, given what a store has under an id: at the newest segment with its id and
    /// its recipient. If there is none, it is kept until one is recorded.
    ///
    /// # Errors
    ///
    /// The first error of `known`.
    pub fn place<E>(
        &self,
        mut known: impl FnMut(&NetworkId) -> Result<Option<Known>, E>,
    ) -> Result<Place, E> {
        match known(&self.id)? {
            Some(Known::Segment { to }) if self.may_concern(to) => {
                return Ok(Place::Segment(self.id.clone()));
            }
            Some(Known::Early(early)) if early.may_be_of(&self.numbers) => {
                return Ok(Place::Early(self.id.clone()));
            }
            None => return Ok(Place::Early(self.id.clone())),
            Some(_) => {}
        }
        for id in self.beside() {
            if let Some(Known::Segment { to }) = known(&id)?
                && self.may_concern(to)
            {
                return Ok(Place::Segment(id));
            }
        }
        let first = self.numbers.first().map(|number| self.id.beside(*number));
        Ok(Place::Early(first.unwrap_or_else(|| self.id.clone())))
    }

    /// The report as it is kept until its segment is recorded.
    pub fn early(&self, at: Timestamp) -> EarlyReport {
        EarlyReport { status: self.status, at, numbers: self.numbers.clone() }
    }
}

/// Whether a report that names these numbers may be about a message to this recipient.
fn may_concern(numbers: &[E164], recipient: E164) -> bool {
    numbers.is_empty() || numbers.contains(&recipient)
}

/// What a store has under an id of a network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Known {
    /// A segment of a message to this recipient.
    Segment {
        /// The recipient of that message.
        to: E164,
    },
    /// A report that came before its segment was recorded.
    Early(EarlyReport),
}

/// Where a report belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// It is about the segment under this id.
    Segment(NetworkId),
    /// No message to its recipient has the id yet. It is kept under this id.
    Early(NetworkId),
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EarlyReport {
    /// That the segment was delivered, or why it was not.
    pub status: ReceiptStatus,
    /// When it arrived, UTC. It is kept for [`KEPT_FOR`].
    pub at: Timestamp,
    /// The numbers that it names, as [`NetworkReport::numbers`].
    pub numbers: Vec<E164>,
}

impl EarlyReport {
    /// Whether it may be about a message to this recipient.
    pub(crate) fn may_concern(&self, recipient: E164) -> bool {
        may_concern(&self.numbers, recipient)
    }

    /// Whether it may be about the same message as a report that names these numbers. The first of
    /// them decides, because messages to all recipients may come from the same number.
    pub fn may_be_of(&self, numbers: &[E164]) -> bool {
        match (self.numbers.first(), numbers.first()) {
            (Some(own), Some(other)) => own == other,
            _ => true,
        }
    }

    /// The name beside its id under which it waits when a message to another recipient has the
    /// id; `None` if it may be about that message.
    pub(crate) fn makes_way(&self, id: &NetworkId, recipient: E164) -> Option<NetworkId> {
        let first = self.numbers.first().filter(|_| !self.may_concern(recipient));
        first.map(|number| id.beside(*number))
    }

    /// The numbers that it names, as stores keep them; `None` if it names none.
    pub fn numbers_text(&self) -> Option<String> {
        let digits: Vec<String> =
            self.numbers.iter().map(|number| number.digits().to_string()).collect();
        (!digits.is_empty()).then(|| digits.join(" "))
    }

    /// The numbers that a store kept; `None` if these are none.
    pub fn numbers_of(text: Option<&str>) -> Option<Vec<E164>> {
        let number = |digits: &str| digits.parse().ok().and_then(E164::from_digits);
        text.unwrap_or_default().split_whitespace().map(number).collect()
    }

    /// Whether a report with the same id that arrives at `at` replaces this one. It does not if
    /// this one says delivered, unless this one is [old](EARLY_FOR).
    pub fn gives_way(&self, at: Timestamp) -> bool {
        self.status != ReceiptStatus::Delivered || at.since(self.at) >= EARLY_FOR
    }
}

/// Reports on segments that were not recorded yet when the reports arrived.
pub type EarlyReports = BTreeMap<NetworkId, EarlyReport>;

/// Early reports to write under names [beside](NetworkId::beside) ids; `None` removes one that has
/// counted.
pub type Beside = BTreeMap<NetworkId, Option<EarlyReport>>;

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
    /// When it arrived, UTC.
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
    /// The verdict on a report on the segment under `of`, its [place](NetworkReport::place), given
    /// the message and all of its recorded segments, which the store found under its lock.
    pub fn settle(
        &mut self,
        of: &NetworkId,
        message: &Message,
        parts: &[SentSegment],
    ) -> ReportVerdict {
        let news = self.report.status;
        let Some(part) = parts.iter().find(|part| part.id == *of) else {
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
    /// No message to its recipient has this id yet; the report is kept until one does.
    Early,
}

impl Reported {
    /// Whether the report was stored with its segment.
    pub fn is_stored(&self) -> bool {
        match self {
            Self::Changed(_) | Self::Kept => true,
            Self::Repeat | Self::Early => false,
        }
    }
}

#[cfg(test)]
mod tests;
