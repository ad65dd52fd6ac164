//! What a stream says, in the format of server-sent events.

use std::fmt::Write as _;

use bytes::Bytes;
use poem_openapi::types::ToJSON as _;
use serde_json::json;
use sms_core::event::log::LoggedEvent;
use sms_core::event::position::Position;

use super::ending::Ending;
use crate::api::event_shape::EventShape;

/// The first lines: how long a browser waits before it connects again, in milliseconds, and where
/// it then goes on.
pub(super) fn opening(at: Position) -> Bytes {
    format!("retry: 1000\nid: {at}\n\n").into()
}

/// A sign of life, and where to go on: further than the last event if others were left out.
pub(super) fn beat(at: Position) -> Bytes {
    format!(": still here\nid: {at}\n\n").into()
}

/// Events, as the list shows them.
pub(super) fn events(events: Vec<LoggedEvent>) -> Bytes {
    let mut text = String::new();
    for event in events {
        let (at, kind) = (event.position, event.event.data.kind());
        let json = EventShape::from(event).to_json_string();
        // Writing into memory cannot fail.
        let _ = write!(text, "id: {at}\nevent: {kind}\ndata: {json}\n\n");
    }
    text.into()
}

/// The last event.
pub(super) fn ended(ending: Ending, at: Position) -> Bytes {
    let data = json!({
        "reason": ending.as_str(),
        "message": ending.message(),
        "after": at.to_string(),
    });
    format!("id: {at}\nevent: stream.ended\ndata: {data}\n\n").into()
}
