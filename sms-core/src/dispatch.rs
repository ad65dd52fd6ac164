//! Dispatching due messages: workers claim them under a lease, hand them over to routes, and record
//! the outcomes.
//!
//! A claim checks again what may have changed since acceptance: the recipient opted out, the
//! account was suspended, the message expired, its number was released, its sender name rejected.
//! When a worker dies, its lease runs out and another worker claims its messages. A worker that was
//! only slow carries a token that no longer matches, and changes nothing.
//!
//! After a hand-over without an answer, the message may have been sent. From then on it is not
//! refunded, however it ends.

use std::time::Duration;

use crate::account::AccountStatus;
use crate::ids::{FollowUpId, Ids, MessageId};
use crate::message::change::{Changed, News, change, tidy_detail};
use crate::message::status::Trigger;
use crate::message::{ErrorCode, Message, MessageStatus, TimelineEntry};
use crate::number::Number;
use crate::phone::E164;
use crate::receipt::report::{
    self, CLOCKS_DIFFER, EarlyReport, EarlyReports, NetworkId, SentSegment,
};
use crate::route::{Comeback, HandOver, OutboundMessage, RouteName, Simulated};
use crate::time::Timestamp;

pub mod journal;
pub mod lane;
mod queue;
mod sender;
pub mod store;
mod turns;
mod wanted;

pub use lane::{Lane, RouteLane};
pub use queue::{LEASE, Lease, LeaseToken, Left, QueueEntry, TEST_DELAY, VALIDITY};
use sender::look_again;
pub use sender::{NameStanding, NewSender, keeps_number};
pub use turns::Turns;
pub(crate) use turns::TurnsTaken;
pub use wanted::Wanted;

/// How often to look for expired messages among those whose routes have no room.
pub const LOOK_FOR_EXPIRED_EVERY: Duration = Duration::from_secs(10);

/// Less than the promised 5 s, which leaves a worker time to poll again.
const FIRST_RETRY: Duration = Duration::from_secs(4);
const LONGEST_RETRY: Duration = Duration::from_mins(5);
/// How often a message is retried after a hand-over without an answer. The recipient may receive it
/// each time.
pub const AGAIN_UNANSWERED: u32 = 3;
/// What the timeline says when a worker takes a message over from one whose lease ran out.
const TAKEN_OVER: &str =
    "the server that held the message stopped before it recorded an outcome; it may be sent twice";
/// How many refused hand-overs the timeline shows; a message throttled all day would fill it.
const RETRIES_TOLD: u32 = 5;

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
    /// The message.
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
    /// It must not be sent: its campaign was cancelled before any worker claimed it.
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
        if !MessageStatus::CLAIMABLE.contains(&message.status) {
            return ClaimVerdict::Drop;
        }
        if campaign_cancelled
            && let Some(changed) =
                change(message, &News::new(Trigger::Cancel, self.at), &mut self.ids)
        {
            return ClaimVerdict::Cancel(Box::new(changed));
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
            Ok(new_sender) => self.take(message, entry, new_sender),
            Err(error) => self.end(message, entry, error),
        }
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
        new_sender: Option<NewSender>,
    ) -> ClaimVerdict {
        let moved = new_sender.as_ref().map(|sender| sender.put_on(before));
        let message = moved.as_ref().unwrap_or(before);
        let told = new_sender.as_ref().map(|sender| sender.told(before.from));
        let news = News::new(Trigger::Claim, self.at).with_detail(told.clone());
        let changed = change(message, &news, &mut self.ids).map(Box::new);
        let told = told.filter(|_| changed.is_none());
        let details = [taken_over(message, entry).map(str::to_owned), told];
        let details: Vec<String> = details.into_iter().flatten().collect();
        let note = (!details.is_empty()).then(|| TimelineEntry {
            status: message.status,
            detail: Some(details.join("; ")),
            at: self.at,
        });
        ClaimVerdict::Take {
            changed,
            note,
            text: outbound(message, entry),
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

/// What the timeline tells about a message that a worker held until its lease ran out. Nobody but
/// that worker knows whether it submitted the message.
fn taken_over(message: &Message, entry: &QueueEntry) -> Option<&'static str> {
    let is_held = entry.lease.is_some() && message.status == MessageStatus::Sending;
    is_held.then_some(TAKEN_OVER)
}

fn outbound(message: &Message, entry: &QueueEntry) -> OutboundMessage {
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

/// The result of a claim.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Claimed {
    /// Messages to hand over, in the order in which they are to leave.
    pub messages: Vec<OutboundMessage>,
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

/// The outcome of one hand-over, to be recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutcomePlan {
    /// The message.
    pub message: MessageId,
    /// The lease under which it was handed over.
    pub token: LeaseToken,
    /// When the worker claimed it for this hand-over. No report on a segment submitted by this
    /// hand-over is older.
    pub claimed_at: Timestamp,
    /// The route's answer.
    pub result: HandOver,
    /// When the route answered.
    pub at: Timestamp,
    /// Ids for the refund and the events.
    pub ids: Ids,
}

/// The verdict on one outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a verdict has to be written by the store"]
pub enum OutcomeVerdict {
    /// The message was sent, may have been sent, or failed; it leaves the queue.
    Done {
        /// The changes of the message, in order: the hand-over, then the reports that arrived
        /// before it was recorded.
        changes: Vec<Changed>,
        /// What a simulated network brings back later.
        follow_ups: Vec<FollowUp>,
        /// Segments that the network accepted, kept so that its reports find them. They replace
        /// early reports, and segments of other messages that once had the same ids.
        parts: Vec<SentSegment>,
    },
    /// It stays in the queue and is retried.
    Retry {
        /// Its place in the queue from now on.
        entry: QueueEntry,
        /// A line for its timeline; `None` once the timeline shows enough retries.
        note: Option<TimelineEntry>,
    },
    /// The worker no longer holds the message: nothing changes.
    LeaseLost,
}

/// Something that a simulated network brings back later for a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FollowUp {
    /// Its id.
    pub id: FollowUpId,
    /// The message that it is about.
    pub message: MessageId,
    /// The account's number that the message was sent from.
    pub number: E164,
    /// The recipient.
    pub person: E164,
    /// The simulated route.
    pub route: RouteName,
    /// When it is due.
    pub due_at: Timestamp,
    /// A receipt or an answer.
    pub what: Comeback,
}

impl OutcomePlan {
    /// The network's ids of the segments that it accepted; empty if it accepted none.
    pub fn parts(&self) -> &[NetworkId] {
        match &self.result {
            HandOver::Submitted { parts } => parts,
            _ => &[],
        }
    }

    /// The verdict on the message and its place in the queue, which the store found under its lock,
    /// given the reports that arrived earlier for [`parts`](Self::parts).
    pub fn settle(
        &mut self,
        found: Option<(&Message, &QueueEntry)>,
        early: &EarlyReports,
    ) -> OutcomeVerdict {
        let Some((message, entry)) = found else { return OutcomeVerdict::LeaseLost };
        // A message past `sending` is not changed, not even by a timeline line about a retry.
        if entry.lease != Some(self.token) || message.status != MessageStatus::Sending {
            return OutcomeVerdict::LeaseLost;
        }
        let news = match &self.result {
            HandOver::Taken { .. } | HandOver::Submitted { .. } => {
                News::new(Trigger::Leave, self.at)
            }
            HandOver::Refused { error, detail } => match entry.left() {
                Left::Nothing => News::failed(*error, self.at).with_detail(detail.clone()),
                Left::Perhaps => {
                    let said = detail.as_deref().unwrap_or(error.message());
                    let detail = format!("an earlier attempt may have sent it; {said}");
                    News::undelivered(*error, self.at).with_detail(Some(detail))
                }
            },
            HandOver::Abandoned { error, detail } => {
                News::undelivered(*error, self.at).with_detail(Some(detail.clone()))
            }
            HandOver::TryLater { detail } => {
                let note = (entry.attempt < RETRIES_TOLD).then_some(detail);
                return self.retry(entry, note);
            }
            HandOver::Unanswered { detail } if entry.unanswered < AGAIN_UNANSWERED => {
                let entry = QueueEntry { unanswered: entry.unanswered + 1, ..*entry };
                // Always in the timeline, because the recipient may receive it twice and ask why.
                return self.retry(&entry, Some(detail));
            }
            HandOver::Unanswered { detail } => {
                let detail = format!("{}; will not be retried", tidy_detail(detail));
                News::undelivered(ErrorCode::NetworkError, self.at).with_detail(Some(detail))
            }
        };
        let Some(changed) = change(message, &news, &mut self.ids) else {
            return OutcomeVerdict::LeaseLost;
        };
        let follow_ups = self.follow_ups(message);
        let parts = self.sent_segments(early);
        let mut changes = vec![changed];
        let reports = parts.iter().map(|part| part.report);
        if let Some(status) = report::of_whole(parts.len().max(1), reports) {
            let left = &changes[0].message;
            changes.extend(report::whole_changed(left, status, self.at, &mut self.ids));
        }
        OutcomeVerdict::Done { changes, follow_ups, parts }
    }

    fn follow_ups(&mut self, message: &Message) -> Vec<FollowUp> {
        let HandOver::Taken { simulated } = &self.result else { return Vec::new() };
        let follow_up = |Simulated { after, what }: &Simulated| FollowUp {
            id: self.ids.next(),
            message: message.id,
            number: message.from,
            person: message.to,
            route: message.route.clone(),
            due_at: self.at.plus(*after),
            what: what.clone(),
        };
        simulated.iter().map(follow_up).collect()
    }

    /// The segments to keep if the message turns out to be sent, with the reports that arrived for
    /// them earlier: a store may write them ahead of the verdict.
    pub fn sent_segments(&self, early: &EarlyReports) -> Vec<SentSegment> {
        let ids = self.parts();
        let part = |id: &NetworkId| SentSegment {
            id: id.clone(),
            message: self.message,
            total: ids.len(),
            report: early.get(id).filter(|early| self.is_of_this(early)).map(|early| early.status),
            at: self.at,
        };
        ids.iter().map(part).collect()
    }

    /// Whether an early report can be about a segment submitted by this hand-over. A network that
    /// restarts its counter of ids reuses the id of another segment, whose report may still be
    /// kept.
    fn is_of_this(&self, early: &EarlyReport) -> bool {
        early.at >= self.claimed_at.minus(CLOCKS_DIFFER)
    }

    fn retry(&self, entry: &QueueEntry, told: Option<&String>) -> OutcomeVerdict {
        // At its expiry at the latest, because the claim at that time ends it.
        let again_at = self.at.plus(retry_delay(entry.attempt)).min(entry.expires_at);
        let note = told.map(|detail| TimelineEntry {
            status: MessageStatus::Sending,
            detail: Some(format!("{}; will be retried", tidy_detail(detail))),
            at: self.at,
        });
        let attempt = entry.attempt.saturating_add(1);
        let entry = QueueEntry { claimable_at: again_at, attempt, lease: None, ..*entry };
        OutcomeVerdict::Retry { entry, note }
    }
}

/// How long to wait after hand-over number `attempt` (from 0) was refused for now: 4 s, then twice
/// as long each time, up to 5 minutes.
pub fn retry_delay(attempt: u32) -> Duration {
    let doubled = 2u32.checked_pow(attempt).and_then(|factor| FIRST_RETRY.checked_mul(factor));
    doubled.map_or(LONGEST_RETRY, |delay| delay.min(LONGEST_RETRY))
}

/// What recording an outcome did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutcomeRecorded {
    /// The message left the queue with this status.
    Done(MessageStatus),
    /// The message stays in the queue and is retried.
    Retry,
    /// The worker no longer held the message; nothing was written.
    LeaseLost,
}

#[cfg(test)]
mod tests;
