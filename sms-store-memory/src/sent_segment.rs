//! Segments that networks accepted, and the reports about them.

use std::collections::{BTreeMap, BTreeSet};
use std::iter;

use sms_core::dispatch::names_beside;
use sms_core::ids::MessageId;
use sms_core::message::Message;
use sms_core::phone::E164;
use sms_core::receipt::ReceiptStatus;
use sms_core::receipt::report::{Beside, EarlyReport, EarlyReports, NetworkId, SentSegment};
use sms_core::receipt::unmatched::{UNMATCHED_MOST, Unmatched, UnmatchedReport};
use sms_core::route::RouteName;
use sms_core::time::Timestamp;

/// What is stored under a network's id.
#[derive(Debug, Clone)]
enum Known {
    Part(SentSegment),
    /// A report that came before its segment was recorded.
    Early(EarlyReport),
}

impl Known {
    fn at(&self) -> Timestamp {
        match self {
            Self::Part(part) => part.at,
            Self::Early(report) => report.at,
        }
    }
}

/// Segments and early reports, by network id.
#[derive(Default)]
pub(crate) struct SentSegments {
    known: BTreeMap<NetworkId, Known>,
    by_message: BTreeSet<(MessageId, NetworkId)>,
    by_age: BTreeSet<(Timestamp, NetworkId)>,
    /// Reports without a segment, by the route that received them and their age.
    by_route: BTreeSet<(RouteName, Timestamp, NetworkId)>,
}

impl SentSegments {
    /// The message that has the segment under this id, and all segments of that message.
    pub(crate) fn of(&self, id: &NetworkId) -> Option<(MessageId, Vec<SentSegment>)> {
        let message = &self.holder(id)?;
        let nothing = NetworkId::new(RouteName::new(""), "");
        let from = (*message, nothing);
        let of_text = self.by_message.range(from..).take_while(|(of, _)| of == message);
        let part = |id| match self.known.get(id) {
            Some(Known::Part(part)) => Some(part.clone()),
            _ => None,
        };
        Some((*message, of_text.filter_map(|(_, id)| part(id)).collect()))
    }

    /// The message that has the segment under this id.
    pub(crate) fn holder(&self, id: &NetworkId) -> Option<MessageId> {
        match self.known.get(id)? {
            Known::Part(part) => Some(part.message),
            Known::Early(_) => None,
        }
    }

    /// The report under this id that came before its segment was recorded.
    pub(crate) fn early_report(&self, id: &NetworkId) -> Option<&EarlyReport> {
        match self.known.get(id)? {
            Known::Early(report) => Some(report),
            Known::Part(_) => None,
        }
    }

    /// The reports about segments of this message with these ids that came before they were
    /// recorded.
    pub(crate) fn early(&self, ids: &[NetworkId], message: &Message) -> EarlyReports {
        let names = |id: &NetworkId| iter::once(id.clone()).chain(names_beside(id, message));
        let report = |id: NetworkId| Some((id.clone(), self.early_report(&id)?.clone()));
        ids.iter().flat_map(names).filter_map(report).collect()
    }

    /// Keeps a report until its segment is recorded.
    pub(crate) fn keep_early(&mut self, id: NetworkId, news: EarlyReport) {
        match self.known.get(&id) {
            Some(Known::Early(report)) if !report.gives_way(news.at) => {}
            // A segment whose message is gone.
            Some(Known::Part(_)) => {}
            _ => self.put(id, Known::Early(news)),
        }
    }

    pub(crate) fn keep_part(&mut self, part: SentSegment) {
        self.put(part.id.clone(), Known::Part(part));
    }

    /// Moves the segment under this id beside it: its message went to `to`.
    pub(crate) fn move_beside(&mut self, id: &NetworkId, to: E164) {
        if let Some(Known::Part(part)) = self.known.get(id) {
            let part = SentSegment { id: id.beside(to), ..part.clone() };
            self.keep_part(part);
        }
    }

    /// Writes early reports beside ids, and removes those that have counted.
    pub(crate) fn keep_beside(&mut self, beside: Beside) {
        for (name, report) in beside {
            match report {
                _ if self.holder(&name).is_some() => {}
                Some(report) => self.put(name, Known::Early(report)),
                None => self.remove(&name),
            }
        }
    }

    pub(crate) fn report(&mut self, id: &NetworkId, status: ReceiptStatus) {
        if let Some(Known::Part(part)) = self.known.get_mut(id) {
            part.report = Some(status);
        }
    }

    /// Deletes up to `limit` entries from before `before`. Returns how many.
    pub(crate) fn tidy(&mut self, before: Timestamp, limit: usize) -> usize {
        let old = self.by_age.iter().take_while(|(at, _)| *at < before).take(limit);
        let old: Vec<NetworkId> = old.map(|(_, id)| id.clone()).collect();
        for id in &old {
            self.remove(id);
        }
        old.len()
    }

    /// The newest early reports of a route from before `before`, and how many there are.
    pub(crate) fn unmatched(
        &self,
        route: &RouteName,
        before: Timestamp,
        limit: usize,
    ) -> Unmatched {
        let mut found = Unmatched::default();
        for (_, at, id) in self.early_before(route, before).rev().take(UNMATCHED_MOST) {
            found.count += 1;
            if let Some(report) = self.early_report(id).filter(|_| found.newest.len() < limit) {
                let EarlyReport { status, at: _, numbers } = report.clone();
                let report = UnmatchedReport { id: id.clone(), status, at: *at, numbers };
                found.newest.push(report);
            }
        }
        found
    }

    /// Deletes up to `limit` early reports of a route from before `before`, but the newest `keep`.
    pub(crate) fn trim(
        &mut self,
        route: &RouteName,
        before: Timestamp,
        keep: usize,
        limit: usize,
    ) -> usize {
        let old = self.early_before(route, before).rev().skip(keep).take(limit);
        let old: Vec<NetworkId> = old.map(|(_, _, id)| id.clone()).collect();
        for id in &old {
            self.remove(id);
        }
        old.len()
    }

    fn early_before(
        &self,
        route: &RouteName,
        before: Timestamp,
    ) -> impl DoubleEndedIterator<Item = &(RouteName, Timestamp, NetworkId)> {
        let nothing = NetworkId::new(RouteName::new(""), "");
        let from = (route.clone(), Timestamp::from_millis(0), nothing.clone());
        self.by_route.range(from..(route.clone(), before, nothing))
    }

    fn put(&mut self, id: NetworkId, known: Known) {
        self.remove(&id);
        self.by_age.insert((known.at(), id.clone()));
        match &known {
            Known::Part(part) => drop(self.by_message.insert((part.message, id.clone()))),
            Known::Early(report) => {
                self.by_route.insert((id.route.clone(), report.at, id.clone()));
            }
        }
        self.known.insert(id, known);
    }

    fn remove(&mut self, id: &NetworkId) {
        let Some(known) = self.known.remove(id) else { return };
        self.by_age.remove(&(known.at(), id.clone()));
        match known {
            Known::Part(part) => drop(self.by_message.remove(&(part.message, id.clone()))),
            Known::Early(report) => {
                self.by_route.remove(&(id.route.clone(), report.at, id.clone()));
            }
        }
    }
}
