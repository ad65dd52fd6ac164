//! Getting due texts out: workers claim them under a lease, hand them to routes, and record what
//! became of them.
//!
//! A claim re-checks what may have changed since acceptance: a number that opted out, an account
//! that was suspended, a text that is no longer valid. A worker that dies leaves its lease to run
//! out, and another takes the texts; one that was merely slow carries a token that no longer
//! matches, and changes nothing.
//!
//! A hand-over that brings no answer leaves it open whether the text left. From then on the text is
//! not refunded, whatever ends it.

use std::time::Duration;

use crate::account::AccountStatus;
use crate::ids::{FollowUpId, Ids, MessageId};
use crate::message::change::{Changed, News, change, tidy_detail};
use crate::message::status::Trigger;
use crate::message::{ErrorCode, Message, MessageStatus, TimelineEntry};
use crate::phone::E164;
use crate::receipt::report::{self, CLOCKS_DIFFER, EarlyReport, EarlyReports, NetworkId, SentPart};
use crate::route::{Comeback, HandOver, OutboundText, RouteName, Simulated};
use crate::time::Timestamp;

mod queue;
pub mod store;

pub use queue::{LEASE, Lease, LeaseToken, Left, QueueEntry, TEST_DELAY, VALIDITY};

/// How often texts that expired are looked for among those whose routes cannot take them.
pub const LOOK_FOR_EXPIRED_EVERY: Duration = Duration::from_secs(10);

/// Less than the 5 s that are promised, to leave a worker time to come round.
const FIRST_RETRY: Duration = Duration::from_secs(4);
const LONGEST_RETRY: Duration = Duration::from_mins(5);
/// How often a text is handed over again because a hand-over brought no answer: the person texted
/// perhaps has it each time.
pub const AGAIN_UNANSWERED: u32 = 3;
/// Refused hand-overs that the timeline tells of; a text throttled all day would fill it.
const RETRIES_TOLD: u32 = 5;

/// A worker's wish for work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimPlan {
    /// When.
    pub at: Timestamp,
    /// How many texts at most, those that fail on the spot included.
    pub limit: usize,
    /// The hold it takes.
    pub lease: Lease,
    /// Which of those that are due.
    pub wanted: Wanted,
    /// Ids for what claiming makes.
    pub ids: Ids,
}

/// Which of the texts that are due a claim takes. Each kind reads the texts that it takes, and not
/// those it leaves, however many wait: but for the second, which is rare.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// Those of all routes but these, which cannot take more now.
    AllBut(Vec<RouteName>),
    /// Those of these routes that are no longer valid: nobody else takes them while their routes
    /// cannot.
    ExpiredOf(Vec<RouteName>),
}

impl Wanted {
    /// Whether any text of this route may be among them.
    pub fn concerns(&self, route: &RouteName) -> bool {
        match self {
            Self::AllBut(left) => !left.contains(route),
            Self::ExpiredOf(of) => of.contains(route),
        }
    }

    /// Whether a text that is due, of a route that this concerns, is among them at `at`.
    pub fn takes(&self, entry: &QueueEntry, at: Timestamp) -> bool {
        match self {
            Self::AllBut(_) => true,
            Self::ExpiredOf(_) => entry.expires_at <= at,
        }
    }
}

/// What a claim depends on, for one text.
#[derive(Debug, Clone, Copy)]
pub struct ClaimFacts<'a> {
    /// The text.
    pub message: &'a Message,
    /// Its place in the queue.
    pub entry: &'a QueueEntry,
    /// The state of its account.
    pub account_status: AccountStatus,
    /// Whether the number it goes to has opted out.
    pub opted_out: bool,
    /// Whether it belongs to a campaign that was cancelled.
    pub campaign_cancelled: bool,
}

/// The verdict on one text that fell due.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a verdict has to be written by the store"]
#[expect(clippy::large_enum_variant, reason = "nearly every text that falls due is taken")]
pub enum ClaimVerdict {
    /// The worker has it.
    Take {
        /// The step into `sending`; none when another worker's lease on it ran out.
        changed: Option<Box<Changed>>,
        /// What the route needs.
        text: OutboundText,
        /// Its place in the queue from now on.
        entry: QueueEntry,
    },
    /// It must not leave: it failed, and is refunded.
    Fail(Box<Changed>),
    /// It left perhaps, and must not leave again: it is undelivered, and not refunded.
    GiveUp(Box<Changed>),
    /// It must not leave: its campaign was cancelled before any worker took it.
    Cancel(Box<Changed>),
    /// It is past being claimed; its place in the queue was left over.
    Drop,
}

impl ClaimPlan {
    /// The verdict on one text as the store finds it under its lock.
    pub fn settle(&mut self, facts: ClaimFacts<'_>) -> ClaimVerdict {
        let ClaimFacts { message, entry, account_status, opted_out, campaign_cancelled } = facts;
        if !MessageStatus::CLAIMABLE.contains(&message.status) {
            return ClaimVerdict::Drop;
        }
        if campaign_cancelled
            && let Some(changed) =
                change(message, &News::new(Trigger::Cancel, self.at), &mut self.ids)
        {
            return ClaimVerdict::Cancel(Box::new(changed));
        }
        let obstacle = if opted_out {
            Some(ErrorCode::OptedOut)
        } else if account_status == AccountStatus::Suspended {
            Some(ErrorCode::AccountSuspended)
        } else if self.at >= entry.expires_at {
            Some(ErrorCode::Expired)
        } else {
            None
        };
        if let Some(error) = obstacle {
            let (news, verdict): (_, fn(Box<Changed>) -> ClaimVerdict) = match entry.left() {
                Left::Nothing => (News::failed(error, self.at), ClaimVerdict::Fail),
                Left::Perhaps => (not_again(error, self.at), ClaimVerdict::GiveUp),
            };
            let changed = change(message, &news, &mut self.ids);
            return changed.map_or(ClaimVerdict::Drop, |changed| verdict(Box::new(changed)));
        }
        let news = News::new(Trigger::Claim, self.at);
        ClaimVerdict::Take {
            changed: change(message, &news, &mut self.ids).map(Box::new),
            text: outbound(message, entry),
            entry: QueueEntry {
                claimable_at: self.lease.until,
                lease: Some(self.lease.token),
                ..*entry
            },
        }
    }
}

/// The end of a text that left perhaps, and cannot be handed over again for this reason.
fn not_again(obstacle: ErrorCode, at: Timestamp) -> News {
    let (error, why) = match obstacle {
        ErrorCode::Expired => (obstacle, "it is no longer valid"),
        // These codes say that nothing left; what is known is that no answer came.
        ErrorCode::OptedOut => (ErrorCode::NetworkError, "the number opted out since"),
        ErrorCode::AccountSuspended => (ErrorCode::NetworkError, "the account was suspended since"),
        other => (other, other.message()),
    };
    News::undelivered(error, at).with_detail(Some(format!("it left perhaps; {why}")))
}

fn outbound(message: &Message, entry: &QueueEntry) -> OutboundText {
    OutboundText {
        message: message.id,
        to: message.to,
        from: message.from,
        sender: message.sender.clone(),
        body: message.body.clone(),
        encoding: message.encoding,
        segments: message.segments,
        route: message.route.clone(),
        mode: message.mode,
        attempt: entry.attempt,
        expires_at: entry.expires_at,
    }
}

/// What a claim brought.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Claimed {
    /// Texts to be handed over, the longest due first.
    pub texts: Vec<OutboundText>,
    /// How many fell due but had to fail.
    pub failed: u32,
    /// How many fell due that left perhaps, and were given up.
    pub given_up: u32,
    /// How many fell due after their campaign was cancelled.
    pub cancelled: u32,
}

impl Claimed {
    /// How many texts fell due.
    pub fn count(&self) -> usize {
        let ended = [self.failed, self.given_up, self.cancelled];
        self.texts.len() + ended.map(|count| count as usize).iter().sum::<usize>()
    }
}

/// What became of one hand-over, to be recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutcomePlan {
    /// Which text.
    pub message: MessageId,
    /// The lease under which it was handed over.
    pub token: LeaseToken,
    /// When the worker claimed it for this hand-over: no report of a part that left by it is older.
    pub claimed_at: Timestamp,
    /// What the route did.
    pub result: HandOver,
    /// When.
    pub at: Timestamp,
    /// Ids for what recording makes.
    pub ids: Ids,
}

/// The verdict on one outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a verdict has to be written by the store"]
pub enum OutcomeVerdict {
    /// The text left, perhaps, or failed, and leaves the queue.
    Done {
        /// What changes about it, in order: that it left, and what was reported of it before.
        changes: Vec<Changed>,
        /// What a simulated network shall bring back.
        follow_ups: Vec<FollowUp>,
        /// Parts that a network took, to be known again when it reports. They take the place of
        /// early reports, and of parts of other texts that once had the same ids.
        parts: Vec<SentPart>,
    },
    /// It stays in the queue, to be tried again.
    Retry {
        /// Its place from now on.
        entry: QueueEntry,
        /// A line for its timeline.
        note: Option<TimelineEntry>,
    },
    /// The worker no longer has the text: nothing changes.
    LeaseLost,
}

/// Something simulated that is still to come back for a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FollowUp {
    /// Its id.
    pub id: FollowUpId,
    /// The text it is about.
    pub message: MessageId,
    /// The account's number that the text came from.
    pub number: E164,
    /// The person texted.
    pub person: E164,
    /// The simulated route.
    pub route: RouteName,
    /// When it comes back.
    pub due_at: Timestamp,
    /// What comes back.
    pub what: Comeback,
}

impl OutcomePlan {
    /// What the network calls the parts that left.
    pub fn parts(&self) -> &[NetworkId] {
        match &self.result {
            HandOver::Submitted { parts } => parts,
            _ => &[],
        }
    }

    /// The verdict on the text and its place in the queue as the store finds them under its lock,
    /// beside the reports that came for [`parts`](Self::parts) before.
    pub fn settle(
        &mut self,
        found: Option<(&Message, &QueueEntry)>,
        early: &EarlyReports,
    ) -> OutcomeVerdict {
        let Some((message, entry)) = found else { return OutcomeVerdict::LeaseLost };
        // A text past `sending` takes no part in this any more, not even by a line that says that
        // it will be tried again.
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
                    let detail = format!("an earlier hand-over left perhaps; {said}");
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
                // Always told: whoever gets it twice will ask.
                return self.retry(&entry, Some(detail));
            }
            HandOver::Unanswered { detail } => {
                let detail = format!("{}; will not be tried again", tidy_detail(detail));
                News::undelivered(ErrorCode::NetworkError, self.at).with_detail(Some(detail))
            }
        };
        let Some(changed) = change(message, &news, &mut self.ids) else {
            return OutcomeVerdict::LeaseLost;
        };
        let follow_ups = self.follow_ups(message);
        let parts = self.sent_parts(early);
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

    /// The parts that are kept if the text is found to leave, beside the reports that came for them
    /// before: what a store may write ahead of the verdict.
    pub fn sent_parts(&self, early: &EarlyReports) -> Vec<SentPart> {
        let ids = self.parts();
        let part = |id: &NetworkId| SentPart {
            id: id.clone(),
            message: self.message,
            total: ids.len(),
            report: early.get(id).filter(|early| self.is_of_this(early)).map(|early| early.status),
            at: self.at,
        };
        ids.iter().map(part).collect()
    }

    /// Whether an early report can be of a part that left by this hand-over. A network that counts
    /// its ids anew gives one again that another part had, whose report is still there.
    fn is_of_this(&self, early: &EarlyReport) -> bool {
        early.at >= self.claimed_at.minus(CLOCKS_DIFFER)
    }

    fn retry(&self, entry: &QueueEntry, told: Option<&String>) -> OutcomeVerdict {
        // Never later than it is valid: the claim at that moment ends it.
        let again_at = self.at.plus(retry_delay(entry.attempt)).min(entry.expires_at);
        let note = told.map(|detail| TimelineEntry {
            status: MessageStatus::Sending,
            detail: Some(format!("{}; will be tried again", tidy_detail(detail))),
            at: self.at,
        });
        let attempt = entry.attempt.saturating_add(1);
        let entry = QueueEntry { claimable_at: again_at, attempt, lease: None, ..*entry };
        OutcomeVerdict::Retry { entry, note }
    }
}

/// How long to wait after the hand-over number `attempt` (from 0) was turned away: 4 s, then
/// twice as long each time, up to 5 minutes.
pub fn retry_delay(attempt: u32) -> Duration {
    let doubled = 2u32.checked_pow(attempt).and_then(|factor| FIRST_RETRY.checked_mul(factor));
    doubled.map_or(LONGEST_RETRY, |delay| delay.min(LONGEST_RETRY))
}

/// What became of an outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutcomeRecorded {
    /// The text took this status.
    Done(MessageStatus),
    /// It will be tried again.
    Retry,
    /// The worker had lost it; nothing was written.
    LeaseLost,
}

#[cfg(test)]
mod tests;
