//! A message that a worker holds, as the worker knows it. `service/work/from_birth.rs` draws its
//! life.

use super::queue::QueueEntry;
use crate::hand_over::OutboundMessage;
use crate::hand_over::look::Look;
use crate::message::record::Message;
use crate::time::Timestamp;

/// A message as the worker that holds it knows it: no other program changes it under its lease,
/// except that a report may come before its outcome is recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldMessage {
    /// The message, in the status `sending`.
    pub message: Message,
    /// Its place in the queue, with the lease.
    pub entry: QueueEntry,
    /// Its time in the queue before this worker took it: when it was due, was to be retried, or
    /// when the lease of another worker ran out.
    pub due_at: Timestamp,
}

impl HeldMessage {
    /// The message as a route gets it, after this look at it.
    pub fn outbound(&self, look: Look) -> OutboundMessage {
        outbound(&self.message, &self.entry, look)
    }
}

/// A message as a route gets it.
pub(super) fn outbound(message: &Message, entry: &QueueEntry, look: Look) -> OutboundMessage {
    OutboundMessage {
        message: message.id,
        to: message.to,
        from: message.from,
        sender: message.sender.clone(),
        body: message.body.clone(),
        encoding: message.encoding,
        segments: message.segments,
        route: message.route.clone(),
        mode: message.mode,
        lane: entry.lane,
        attempt: entry.attempt,
        expires_at: entry.expires_at,
        look,
    }
}
