//! The queue of messages that wait to be submitted: a message's place in it, and the lease of the
//! worker that has claimed it.

use std::time::Duration;

use crate::ids::{AccountId, MessageId};
use crate::lane::Lane;
use crate::time::Timestamp;

/// How long a claim holds unless it is renewed: 30 s.
pub const LEASE: Duration = Duration::from_secs(30);
/// How long a message may wait for its route, unless configured otherwise: 24 hours.
pub const VALIDITY: Duration = Duration::from_hours(24);
/// How long a message of a test key waits before it is `sent`: 1 s.
pub const TEST_DELAY: Duration = Duration::from_secs(1);

/// Proves that a worker still holds what it claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LeaseToken(pub u128);

/// A worker's hold on what it claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// Random, so that no other claim has it.
    pub token: LeaseToken,
    /// When the lease runs out.
    pub until: Timestamp,
}

/// A message's place in the queue. A message leaves the queue when it is no longer claimable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueEntry {
    /// The message that waits.
    pub message: MessageId,
    /// The account that sends it.
    pub account: AccountId,
    /// The lane that it waits in.
    pub lane: Lane,
    /// When it may be claimed: when it is due, when it is to be retried, or when its lease runs
    /// out.
    pub claimable_at: Timestamp,
    /// When it expires: the time at which it was due plus its validity.
    pub expires_at: Timestamp,
    /// How many of its hand-overs have ended in a retry; 0 at first.
    pub attempt: u32,
    /// The lease of the worker that holds it; `None` if no worker does.
    pub lease: Option<LeaseToken>,
    /// How many of its hand-overs ended without an answer.
    pub unanswered: u32,
}

/// Whether a message that waits in the queue may have been sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// It was not sent: if it ends now, it has failed and is refunded.
    Nothing,
    /// It may have been sent: if it ends now, it is undelivered and not refunded.
    Perhaps,
}

impl QueueEntry {
    /// Whether the message may have been sent.
    pub fn left(&self) -> Left {
        if self.unanswered == 0 { Left::Nothing } else { Left::Perhaps }
    }
}
