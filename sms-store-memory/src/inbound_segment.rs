//! The segments of long inbound messages.

use std::collections::{BTreeMap, BTreeSet};

use sms_core::inbound::segment::{Gathered, LOOKED_AT, SegmentKey};
use sms_core::time::Timestamp;

/// A message: what its segments have in common, and its place among those with the same key.
type Place = (SegmentKey, u32);

/// The segments that arrived, by message, and the order in which the messages began.
#[derive(Default)]
pub(crate) struct Parts {
    by_place: BTreeMap<Place, Gathered>,
    by_age: BTreeSet<(Timestamp, Place)>,
}

impl Parts {
    /// The newest messages with this key.
    pub(crate) fn newest(&self, key: SegmentKey) -> Vec<Gathered> {
        let kept = self.by_place.range((key, 0)..=(key, u32::MAX)).rev().take(LOOKED_AT);
        kept.map(|(_, gathered)| gathered.clone()).collect()
    }

    pub(crate) fn put(&mut self, key: SegmentKey, gathered: Gathered) {
        let place = (key, gathered.nth);
        self.by_age.insert((gathered.first_at, place));
        self.by_place.insert(place, gathered);
    }

    /// Removes and returns the oldest message, if its first segment came before `before`.
    pub(crate) fn take_older(&mut self, before: Timestamp) -> Option<(SegmentKey, Gathered)> {
        let (_, place) = *self.by_age.first().filter(|(first_at, _)| *first_at < before)?;
        self.by_age.pop_first();
        self.by_place.remove(&place).map(|gathered| (place.0, gathered))
    }
}
