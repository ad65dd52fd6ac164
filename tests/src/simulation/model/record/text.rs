//! A message.

use sms_core::dispatch::{Lane, LeaseToken};
use sms_core::message::{Message, MessageStatus};
use sms_core::time::Timestamp;

/// The expected state of a message.
#[derive(Debug)]
pub struct MessageModel {
    /// As last compared.
    pub last: Message,
    /// The number of lines of its history.
    pub lines: usize,
    /// The lane that it waits in.
    pub lane: Lane,
    /// When it may be claimed, unless a worker has it.
    pub ready_at: Timestamp,
    /// When it is no longer valid.
    pub expires_at: Timestamp,
    /// How often it was refused for now.
    pub attempt: u32,
    /// How often no answer came: it may have been sent.
    pub unanswered: u32,
    /// The lease token and the end of the lease, if a worker holds it.
    pub lease: Option<(LeaseToken, Timestamp)>,
    /// Receipts that came since it was claimed.
    pub receipts: u32,
}

impl MessageModel {
    /// Whether it is still to be sent.
    pub fn is_open(&self) -> bool {
        is_open(self.last.status)
    }

    /// When a worker may claim it; `None` if it is past that.
    pub fn claimable_at(&self) -> Option<Timestamp> {
        let open = is_open(self.last.status);
        open.then_some(self.lease.map_or(self.ready_at, |(_, until)| until))
    }
}

/// Whether a message with this status is still to be sent.
pub(crate) fn is_open(status: MessageStatus) -> bool {
    matches!(status, MessageStatus::Scheduled | MessageStatus::Queued | MessageStatus::Sending)
}
