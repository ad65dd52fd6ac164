//! What happened to a message, in order.

use maud::{Markup, html};
use sms_core::message::TimelineEntry;

use super::badge::reason;
use crate::format::{full_time, worded};

/// The entries, oldest first.
pub fn timeline(entries: &[TimelineEntry]) -> Markup {
    html! {
        ol.timeline {
            @for TimelineEntry { status, detail, at } in entries {
                li {
                    strong { (worded(status.as_str())) }
                    div.small.faint { time datetime=(at) { (full_time(*at)) } }
                    @if let Some(detail) = detail { div { (reason(detail)) } }
                }
            }
        }
    }
}
