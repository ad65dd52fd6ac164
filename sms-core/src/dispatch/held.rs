//! A message that a worker holds, as the worker knows it.

use super::queue::QueueEntry;
use crate::message::Message;
use crate::route::OutboundMessage;

/// A message as the worker that holds it knows it: nobody else changes it under its lease, except
/// that a report may come before its outcome is recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldMessage {
    /// The message, in the status `sending`.
    pub message: Message,
    /// Its place in the queue, with the lease.
    pub entry: QueueEntry,
}

impl HeldMessage {
    /// The message as a route gets it.
    pub fn outbound(&self) -> OutboundMessage {
        outbound(&self.message, &self.entry)
    }
}

/// A message as a route gets it.
pub(super) fn outbound(message: &Message, entry: &QueueEntry) -> OutboundMessage {
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
    }
}
