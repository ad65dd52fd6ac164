//! The segments of a long inbound message.

use std::collections::BTreeMap;

use sms_core::inbound::segment::MISSING;
use sms_core::originator::Originator;
use sms_core::route::RouteName;
use sms_core::time::Timestamp;

/// The segments of a message that arrived.
#[derive(Debug, Clone)]
pub struct SegmentsModel {
    /// Who sends it.
    pub(crate) from: Originator,
    /// Whether the message was complete.
    pub(crate) joined: bool,
    /// The texts of the segments, none of which ends within a character.
    pub(crate) parts: BTreeMap<u8, String>,
    /// The route that brought the first segment.
    pub(crate) route: RouteName,
    /// When the first segment arrived.
    pub(crate) first_at: Timestamp,
}

impl SegmentsModel {
    /// What the segments say, with a mark wherever some of them are missing.
    pub(crate) fn words(&self, total: u8) -> String {
        let mut words = String::new();
        for number in 1..=total {
            match self.parts.get(&number) {
                Some(part) => words.push_str(part),
                None if words.ends_with(MISSING) => {}
                None => words.push_str(MISSING),
            }
        }
        words
    }
}
