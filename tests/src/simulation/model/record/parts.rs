//! The segments of a long inbound message.

use std::collections::BTreeMap;

use sms_core::route::RouteName;
use sms_core::time::Timestamp;

/// The segments of a message that arrived.
#[derive(Debug, Clone)]
pub struct SegmentsModel {
    /// Whether the message was complete.
    pub(crate) joined: bool,
    /// The bodies of the segments.
    pub(crate) parts: BTreeMap<u8, String>,
    /// The route that brought the first segment.
    pub(crate) route: RouteName,
    /// When the first segment arrived.
    pub(crate) first_at: Timestamp,
}

impl SegmentsModel {
    pub(crate) fn words(&self) -> String {
        self.parts.values().map(String::as_str).collect()
    }
}
