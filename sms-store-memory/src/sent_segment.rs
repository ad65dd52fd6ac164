//! Segments that networks accepted, and the reports about them.

use std::collections::{BTreeMap, BTreeSet};

use sms_core::ids::MessageId;
use sms_core::receipt::ReceiptStatus;
use sms_core::receipt::report::{EarlyReport, EarlyReports, NetworkId, SentSegment};
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
}

impl SentSegments {
    /// The message that has a segment with this id, and all segments of that message.
    pub(crate) fn of(&self, id: &NetworkId) -> Option<(MessageId, Vec<SentSegment>)> {
        let Some(Known::Part(SentSegment { message, .. })) = self.known.get(id) else {
            return None;
        };
        let nothing = NetworkId::new(RouteName::new(""), "");
        let from = (*message, nothing);
        let of_text = self.by_message.range(from..).take_while(|(of, _)| of == message);
        let part = |id| match self.known.get(id) {
            Some(Known::Part(part)) => Some(part.clone()),
            _ => None,
        };
        Some((*message, of_text.filter_map(|(_, id)| part(id)).collect()))
    }

    /// The reports about these segments that came before they were recorded.
    pub(crate) fn early(&self, ids: &[NetworkId]) -> EarlyReports {
        let report = |id: &NetworkId| match self.known.get(id) {
            Some(Known::Early(report)) => Some((id.clone(), *report)),
            _ => None,
        };
        ids.iter().filter_map(report).collect()
    }

    /// Keeps a report until its segment is recorded.
    pub(crate) fn keep_early(&mut self, id: NetworkId, status: ReceiptStatus, at: Timestamp) {
        match self.known.get(&id) {
            Some(Known::Early(report)) if !report.gives_way(at) => {}
            _ => self.put(id, Known::Early(EarlyReport { status, at })),
        }
    }

    pub(crate) fn keep_part(&mut self, part: SentSegment) {
        self.put(part.id.clone(), Known::Part(part));
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

    fn put(&mut self, id: NetworkId, known: Known) {
        self.remove(&id);
        self.by_age.insert((known.at(), id.clone()));
        if let Known::Part(part) = &known {
            self.by_message.insert((part.message, id.clone()));
        }
        self.known.insert(id, known);
    }

    fn remove(&mut self, id: &NetworkId) {
        let Some(known) = self.known.remove(id) else { return };
        self.by_age.remove(&(known.at(), id.clone()));
        if let Known::Part(part) = known {
            self.by_message.remove(&(part.message, id.clone()));
        }
    }
}
