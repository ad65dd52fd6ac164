//! The queue of messages that wait to be submitted: a message's place in it, and the lease of the
//! worker that has claimed it.

use std::time::Duration;

use crate::ids::{AccountId, MessageId};
use crate::time::Timestamp;

/// How long a claim holds unless it is renewed.
pub const LEASE: Duration = Duration::from_secs(30);
/// How long a text may wait for a route, unless set otherwise.
pub const VALIDITY: Duration = Duration::from_hours(24);
/// How long a text of a test key waits before it is `sent`.
pub const TEST_DELAY: Duration = Duration::from_secs(1);

/// Proves that a worker still holds what it claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LeaseToken(pub u128);

/// A hold on claimed things.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// Random, so that it is nobody else's.
    pub token: LeaseToken,
    /// When it runs out.
    pub until: Timestamp,
}

/// A text's place in the queue. It leaves the queue when it is no longer claimable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueEntry {
    /// Which text.
    pub message: MessageId,
    /// Whose text.
    pub account: AccountId,
    /// When it may be claimed: when due, when to be tried again, or when its lease runs out.
    pub claimable_at: Timestamp,
    /// When it is no longer valid.
    pub expires_at: Timestamp,
    /// How often it was tried.
    pub attempt: u32,
    /// The lease of the worker that has it.
    pub lease: Option<LeaseToken>,
    /// How many of its hand-overs brought no answer.
    pub unanswered: u32,
}

/// What is known of whether a text that waits in the queue has left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// Nothing of it: where it ends, it failed and is refunded.
    Nothing,
    /// It did perhaps: where it ends, it is undelivered and is not refunded.
    Perhaps,
}

impl QueueEntry {
    /// Whether the text has left.
    pub fn left(&self) -> Left {
        if self.unanswered == 0 { Left::Nothing } else { Left::Perhaps }
    }
}
