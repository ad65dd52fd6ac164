//! Dispatching due messages: workers claim them under a lease, hand them over to routes, and record
//! the outcomes.
//!
//! A claim checks again what may have changed since acceptance: the recipient opted out, the
//! account was suspended, the message expired, its number was released, its sender name rejected.
//! When a worker dies, its lease runs out and another worker claims its messages. A worker that was
//! only slow carries a token that no longer matches, and changes nothing.
//!
//! After a hand-over without an answer, the message may have been sent. From then on it is not
//! refunded, however it ends. A lease that ran out counts as such a hand-over, because it is not
//! known whether there was one.
//!
//! A message that is due when it is accepted may be held by a worker from the start
//! ([`SendPlan::hold`](crate::sending::SendPlan::hold)): it is committed with a lease, and reaches
//! the worker through the memory of the program. It is claimed only once it is back in the
//! queue, or its lease has run out. `service/work/from_birth.rs` draws its life.

use std::time::Duration;

use crate::account::status::AccountStatus;
use crate::change::{Changed, News, change};
use crate::hand_over::OutboundMessage;
use crate::hand_over::look::Look;
use crate::ids::Ids;
use crate::message::error_code::ErrorCode;
use crate::message::record::{Message, TimelineEntry};
use crate::message::status::{MessageStatus, Trigger};
use crate::number::Number;
use crate::route_name::RouteName;
use crate::time::Timestamp;

pub(crate) mod held;
pub mod journal;
pub(crate) mod outcome;
pub(crate) mod queue;
pub(crate) mod sender;
pub mod store;
pub(crate) mod turns;
pub(crate) mod wanted;

pub use held::HeldMessage;
use held::outbound;
pub use outcome::{
    AGAIN_UNANSWERED, FollowUp, OutcomePlan, OutcomeRecorded, OutcomeVerdict, names_beside,
    retry_delay,
};
pub use queue::{LEASE, Lease, LeaseToken, Left, QueueEntry, TEST_DELAY, VALIDITY};
use sender::look_again;
pub use sender::{NameStanding, NewSender, keeps_number};
pub use turns::Turns;
pub use wanted::Wanted;

pub use crate::lane::{self, Lane, RouteLane};

/// How often to look for expired messages among those whose routes have no room.
pub const LOOK_FOR_EXPIRED_EVERY: Duration = Duration::from_secs(10);

/// What the timeline says when a worker takes a message over from one whose lease ran out.
const TAKEN_OVER: &str =
    "the server that held the message stopped before it recorded an outcome; it may be sent twice";

/// A request to claim due messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimPlan {
    /// The time of the claim.
    pub at: Timestamp,
    /// The most messages to claim, including those that fail at once.
    pub limit: usize,
    /// The lease that the claim takes.
    pub lease: Lease,
    /// Which of the due messages to claim.
    pub wanted: Wanted,
    /// Whose turn it is in which lane: the answer to the program's last claim.
    pub turns: Turns,
    /// The route of numbers that name none, for messages that get another number.
    pub default_route: RouteName,
    /// Ids for the refunds and events of messages that fail.
    pub ids: Ids,
}

/// What the verdict on one message depends on.
#[derive(Debug, Clone, Copy)]
pub struct ClaimFacts<'a> {
    /// The message as it is stored when it is claimed.
    pub message: &'a Message,
    /// Its place in the queue.
    pub entry: &'a QueueEntry,
    /// The status of its account.
    pub account_status: AccountStatus,
    /// Whether the recipient has opted out.
    pub opted_out: bool,
    /// Whether the message belongs to a cancelled campaign.
    pub campaign_cancelled: bool,
    /// Whether the sender name that it shows is still approved.
    pub name: NameStanding,
    /// The operator's number that it is to be sent from, if there still is one. Unless the message
    /// [keeps it](keeps_number), all numbers of its account and all shared ones too. Always
    /// current.
    pub numbers: &'a [Number],
}

/// The verdict on one due message.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a verdict has to be written by the store"]
#[expect(clippy::large_enum_variant, reason = "nearly every text that falls due is taken")]
pub enum ClaimVerdict {
    /// The worker claims it.
    Take {
        /// The step into `sending`; `None` if it was `sending` already, under a lease that ran out.
        changed: Option<Box<Changed>>,
        /// A line for its timeline that no step writes: it is taken over from a worker whose lease
        /// ran out, so it may be sent twice, or gets another number when it is retried. `None` if
        /// there is nothing to say.
        note: Option<TimelineEntry>,
        /// What the route needs to send it.
        text: OutboundMessage,
        /// Its place in the queue from now on.
        entry: QueueEntry,
        /// The number that it gets because its own can no longer be used.
        new_sender: Option<Box<NewSender>>,
    },
    /// It must not be sent: it fails and is refunded.
    Fail(Box<Changed>),
    /// It may have been sent and must not be sent again: it is undelivered and not refunded.
    GiveUp(Box<Changed>),
    /// It must not be sent: its campaign was cancelled before it was submitted.
    Cancel(Box<Changed>),
    /// It is not claimable any more; only its place in the queue was left over.
    Drop,
}

impl ClaimPlan {
    /// The verdict on one message that the store found under its lock.
    pub fn settle(&mut self, facts: ClaimFacts<'_>) -> ClaimVerdict {
        let ClaimFacts {
            message,
            entry,
            account_status,
            opted_out,
            campaign_cancelled,
            name,
            numbers,
        } = facts;
        let (entry, is_taken_over) = (&counted(message, entry), is_taken_over(message, entry));
        if !MessageStatus::CLAIMABLE.contains(&message.status) {
            return ClaimVerdict::Drop;
        }
        if campaign_cancelled {
            return self.call_off(message, entry);
        }
        let sender = if opted_out {
            Err(ErrorCode::OptedOut)
        } else if account_status == AccountStatus::Suspended {
            Err(ErrorCode::AccountSuspended)
        } else if self.at >= entry.expires_at {
            Err(ErrorCode::Expired)
        } else {
            look_again(message, name, numbers, &self.default_route, self.at)
        };
        match sender {
            Ok(new_sender) => {
                self.take(message, entry, is_taken_over.then_some(TAKEN_OVER), new_sender)
            }
            Err(error) => self.end(message, entry, error),
        }
    }

    /// Ends a message whose campaign was cancelled.
    fn call_off(&mut self, message: &Message, entry: &QueueEntry) -> ClaimVerdict {
        let (news, verdict): (_, fn(Box<Changed>) -> ClaimVerdict) = match entry.left() {
            Left::Nothing => (News::new(Trigger::CallOff, self.at), ClaimVerdict::Cancel),
            Left::Perhaps => {
                let detail = "it may have been sent; its campaign has since been cancelled";
                let news = News::undelivered(ErrorCode::NetworkError, self.at);
                (news.with_detail(Some(detail.to_owned())), ClaimVerdict::GiveUp)
            }
        };
        let changed = change(message, &news, &mut self.ids);
        changed.map_or(ClaimVerdict::Drop, |changed| verdict(Box::new(changed)))
    }

    /// Ends a message that must not be sent.
    fn end(&mut self, message: &Message, entry: &QueueEntry, error: ErrorCode) -> ClaimVerdict {
        let (news, verdict): (_, fn(Box<Changed>) -> ClaimVerdict) = match entry.left() {
            Left::Nothing => (News::failed(error, self.at), ClaimVerdict::Fail),
            Left::Perhaps => (not_again(error, self.at), ClaimVerdict::GiveUp),
        };
        let changed = change(message, &news, &mut self.ids);
        changed.map_or(ClaimVerdict::Drop, |changed| verdict(Box::new(changed)))
    }

    fn take(
        &mut self,
        before: &Message,
        entry: &QueueEntry,
        taken_over: Option<&str>,
        new_sender: Option<NewSender>,
    ) -> ClaimVerdict {
        let moved = new_sender.as_ref().map(|sender| sender.put_on(before));
        let message = moved.as_ref().unwrap_or(before);
        let told = new_sender.as_ref().map(|sender| sender.told(before.from));
        let news = News::new(Trigger::Claim, self.at).with_detail(told.clone());
        let changed = change(message, &news, &mut self.ids).map(Box::new);
        let told = told.filter(|_| changed.is_none());
        let details = [taken_over.map(str::to_owned), told];
        let details: Vec<String> = details.into_iter().flatten().collect();
        let note = (!details.is_empty()).then(|| TimelineEntry {
            status: message.status,
            detail: Some(details.join("; ")),
            at: self.at,
        });
        ClaimVerdict::Take {
            changed,
            note,
            text: outbound(message, entry, Look::at(self.at)),
            entry: QueueEntry {
                claimable_at: self.lease.until,
                lease: Some(self.lease.token),
                ..*entry
            },
            new_sender: new_sender.map(Box::new),
        }
    }
}

/// The end of a message that may have been sent and cannot be retried because of `obstacle`.
fn not_again(obstacle: ErrorCode, at: Timestamp) -> News {
    let (error, why) = match obstacle {
        ErrorCode::Expired => (obstacle, "the message is no longer valid"),
        // These codes mean that nothing was sent, but the message may have been.
        ErrorCode::OptedOut => (ErrorCode::NetworkError, "the number has since opted out"),
        ErrorCode::AccountSuspended => {
            (ErrorCode::NetworkError, "the account has since been suspended")
        }
        ErrorCode::SenderNotApproved => {
            (ErrorCode::NetworkError, "the sender name has since been rejected")
        }
        ErrorCode::NoNumber => {
            (ErrorCode::NetworkError, "the account has no number to send from any more")
        }
        other => (other, other.message()),
    };
    News::undelivered(error, at).with_detail(Some(format!("it may have been sent; {why}")))
}

/// Whether a worker held the message until its lease ran out. Only that worker knows whether it
/// submitted the message.
fn is_taken_over(message: &Message, entry: &QueueEntry) -> bool {
    entry.lease.is_some() && message.status == MessageStatus::Sending
}

/// The place of a due message, with a hand-over more that ended without an answer if a worker held
/// the message until its lease ran out.
fn counted(message: &Message, entry: &QueueEntry) -> QueueEntry {
    let more = u32::from(is_taken_over(message, entry));
    QueueEntry { unanswered: entry.unanswered.saturating_add(more), ..*entry }
}

/// The result of a claim.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Claimed {
    /// Messages to hand over, in the order in which they are to leave.
    pub messages: Vec<OutboundMessage>,
    /// The same messages, in the same order, as the worker knows them from now on.
    pub held: Vec<HeldMessage>,
    /// How many due messages failed.
    pub failed: u32,
    /// How many due messages may have been sent and were given up.
    pub given_up: u32,
    /// How many due messages belonged to a cancelled campaign.
    pub cancelled: u32,
    /// Whose turn it is in the next claim.
    pub turns: Turns,
}

impl Claimed {
    /// How many due messages the claim processed.
    pub fn count(&self) -> usize {
        let ended = [self.failed, self.given_up, self.cancelled];
        self.messages.len() + ended.map(|count| count as usize).iter().sum::<usize>()
    }
}

#[cfg(test)]
mod tests;
