//! The segments of long inbound messages.

use std::collections::{BTreeMap, BTreeSet};

use sms_core::inbound::segment::{Gathered, SegmentKey};
use sms_core::time::Timestamp;

/// The segments that arrived, by message, and the order in which the messages began.
#[derive(Default)]
pub(crate) struct Parts {
    by_key: BTreeMap<SegmentKey, Gathered>,
    by_age: BTreeSet<(Timestamp, SegmentKey)>,
}

impl Parts {
    pub(crate) fn get(&self, key: SegmentKey) -> Option<&Gathered> {
        self.by_key.get(&key)
    }

    pub(crate) fn put(&mut self, key: SegmentKey, gathered: Gathered) {
        self.by_age.insert((gathered.first_at, key));
        let first_at = gathered.first_at;
        if let Some(before) = self.by_key.insert(key, gathered)
            && before.first_at != first_at
        {
            self.by_age.remove(&(before.first_at, key));
        }
    }

    /// Removes and returns the oldest message, if its first segment came before `before`.
    pub(crate) fn take_older(&mut self, before: Timestamp) -> Option<(SegmentKey, Gathered)> {
        let (_, key) = *self.by_age.first().filter(|(first_at, _)| *first_at < before)?;
        self.by_age.pop_first();
        self.by_key.remove(&key).map(|gathered| (key, gathered))
    }
}
